# SPDX-License-Identifier: BSD-3-Clause
"""The most accessed pages of a device, in results and from a command in the guest (docs/explanation/tiers.md)."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.guest_rig import RIG_PROGRAMS, said, static_programs
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

PROGRAMS = ("write_pages", "poison_cases")  # poison_cases reads device addresses from page tables
# Writes pages 7 and 11 equally often, and one page more than the list of three has room for.
SCRIPT = """set -e
head -c 262144 /dev/zero > /pmem/file; sync
./write_pages /pmem/file 11 9 2 5 4 1 7 9
roi hot-pages
for page in 7 11 2; do ./poison_cases dpa /pmem/file $((page * 4096)); done
roi hot-pages 1; roi reset; roi hot-pages
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    include = f"-I{REPO / 'guest-image/tools/include'}"
    sources = {name: [RIG_PROGRAMS / f"{name}.c"] for name in PROGRAMS}
    return static_programs(tmp_path_factory.mktemp("programs"), sources, include)


def run(session: Session, guest: GuestConfig, programs: Mapping[str, Path]) -> GuestOutcome:
    return drive(session.executor.run(GuestSpec(guest, script_job(SCRIPT, programs))))


@pytest.mark.parametrize("cores", [1, 2])
def test_the_pages_that_were_written_most_are_told_of(
    session: Session, quick_guest: GuestConfig, programs: dict[str, Path], cores: int
) -> None:
    """The device counts every written line and no other access; of two equal pages, the lower one comes first."""
    cpu, device = replace(quick_guest.cpu, cores=cores), replace(quick_guest.device, hot_pages=3)
    outcome = run(session, replace(quick_guest, cpu=cpu, device=device), programs)
    *lines, page_7, page_11, page_2 = said(outcome).split("\n")[:-1]
    expected = [(page_7, 9), (page_11, 9), (page_2, 5)]
    assert lines == [f"{dpa} 0 {64 * times}" for dpa, times in expected]
    assert outcome.rois[0]["hot-pages"] == [
        {"device": 0, "dpa": int(dpa, 0), "reads": 0, "writes": 64 * times} for dpa, times in expected
    ]


def test_without_the_parameter_nothing_is_counted(
    copying: Session, quick_guest: GuestConfig, programs: dict[str, Path]
) -> None:
    outcome = run(copying, quick_guest, programs)
    assert len(said(outcome).splitlines()) == 3
    assert "hot-pages" not in outcome.rois[0]


@pytest.mark.by_hand
def test_pages_in_use_come_up_by_balancing_and_by_damon(tmp_path: Path) -> None:
    """Run the shipped study: from 8 MiB in use (4 MiB in each of two processes), either way is faster than nobody."""
    table = tmp_path / "table.json"
    subprocess.run([sys.executable, "-m", "testbed", "run", "hotness", "--json", str(table)], check=True)
    took = {}
    for run in json.loads(table.read_text()):
        point, row, roi = run["point"], run["rows"][0], run["rois"][0]
        assert row["lines_of_hottest"] == roi["hot-pages"][0]["reads"] + roi["hot-pages"][0]["writes"]
        took[point["promotion"], point["each"]] = roi["end-ps"] - roi["begin-ps"]
        assert (row["pages_promoted"] > 0) is (point["promotion"] != "nobody" and point["each"] != "2m"), point
    for each in ("4m", "8m", "16m"):
        assert max(took["numa", each], took["damon", each]) < took["nobody", each]
