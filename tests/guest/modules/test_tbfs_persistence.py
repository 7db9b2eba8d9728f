# SPDX-License-Identifier: BSD-3-Clause
"""Stores of the tbfs module to the medium: pm_wbarrier, write windows and stores of 64 bytes."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.guest_rig import COMPLAINTS, RIG_PROGRAMS, static_programs
from rigs.guest.tbfs_rig import HYBRID
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import render
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

INCLUDE = REPO / "guest-image" / "tools" / "include"
# Makes the same calls on tbfs and on tmpfs with two data policies. Both trees are equal, at once and after a new mount.
TWINS = """mkdir -p /tmp/twin; umount /pmem
for data in inplace {hybrid}; do
    tbfs make /dev/pmem0 && mount -t tbfs -o wprotect=on,barrier=on,atomic=$1,data=$data /dev/pmem0 /pmem || exit 1
    grep -o 'atomic=.*wprotect=on' /proc/mounts
    /job/twin_folders run /pmem /tmp/twin 5 300 && echo inside > /sys/module/tbfs/parameters/stray_store || exit 1
    umount /pmem && tbfs check /dev/pmem0 && mount -t tbfs /dev/pmem0 /pmem || exit 1
    /job/twin_folders compare /pmem /tmp/twin || exit 1
    ! echo inside > /sys/module/tbfs/parameters/stray_store || exit 1
    umount /pmem; rm -rf /tmp/twin; mkdir /tmp/twin
done 2>/dev/null
"""
REFUSED = """
for option in barrier=yes wprotect=1 atomic=64 atomic=32
do mount -t tbfs -o $option /dev/pmem0 /pmem 2>&1; echo "status $?"; done
"""
SENTENCES = (
    "barrier=yes is no switch; give barrier=on or barrier=off",
    "wprotect=1 is no switch; give wprotect=on or wprotect=off",
    "this processor has no store of 64 bytes; give atomic=8",
    "atomic=32 is no size; give atomic=8, 16, 64 or off",
)
STRAY = "echo outside > /sys/module/tbfs/parameters/stray_store\n"


def pmep(path: Path, options: str, wbarrier: str = "100ns") -> GuestConfig:
    """Return a machine with the memory of PMFS (profile pmep) and a tbfs on it."""
    asks = f'[guest]\nfile_system = "tbfs"\nmount_options = "{options}"\n[cpu]'
    device = f'"pmep"\noverride = {{ capacity = "16GiB", wbarrier_latency = "{wbarrier}" }}'
    path.write_text(path.read_text().replace("[cpu]", asks).replace('"snapshot-paper-mss"', device))
    return render.runs(path)[0].guest


def done(session: Session, guest: GuestConfig, script: str, programs: dict[str, Path], home: Path) -> GuestOutcome:
    return drive(session.executor.run(GuestSpec(guest, script_job(script, programs), media_folder=home)))


@pytest.mark.parametrize(("barrier", "left"), [("on", "returned\n"), ("off", "")])
def test_with_a_barrier_a_power_cut_keeps_what_has_returned_and_without_it_loses_some(
    session: Session, small_manifest: Path, tmp_path: Path, barrier: str, left: str
) -> None:
    """With barrier=off, tbfs omits the barrier though fences do not reach the medium, and the power cut loses data."""
    guest, home = pmep(small_manifest, f"barrier={barrier}", "50us"), tmp_path / "media"
    program = static_programs(tmp_path, {"cut_after_write": [RIG_PROGRAMS / "cut_after_write.c"]}, f"-I{INCLUDE}")
    write = "touch /pmem/file; sleep 0.1; roi begin; /job/cut_after_write /pmem/file\n"
    outcome = done(session, guest, write, program, home)
    assert outcome.outcome == "power-cut" and outcome.power_cut, outcome.stderr.decode() + outcome.console[-500:]
    assert (outcome.power_cut["lines-lost"] > 0) == (barrier == "off")
    outcome = done(session, guest, "cat /pmem/file; umount /pmem && tbfs check /dev/pmem0\n", {}, home)
    assert (outcome.exit_status, outcome.stdout.decode()) == (0, left), outcome.stderr.decode()


def test_windows_and_barriers_change_nothing_that_is_kept(
    session: Session, small_manifest: Path, tmp_path: Path
) -> None:
    guest, said = pmep(small_manifest, "wprotect=on,barrier=on"), ""
    program = static_programs(tmp_path, {"twin_folders": [RIG_PROGRAMS / "twin_folders.c"]})
    for has, atomic, refused in ((True, "64", ""), (False, "off", REFUSED)):
        script = f"set -- {atomic}\n" + TWINS.format(hybrid=HYBRID) + refused + "dmesg >&2\n"
        outcome = done(session, replace(guest, direct_stores=has), script, program, tmp_path / atomic)
        said, log = outcome.stdout.decode(), outcome.stderr.decode()
        assert (outcome.outcome, outcome.exit_status) == ("ok", 0), said + log + outcome.console[-2000:]
        assert not re.search(COMPLAINTS, log), log
        assert said.count(f"atomic={atomic},barrier=on,wprotect=on\n") == 2, said
    assert said.count("status 32\n") == len(SENTENCES), said
    for sentence in SENTENCES:
        assert sentence in said


def test_a_stray_store_outside_of_a_window_is_an_oops(session: Session, small_manifest: Path, tmp_path: Path) -> None:
    outcome = done(session, pmep(small_manifest, "wprotect=on"), STRAY, {}, tmp_path / "media")
    assert outcome.outcome == "panic", outcome.outcome + outcome.console[-500:]
    assert "supervisor write access in kernel mode" in outcome.console
    assert "permissions violation" in outcome.console and "store_astray" in outcome.console
