# SPDX-License-Identifier: BSD-3-Clause
"""No guest makes a file system over the content of kept media, even if it is unreadable or no file system."""

from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.guest_rig import said
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import render
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

KEEP = "set -e; echo kept > /pmem/file; sync; umount /pmem\n"
POISON = """mount -t debugfs none /sys/kernel/debug; size=$(cat /sys/bus/cxl/devices/mem0/pmem/size)
printf '0x%x\\n' {} > /sys/kernel/debug/cxl/mem0/inject_poison
"""
# Places that blkid reads: the block of the namespace, the superblocks of ext4 and of other file systems, the end.
PLACES = {"namespace": "0x1000", "ext4": "0x200400", "others": "0x200000", "end": "$((size - 4096))"}
UNREADABLE = "pmem0 cannot be read where a file system begins or ends, so none is made on it; clear its poison"
PARTITIONS = """head -c 64K /dev/zero | dd of=/dev/pmem0 conv=notrunc status=none
printf '\\x80\\0\\0\\0\\x83\\0\\0\\0\\0\\x08\\0\\0\\0\\x08' | dd of=/dev/pmem0 bs=1 seek=446 conv=notrunc status=none
printf '\\x55\\xaa' | dd of=/dev/pmem0 bs=1 seek=510 conv=notrunc status=none; sync
"""


def machine(path: Path, file_system: str) -> GuestConfig:
    path.write_text(f'{path.read_text()}[guest]\nfile_system = "{file_system}"\n')
    return replace(render.runs(path)[0].guest, machine_checks=True)


def run(session: Session, guest: GuestConfig, script: str, media: Path) -> GuestOutcome:
    return drive(session.executor.run(GuestSpec(guest, script_job(script), media_folder=media)))


@pytest.mark.parametrize(
    ("file_system", "place", "error"),
    [
        ("ext4-dax", "namespace", UNREADABLE),
        ("ext4-dax", "ext4", UNREADABLE),
        ("ext4-dax", "end", ""),
        ("xfs-dax", "others", UNREADABLE),
        ("xfs-dax", "end", "see the console log"),  # blkid finds XFS, but the mount reads the end
        ("tbfs", "others", UNREADABLE),
        ("tbfs", "end", ""),
    ],
)
def test_none_is_made_where_poison_is(
    session: Session, small_manifest: Path, tmp_path: Path, file_system: str, place: str, error: str
) -> None:
    """The guest mounts a file system that blkid finds at the beginning, even if the end is poisoned."""
    guest, media = machine(small_manifest, file_system), tmp_path / "media"
    said(run(session, guest, KEEP + POISON.format(PLACES[place]), media))
    again = run(session, guest, "cat /pmem/file", media)
    assert again.stdout == (b"" if error else b"kept\n"), again.console[-1500:]
    assert error in again.error and (again.outcome == "ok") is (not error), again.error


DAMAGE = "dd if=/dev/urandom of=/dev/pmem0 bs=4k seek=1 count=24 conv=notrunc status=none"


@pytest.mark.parametrize("file_system", ["ext4-dax", "xfs-exchange", "tbfs"])
def test_each_is_checked_by_its_own_program(session: Session, small_manifest: Path, file_system: str) -> None:
    check = "check-file-system /dev/pmem0 >&2"
    script = f"{KEEP}{check}; {DAMAGE}; if {check}; then exit 1; fi; echo found\n"
    outcome = drive(session.executor.run(GuestSpec(machine(small_manifest, file_system), script_job(script))))
    assert said(outcome) == "found\n"


@pytest.mark.parametrize(
    ("first", "more", "then", "holds"),
    [("xfs-dax", "", "ext4-dax", "xfs"), ("ext4-dax", PARTITIONS, "ext4-dax", "dos"), ("ext4-dax", "", "tbfs", "ext4")],
)
def test_what_another_use_left_is_named(
    session: Session, small_manifest: Path, tmp_path: Path, first: str, more: str, then: str, holds: str
) -> None:
    plain, media = small_manifest.read_text(), tmp_path / "media"
    said(run(session, machine(small_manifest, first), KEEP + more, media))
    small_manifest.write_text(plain)
    again = run(session, machine(small_manifest, then), "true", media)
    assert again.outcome == "lost" and f"the device holds {holds}, but the run asks for {then}" in again.console


def test_the_date_of_a_boot_is_after_that_of_the_last(session: Session, small_manifest: Path, tmp_path: Path) -> None:
    """After a clean end, a power cut and another clean end, equal histories give equal dates, to the nanosecond."""
    guest = machine(small_manifest, "ext4-dax")
    look = "set -e; date +%s.%N; cat /pmem/dates 2>/dev/null || :; date +%s.%N >> /pmem/dates; sync; date +%s.%N\n"

    def history(media: Path) -> list[bytes]:
        said(run(session, guest, look, media))
        cut = run(session, guest, look + "roi power-cut\n", media)
        assert cut.outcome == "power-cut", cut.console[-500:]
        return [run(session, guest, look, media).stdout for _ in range(2)]

    one, last = history(tmp_path / "one"), b""
    assert history(tmp_path / "other") == one
    for text in one:
        begin, *kept, end = text.split()
        assert kept == sorted(kept) and max(last, kept[-1]) < begin < end, text
        last = end
    assert [len(text.split()) for text in one] == [4, 5]
