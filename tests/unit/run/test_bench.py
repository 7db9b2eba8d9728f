# SPDX-License-Identifier: BSD-3-Clause
"""The results that `testbed bench` computes from the times of its guests."""

import json

import pytest

from testbed.errors import RunFailed
from testbed.guest.executor import GuestOutcome
from testbed.studies import bench
from testbed.studies.bench import Timing


def timings(boot_s: float, *seconds: float) -> list[Timing]:
    """One guest for each of `seconds`, the time that every benchmark took in it."""
    return [Timing(boot_s, dict.fromkeys(bench.BENCHMARKS, value)) for value in seconds]


def test_a_benchmark_lasts_from_its_begin_to_its_end_and_the_best_counts() -> None:
    timing, begun = Timing(), dict[str, float]()
    spans = [("hash_map", 12.0, 12.5), ("memcpy", 13.0, 13.2), ("hash_map", 14.0, 14.4), ("memcpy", 15.0, 15.3)]
    events = [(name, at, now_s) for name, *times in spans for at, now_s in zip(("begin", "end"), times, strict=True)]
    for kernel, at, now_s in events:
        line = json.dumps({"type": "bench", "kernel": kernel, "at": at}).encode()
        bench.read_event(line, now_s, timing, begun, started_s=10.0)
    for noise in (b"no json", b'{"type": "phase"}'):
        bench.read_event(noise, 99.0, timing, begun, started_s=10.0)
    assert timing.boot_s == 2.0
    assert timing.seconds == pytest.approx({"hash_map": 0.4, "memcpy": 0.2})


def test_the_ratio_is_of_the_best_times_and_the_spread_of_neighbouring_guests() -> None:
    stock, ours = timings(1.0, 3.0, 1.0, 2.0), timings(4.0, 4.0, 8.0, 2.0)
    values = bench.ratios(stock, ours)
    assert {values[name] for name in bench.BENCHMARKS} == {0.5}
    assert values["boot_seconds"] == 4.0
    assert bench.spread(stock, ours, "hash_map") == (0.125, 1.0)


def test_a_guest_that_did_not_finish_gives_no_ratio() -> None:
    outcome = GuestOutcome(outcome="timeout")
    with pytest.raises(RunFailed, match=r"timeout without .*hash_map"):
        bench.check_finished(outcome, Timing())
