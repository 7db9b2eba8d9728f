# SPDX-License-Identifier: BSD-3-Clause
"""A replay equals the captured guest to the picosecond, and nearly equals a guest on another device."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.replay.replayer import open_replayer
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

KV = "kv --records 2000 --operations 2000 --buckets 20 --file /pmem/kv.pool --seed 1"
WORKLOADS = [
    f"{KV} --engine snapshot --workload A",
    f"{KV} --engine pmdk --workload A",
    f"{KV} --engine pmdk --workload G",
    f"{KV} --engine volatile --workload C",
    "bench_guest copy_8b --ops 400000",
    "bench_guest cxl_sequential --ops 400000 --file /pmem/bench.bin",
    "bench_guest cxl_random --ops 100000 --file /pmem/bench.bin",
]


# On the device below, the workloads take 1 to 42 times as long as at capture, and the preceding program leaves other
# lines in the LLC. With 2000 operations, the third workload has 331 more LLC misses there, 3 % of its time. The third
# and the fourth, which hardly touch the device, are therefore longer here than above.
LONG_READS = WORKLOADS[3].replace("--operations 2000", "--operations 40000")
OTHER_WORKLOADS = [*WORKLOADS[:2], LONG_READS, "bench_guest copy_8b --ops 4000000", *WORKLOADS[5:]]
# In these workloads, every hit and miss is the same. In the others, the timer interrupts move some: a longer run has
# more interrupts.
SAME_HITS = (0, 4)
# PMDK reads from the device, and reads some lines again in a longer run: lines of the further interrupts may displace
# them. Some of these reads miss. Its misses differ by up to 0.9 % of all accesses, and its hits by up to 4.7 %, over
# five seeds. In other workloads they may differ by a thousandth.
ACCESSES_SHARE = {(1, "cache-hits"): 0.06, (1, "cache-misses"): 0.012}


def span_ps(roi: dict[str, Any]) -> int:
    return int(roi["end-ps"] - roi["begin-ps"])


def captured(session: Session, guest: GuestConfig, workloads: list[str], trace: Path) -> GuestOutcome:
    spec = GuestSpec(guest, script_job("\n".join(["set -e", *workloads])), trace=trace)
    outcome = drive(session.executor.run(spec))
    assert outcome.outcome == "ok", outcome.stderr.decode() + outcome.error
    assert len(outcome.rois) == len(workloads)
    return outcome


def test_a_replay_on_another_device_is_the_guest_on_that_device(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    device = quick_guest.device
    slow = replace(
        device,
        link_latency_ps=150_000,
        flash_read_ps=40_000_000,
        cache_size=device.cache_size // 4,
        cache_policy="s3-fifo",
    )
    here = captured(session, quick_guest, OTHER_WORKLOADS, tmp_path / "here.trace").rois
    direct = captured(session, replace(quick_guest, device=slow), OTHER_WORKLOADS, tmp_path / "there.trace").rois
    changes = f"link-latency=150ns flash-read=40us cache-size={slow.cache_size} cache-policy=s3-fifo".split()
    options = [word for change in changes for word in ("--set", f"device.{change}")]
    said = subprocess.run(
        [open_replayer().program, "--json", *options, tmp_path / "here.trace"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    replayed = json.loads(said)["regions"]
    for n, (guest, replay) in enumerate(zip(direct, replayed, strict=True)):
        guest_ps, replay_ps = span_ps(guest), span_ps(replay)
        have, want = ({k: roi["counters"][k] for k in ("cache-hits", "cache-misses")} for roi in (replay, guest))
        print(f"{OTHER_WORKLOADS[n]}: capture {span_ps(here[n])} ps, guest {guest_ps} ps, ", end="")
        # A miss takes about a flash read, and less where misses overlap.
        further_ps = (want["cache-misses"] - have["cache-misses"]) * slow.flash_read_ps
        shortest_ps, longest_ps = sorted((replay_ps, replay_ps + further_ps))
        print(f"replay {replay_ps / guest_ps - 1:+.4%}, with further misses ", end="")
        print(f"{(replay_ps + further_ps) / guest_ps - 1:+.4%}, {want}, {have}")
        assert 0.99 * shortest_ps <= guest_ps <= 1.01 * longest_ps, OTHER_WORKLOADS[n]
        for kind in want:
            slack = 0 if n in SAME_HITS else 5 + int(sum(want.values()) * ACCESSES_SHARE.get((n, kind), 0.001))
            assert have[kind] == pytest.approx(want[kind], rel=0, abs=slack), f"{OTHER_WORKLOADS[n]}: {kind}"


def test_seven_workloads_replay_exactly_as_captured(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    trace = tmp_path / "seven.trace"
    captured(session, quick_guest, WORKLOADS, trace)
    # --check compares begin, end and every counter of each region of interest with the counts of the guest's model.
    checked = subprocess.run([open_replayer().program, "--check", trace], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert f"{len(WORKLOADS)} regions of interest: exactly as captured" in checked.stdout + checked.stderr
