# SPDX-License-Identifier: BSD-3-Clause
"""The costs that `testbed bench --cpus` computes from the times of its guests."""

from typing import Any

import pytest

from testbed.errors import RunFailed, TestbedError
from testbed.guest.executor import GuestOutcome
from testbed.studies import host_cost
from testbed.studies.host_cost import Timed


@pytest.mark.parametrize(("text", "counts"), [("1", [1]), ("1,2,4", [1, 2, 4]), ("4,1", [1, 4])])
def test_numbers_of_cpus_are_compared_with_the_least(text: str, counts: list[int]) -> None:
    assert host_cost.parse_cpus(text) == counts


@pytest.mark.parametrize("text", ["", "1,", "two", "1,2,2", "-1", "1.5", "²", "1, 2"])
def test_what_is_no_number_of_cpus_is_refused(text: str) -> None:
    with pytest.raises(TestbedError, match="--cpus wants numbers of CPUs, each once, such as 1,2,4, not "):
        host_cost.parse_cpus(text)


def outcome_of(*slices: int | None) -> GuestOutcome:
    """A guest that did 1,000 instructions of work for each of `slices`; None is for one CPU, which has no slices."""
    rois: list[dict[str, Any]] = [{"instructions": 1000} | ({"order": {"slices": n}} if n else {}) for n in slices]
    return GuestOutcome("ok", 0, rows=[{"work": f"work {n}", "cores": 2} for n in range(len(slices))], rois=rois)


def test_a_time_is_from_where_the_guest_stopped_before_it_to_where_it_stopped_after_it() -> None:
    clock_s = [4.0, 5.0, 5.5, 7.0, 7.25]  # its first stop is for its job
    first, second = host_cost.read_times(outcome_of(20, None), clock_s)
    assert first == Timed("work 0", 0.5, 1000, 20)
    assert second == Timed("work 1", 0.25, 1000, 0)
    assert (first.insn_ns, first.slices_per_1000) == (500_000, 20)


@pytest.mark.parametrize(
    ("outcome", "clock_s"),
    [
        (GuestOutcome("failed", 2, stderr=b"no room"), [4.0]),
        (GuestOutcome("ok", 0), [4.0]),
        (outcome_of(1, 1), [4.0, 5.0, 5.5]),
    ],
)
def test_a_guest_that_did_not_do_all_of_its_work_gives_no_cost(outcome: GuestOutcome, clock_s: list[float]) -> None:
    with pytest.raises(RunFailed, match=r"bench-cores ended as \w+ after [01] times: "):
        host_cost.read_times(outcome, clock_s)


def test_the_ratio_is_of_the_least_times_and_the_span_of_guests_in_one_round() -> None:
    """One CPU took 2 and 1 ns an instruction in two rounds, two CPUs 6 and 4 ns; they ran twice in the first round."""

    def times(*seconds: float, slices: int = 0) -> list[Timed]:
        return [Timed("compute", s * 1e-9 * 1000, 1000, slices) for s in seconds]

    rounds = [{1: times(2), 2: times(9, 6, slices=50)}, {1: times(1), 2: times(4, slices=50)}]
    one, two = host_cost.costs(rounds)
    assert one == {
        "work": "compute",
        "cpus": 1,
        "insn_ns": 1,
        "ratio": 1,
        "ratio_least": 1,
        "ratio_most": 1,
        "slices_per_1000": 0,
    }
    assert (two["cpus"], two["insn_ns"], two["ratio"], two["slices_per_1000"]) == (2, 4, 4, 50)
    assert (two["ratio_least"], two["ratio_most"]) == (3, 4)
