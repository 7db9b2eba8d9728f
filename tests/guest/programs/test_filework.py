# SPDX-License-Identifier: BSD-3-Clause
"""filework in guests: the shipped manifest at a small scale, with the same calls on different file systems."""

from pathlib import Path

import pytest

from analysis.data import records
from testbed.guest.session import Session
from testbed.manifest import bases, render
from testbed.run.runner import run_with_bar

SCALE = 1024

pytestmark = pytest.mark.guest


def test_flows_leave_what_was_written_on_each_file_system(copying: Session, tmp_path: Path) -> None:
    """One thread makes the same calls on each file system; four threads repeat to the byte. filework checks data."""
    runs = [run for run in render.runs(bases.find("filework"), SCALE) if run.point["device"] == "snapshot-paper-mss"]
    policies = ("ext4-dax", "cow", "hybrid")
    alone = [r for r in runs if r.point["threads"] == 1 and r.point["policy"] in policies]
    rows = [records.row_of(result, "roi_ns") for result in run_with_bar(alone, copying, tmp_path / "alone")]
    assert [row["verified"] for row in rows] == [True] * 6
    for flow in ("varmail", "webproxy"):
        of = [row for row in rows if row["flow"] == flow]
        assert len({(row["checksum"], row["read_bytes"], row["written_bytes"]) for row in of}) == 1, of
    four = [run for run in runs if run.point | {"threads": 4, "policy": "hybrid", "flow": "varmail"} == run.point]
    one, two = (run_with_bar(four, copying, tmp_path / name)[0] for name in ("1", "2"))
    assert one.path.read_bytes() == two.path.read_bytes()
    row = records.row_of(one, "roi_ns")
    assert (row["verified"], row["operations"], row["threads"]) == (True, 13 * row["loops"], 4)
