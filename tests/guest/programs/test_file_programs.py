# SPDX-License-Identifier: BSD-3-Clause
"""Third-party programs on the compared file systems: the shipped manifests at a small scale."""

from pathlib import Path

import pytest

from analysis.data import records
from testbed.guest.session import Session
from testbed.manifest import parse, render
from testbed.results.results import Result
from testbed.run.runner import run_with_bar

# Uses a device that supports this scale, and the packages of all programs, so that the runs share a boot.
SMALL = """
name = "small-{base}"
summary = "small"
base = "{base}"
scale = {scale}
device.profile = "snapshot-paper-mss"
program.packages = ["findutils", "fsmark", "git", "postmark", "rocksdb-tools"]
"""

pytestmark = pytest.mark.guest


def ran(session: Session, base: str, policy: str, folder: Path) -> tuple[list[Result], records.Records]:
    """Return the results of this policy, and their rows."""
    folder.mkdir()
    path = folder / f"{base}.toml"
    path.write_text(SMALL.format(base=base, scale=256 if base == "fsmark" else 4096))  # fsmark needs two folders
    results = run_with_bar([run for run in render.runs(path) if run.point["policy"] == policy], session, folder)
    return results, records.of_results(results, parse.load(path).results.pattern)


@pytest.mark.parametrize("policy", ["ext4-dax", "hybrid"])
def test_programs_find_what_they_wrote_on_each_file_system(copying: Session, policy: str, tmp_path: Path) -> None:
    """The number of files is the same on each file system, and the written data reach the device."""
    of_utilities = ran(copying, "file-utilities", policy, tmp_path / "utilities")[1].all
    assert {row["work"]: row["count"] for row in of_utilities} == {"tar": 22, "cp": 22, "grep": 1, "git": 22, "rm": 0}
    written = {str(row["work"]): int(row["cxl-writes"]) for row in of_utilities}
    assert min(written["tar"], written["cp"]) > 22 * 8_000 / 64, "half of what so many files have on average"
    (mails,) = ran(copying, "postmark", policy, tmp_path / "postmark")[1].all
    assert (mails["created"], mails["read"]) == (31, 19)
    (synchronised,) = ran(copying, "fsmark", policy, tmp_path / "fsmark")[1].all
    assert synchronised["files"] == 250
    assert int(synchronised["cxl-writes"]) > 250 * 16_384 / 64


def test_a_database_of_threads_gives_the_same_bytes_twice(copying: Session, tmp_path: Path) -> None:
    """RocksDB's background threads flush tables while another thread writes."""
    ((one,), rows), ((two,), _) = (ran(copying, "rocksdb", "hybrid", tmp_path / name) for name in ("1", "2"))
    assert one.path.read_bytes() == two.path.read_bytes()
    assert [row["test"] for row in rows.all] == ["fillseq", "overwrite", "readrandom"]
    assert all(float(row["mean_us"]) > 0 for row in rows.all)
