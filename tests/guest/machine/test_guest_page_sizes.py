# SPDX-License-Identifier: BSD-3-Clause
"""Files get the same page sizes on devices of all sizes, or the size in guest.page_size; the model counts the pages."""

from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.guest_rig import RIG_PROGRAMS, said, static_programs
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.page_sizes import PageSize
from testbed.manifest.sections import FileSystem
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

CAPACITIES = (512 << 20, 4 << 30)  # ext4's defaults differ for these
# The first file gets the first blocks of a new file system, before ext4 has read any group. Then follow a file that is
# allocated at once, a file made by write(), and a file that grew in pieces.
SCRIPT = """set -e
cd /pmem
roi begin
truncate -s 5044K cut
/job/large_pages cut
fallocate -l 5044K allocated
dd if=/dev/zero of=written bs=1M count=9 status=none
for piece in 0 1 2 3 4; do fallocate -o ${piece}M -l 1M grown; done
/job/large_pages allocated written grown
sync
roi end
"""
PAGES = (1261, 1261, 2304, 1280)
SYNC_CALLS = 6 + 1  # fallocate(1) ends with fsync()


def faults(file_pages: int, large: bool) -> int:
    """Return the faults of a file with all of its complete 2 MiB mapped as large pages, or with none."""
    return file_pages // 512 + file_pages % 512 if large else file_pages


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    source = RIG_PROGRAMS / "large_pages.c"
    return static_programs(tmp_path_factory.mktemp("programs"), {"large_pages": [source]})


def on_both(session: Session, guest: GuestConfig, programs: dict[str, Path]) -> tuple[list[int], list[GuestOutcome]]:
    """Return each file's page faults, which are the same on both devices, and the outcomes."""
    outcomes = []
    for capacity in CAPACITIES:
        device = replace(guest.device, capacity=capacity)
        outcomes.append(
            drive(session.executor.run(GuestSpec(replace(guest, device=device), script_job(SCRIPT, programs))))
        )
    small, large = map(said, outcomes)
    assert small == large, "devices of two sizes map files by different pages"
    return [int(line.removesuffix(" faults")) for line in small.splitlines()], outcomes


@pytest.mark.parametrize(
    ("file_system", "page_size"),
    [
        ("ext4-dax", None),
        ("ext4-dax", "4KiB"),
        ("ext4-dax", "2MiB"),
        ("xfs-dax", None),
        ("xfs-dax", "2MiB"),
    ],
)
def test_devices_of_two_sizes_map_files_by_the_same_pages_which_are_counted(
    session: Session,
    quick_guest: GuestConfig,
    programs: dict[str, Path],
    file_system: FileSystem,
    page_size: PageSize | None,
) -> None:
    """Linux's own fault counts agree with the model's. sync() flushes each stored page once."""
    guest = replace(quick_guest, file_system=file_system, page_size=page_size)
    found, outcomes = on_both(session, guest, programs)
    large = page_size == "2MiB" or (file_system, page_size) == ("ext4-dax", None)
    assert found[0] == faults(PAGES[0], large)
    if page_size:
        assert found[:3] == [faults(pages, large) for pages in PAGES[:3]]
    if page_size == "4KiB" or (file_system, page_size) == ("ext4-dax", "2MiB"):  # XFS does not align pieces of 1 MiB
        assert found[3] == faults(PAGES[3], large)
    for outcome in outcomes:
        counted = outcome.rois[0]["mappings"]
        by_4k, by_2m = counted["page-faults-4k"], counted["page-faults-2m"]
        assert by_4k + by_2m == sum(found)
        assert by_4k + 512 * by_2m == sum(PAGES), "a page of 2 MiB stands for 512"
        assert counted["kernel-flushes"] == 64 * sum(PAGES)
        assert counted["sync-calls"] == SYNC_CALLS
