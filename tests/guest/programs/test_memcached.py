# SPDX-License-Identifier: BSD-3-Clause
"""Memcached with checkpoints in guests: the shipped manifest at a small scale, and the restart after a kill."""

from pathlib import Path

import pytest

from analysis.data import records
from analysis.figures import memcached_checkpoints
from testbed.guest.session import Session
from testbed.manifest import bases, render
from testbed.run.runner import run_with_bar

SCALE = 1024

pytestmark = pytest.mark.guest


def test_checkpoints_are_made_and_started_from(copying: Session, tmp_path: Path) -> None:
    """Two runs give the same bytes, and the program itself verifies each item."""
    runs = [
        run
        for run in render.runs(bases.find(memcached_checkpoints.MANIFEST), SCALE)
        if run.point["device"] == "snapshot-paper-mss" and run.point["writes"] == 50
    ]
    rows = [records.row_of(result, "roi_ns") for result in run_with_bar(runs, copying, tmp_path / "1")]
    by_engine = {row["engine"]: row for row in rows}
    for engine in memcached_checkpoints.CHECKPOINTS:
        row = by_engine[engine]
        assert row["verified"] and row["kept_writes"] > 0 and row["restart_ns"] > 0, row
        assert row["checkpoints"] > 3 and 0 < row["stop_ns"] < row["roi_ns"], row
        # Half of the requests write. The kill can lose the writes of one epoch and of the time that a checkpoint takes.
        assert row["lost_writes"] * row["checkpoints"] < 4 * row["operations"], row
    assert by_engine["msync"]["checkpoints"] > 3 and "verified" not in by_engine["msync"]
    assert by_engine["volatile"]["checkpoints"] == by_engine["device"]["checkpoints"] == 0
    again = [run for run in runs if run.point["engine"] == "snapshot"]
    one, two = (run_with_bar(again, copying, tmp_path / name)[0] for name in ("1", "2"))
    assert one.path.read_bytes() == two.path.read_bytes()
