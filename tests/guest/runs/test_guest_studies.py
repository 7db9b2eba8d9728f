# SPDX-License-Identifier: BSD-3-Clause
"""Features that the studies need, in one boot: working copies on the volatile partition, latencies, crashes."""

from dataclasses import replace

import pytest

from testbed.guest.executor import GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

KV = "kv --records 20000 --operations 200 --file /pmem/pool --seed 1"
NODES = ("0", "0,1", "1")
CRASHES = ("closed", "before-commit", "after-commit")
JOB = "\n".join(
    [
        "set -e",
        "for node in 0 1; do echo 1 >/sys/kernel/mm/mempolicy/weighted_interleave/node$node; done",
        *(f"SNAPSHOT_NODES={nodes} {KV} --engine snapshot --workload C" for nodes in NODES),
        f"{KV} --engine snapshot --workload A --latencies",
        *(f"{KV} --engine snapshot-nv --workload G --recovery {crash}" for crash in CRASHES),
    ]
)


def test_a_guest_has_what_the_studies_need(session: Session, quick_guest: GuestConfig) -> None:
    device = replace(quick_guest.device, capacity=2**30, volatile_size=2**29)
    outcome = drive(session.executor.run(GuestSpec(replace(quick_guest, device=device), script_job(JOB))))
    assert outcome.outcome == "ok", outcome.stderr.decode() + outcome.error
    local, both, device_only = (roi["counters"]["cxl-reads"] for roi in outcome.rois[: len(NODES)])
    assert local < 10
    assert both == pytest.approx(device_only / 2, rel=0.2)
    kinds = [row for row in outcome.rows if "histogram" in row]
    assert sum(row["count"] for row in kinds) == 200
    assert all(0 < row["clock_ns"] < 50 and row["clock_ns"] < row["p50_ns"] for row in kinds)
    opened = [row for row in outcome.rows if row["program"] == "kv-recovery"]
    assert [(row["crash"], row["commits"], row["verified"]) for row in opened] == [
        ("closed", 200, True),
        ("before-commit", 0, True),
        ("after-commit", 200, True),
    ]
    assert [row["lines_undone"] > 0 for row in opened] == [False, True, False]
