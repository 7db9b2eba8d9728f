# SPDX-License-Identifier: BSD-3-Clause
"""A replay equals the guest it was captured from: time to the picosecond, every counter."""

import subprocess
from pathlib import Path

import pytest

from testbed.executor import GuestSpec
from testbed.job import script_job
from testbed.manifest import GuestConfig
from testbed.replay import open_replayer
from testbed.runner import drive
from testbed.session import Session

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


def test_seven_workloads_replay_exactly_as_captured(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    trace = tmp_path / "seven.trace"
    spec = GuestSpec(quick_guest, script_job("\n".join(["set -e", *WORKLOADS])), trace=trace)
    outcome = drive(session.executor.run(spec))
    assert outcome.outcome == "ok", outcome.stderr.decode() + outcome.error
    assert len(outcome.rois) == len(WORKLOADS)
    # --check compares begin, end and every counter of each region of interest with what the guest's model counted.
    checked = subprocess.run([open_replayer().program, "--check", trace], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert f"{len(WORKLOADS)} regions of interest: exactly as captured" in checked.stdout + checked.stderr
