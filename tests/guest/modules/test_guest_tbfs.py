# SPDX-License-Identifier: BSD-3-Clause
"""The kernel module of tbfs: calls act as on tmpfs, and mounts with bad options or damaged media fail."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.guest_rig import RIG_PROGRAMS
from rigs.guest.tbfs_rig import HYBRID, TOOL, compiled, run
from testbed.errors import TestbedError
from testbed.guest.executor import GuestSpec
from testbed.guest.session import Session
from testbed.manifest import render
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

# Makes random calls and checks the result three times: at once, with `tbfs check`, and after a new mount.
TWINS = """
mount -t tbfs -o {options} /dev/pmem0 /pmem && grep -o '{shown}' /proc/mounts || exit 1
twin_folders run /pmem /tmp/twin {seed} {steps} || exit 1
umount /pmem && tbfs check /dev/pmem0 || exit 1
mount -t tbfs -o {options} /dev/pmem0 /pmem && twin_folders compare /pmem /tmp/twin && umount /pmem || exit 1
"""
# Three files for pages of 2 MiB: one allocated, one truncated to its size and written, one allocated a page too short.
LARGE = """
mount -t tbfs -o data={data} /dev/pmem0 /pmem && cd /pmem || exit 1
fallocate -l 4M one; truncate -s 4M two; dd if=/dev/zero of=two bs=16k count=256 conv=notrunc status=none
fallocate -l $((2*1024*1024 - 4096)) three
large_pages one two three && rm one two three; cd /; umount /pmem && tbfs check /dev/pmem0 || exit 1
"""
LARGE_FAULTS = "2 faults\n2 faults\n511 faults\n"
# Runs on a small file system, which soon fills: a failed call changes nothing, and reads end at the end of the file.
REFUSED_CALLS = """
truncate -s 8M /tmp/image
for data in inplace cow hybrid; do
    tbfs make /tmp/image && dd if=/tmp/image of=/dev/pmem0 bs=1M status=none || exit 1
    mount -t tbfs -o data=$data /dev/pmem0 /pmem && refused_calls /pmem $((512 << 30)) || exit 1
    umount /pmem && tbfs check /dev/pmem0 || exit 1
done
tbfs make /dev/pmem0
"""
HAS_LOGS = "tbfs dump /dev/pmem0 | grep -q ' logs [1-9]' || exit 1\n"
# Mounts a file system with logs read-only under each policy: the contents are the same and every log stays. A later
# mount may write, and merges logs.
READ_ONLY = """
left=$(tbfs dump /dev/pmem0)
is_left() { umount /pmem; [ "$left" = "$(tbfs dump /dev/pmem0)" ]; }
for options in data=inplace data=cow data=hybrid,gc_read=1; do
    mount -t tbfs -o "ro,$options" /dev/pmem0 /pmem && twin_folders compare /pmem /tmp/twin || exit 1
    ! touch /pmem/new && twin_folders compare-mapped /pmem /tmp/twin && is_left || exit 1
done 2>/dev/null
mount -t tbfs -o ro /dev/pmem0 /pmem; twin_folders compare-mapped /pmem /tmp/twin || exit 1
mount -o remount,rw /pmem 2>&1; echo "status $?"; is_left || exit 1
mount -t tbfs -o data=hybrid,gc_read=1 /dev/pmem0 /pmem; mount -o remount,ro /pmem || exit 1
twin_folders compare /pmem /tmp/twin && mount -o remount,rw /pmem && twin_folders compare /pmem /tmp/twin || exit 1
! is_left || exit 1
"""
# Writes forty logs, which stay while the file system is not idle for long enough, or is read-only.
BACKGROUND = """
idle() { mount -t tbfs -o "data=hybrid,gc_read=off,gc_low=100,gc_idle_us=$1" /dev/pmem0 /pmem || exit 1; }
count() {
    umount /pmem && tbfs check /dev/pmem0 || exit 1
    tbfs dump /dev/pmem0 | grep -o ' logs .*/idle' | cut -d ' ' -f 2,3
}
idle 60000000; dd if=/dev/urandom of=/pmem/idle bs=4096 count=40 status=none
for page in $(seq 0 39)
do printf part | dd of=/pmem/idle bs=1 seek=$((page * 4096 + 7)) conv=notrunc status=none; done
sum=$(cksum < /pmem/idle); count
idle 300000; mount -o remount,ro /pmem && sleep 0.6 && count
idle 20000; sleep 0.6; [ "$sum" = "$(cksum < /pmem/idle)" ] || exit 1; count
idle 300000; rm /pmem/idle; umount /pmem
"""
LEFT = "logs 40\nlogs 40\nlogs 0\n"
REFUSED = """
attempt() { mount -t tbfs -o "$1" /dev/pmem0 /pmem 2>&1; echo "status $?"; }
for option in data=zebra metadata=redo atomic=7 atomic=64 colour=red; do attempt $option; done
for option in log_block=700 log_align=9 hybrid_max=4096 gc_read=0 read=up multi=all \\
    gc_low=0 gc_high=101 gc_idle_us=0 gc_high=9 gc_low=9,gc_high=8
do attempt data=hybrid,$option; done
attempt data=cow,log_block=512
mount -t tbfs /dev/pmem0 /pmem; mount -o remount,data=cow /pmem 2>&1; echo "status $?"; umount /pmem
for block in 0 1; do printf '\\377' | dd of=/dev/pmem0 bs=1 seek=$((block * 4096 + 100)) conv=notrunc status=none; done
attempt data=cow; dd if=/dev/zero of=/dev/pmem0 bs=4096 count=1 status=none
dd if=/dev/zero of=/dev/pmem0 bs=4096 count=1 seek=1 conv=notrunc status=none; attempt data=cow; dmesg >&2
"""
SENTENCES = (
    "files were mapped while it was read-only, as copies; unmount it first",
    "data=zebra is no policy; give data=inplace, cow or hybrid",
    "metadata=redo is no policy; give metadata=undo or log",
    "atomic=7 is no size; give atomic=8, 16, 64 or off",
    "this processor has no store of 64 bytes; give atomic=8",
    "Unknown parameter 'colour'",
    "log_block=700 is no size; give log_block=512, 1024, 2048 or 4096",
    "log_align=9 is no alignment; give log_align=8 or 64",
    "hybrid_max=4096 is no part of a page; give hybrid_max=1 to 4095",
    "gc_read=0 is no number of bytes; give one such as 4096, or gc_read=off",
    "read=up is no order; give read=reverse or read=forward",
    "multi=all is no promise; give multi=call or multi=page",
    "gc_low=0 is no percentage; give gc_low=1 to 100, or gc_low=off",
    "gc_high=101 is no percentage; give gc_high=1 to 100",
    "gc_idle_us=0 is no time; give one such as gc_idle_us=1000",
    "gc_high and gc_idle_us need gc_low; give that, too, or leave them out",
    "gc_high is less than gc_low; give one that is as large or larger",
    "options of logs need data=hybrid; give that, or leave them out",
    "its own options stay as they are while it is mounted; unmount it first",
    "pmem0 holds a tbfs that is damaged so that it cannot be mounted",
    "pmem0 holds no tbfs; make one with `tbfs make`",
)


def twins(data: str, atomic: int, seed: int, steps: int, metadata: str = "undo") -> str:
    options = f"atomic={atomic},metadata={metadata},data={data}"
    shown = f"data={data.partition(',')[0]},metadata={metadata},atomic={atomic}"
    return TWINS.format(options=options, shown=shown, seed=seed, steps=steps)


SOURCES = ("twin_folders.c", "large_pages.c", "stress/refused_calls.c")


def programs(folder: Path) -> dict[str, Path]:
    own = {path.stem: [path] for path in (RIG_PROGRAMS / name for name in SOURCES)}
    return compiled(folder, {"tbfs": TOOL, **own})


def test_calls_do_what_they_do_on_tmpfs_large_files_have_large_pages_and_bad_media_are_refused(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    calls = twins("inplace", 8, 1, 1000) + twins("cow", 16, 2, 1000) + twins(HYBRID, 8, 3, 1000)
    calls += twins("cow", 8, 4, 500, "log") + twins(HYBRID, 8, 3, 500, "log")
    large = "".join(LARGE.format(data=data) for data in ("inplace", "cow", "hybrid"))
    script = REFUSED_CALLS + "mkdir -p /tmp/twin\n" + large + BACKGROUND + calls + HAS_LOGS + READ_ONLY + REFUSED
    said, _ = run(session, quick_guest, script, programs(tmp_path))
    assert said.count(LARGE_FAULTS) == 3 and LEFT in said, said
    assert said.count("status 32\n") == len(SENTENCES), said
    for sentence in SENTENCES:
        assert sentence in said


def test_a_manifest_asks_for_one_which_kept_media_have_again(
    session: Session, small_manifest: Path, tmp_path: Path
) -> None:
    asks = '[guest]\nfile_system = "tbfs"\nmount_options = "data=hybrid,gc_read=off"\n[cpu]'
    small_manifest.write_text(small_manifest.read_text().replace("[cpu]", asks))
    guest = render.runs(small_manifest)[0].guest
    make = "grep -o ' /pmem tbfs .*' /proc/mounts; echo kept > /pmem/file; umount /pmem; tbfs dump /dev/pmem0\n"
    for script, wanted in ((make, "data=hybrid.*gc_read=off.*\n.* logs 1 .*/file"), ("cat /pmem/file\n", "kept")):
        spec = GuestSpec(guest, script_job("set -e\n" + script), media_folder=tmp_path / "media")
        outcome = drive(session.executor.run(spec))
        errors = outcome.error + outcome.stderr.decode() + outcome.console[-1500:]
        assert (outcome.outcome, outcome.exit_status) == ("ok", 0), errors
        assert re.search(wanted, outcome.stdout.decode(), re.S), outcome.stdout
    other = replace(guest, file_system="ext4-dax", mount_options="")  # would be made over the tbfs
    with pytest.raises(TestbedError, match="its media are of a guest with a tbfs"):
        drive(session.executor.run(GuestSpec(other, script_job("true"), media_folder=tmp_path / "media")))


@pytest.mark.by_hand
@pytest.mark.parametrize("metadata", ["undo", "log"])
@pytest.mark.parametrize("data", ["inplace", "cow", "hybrid", HYBRID])
def test_many_calls_do_what_they_do_on_tmpfs(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, data: str, metadata: str
) -> None:
    calls = "".join(twins(data, 16, seed, 8000, metadata) for seed in range(10, 15))
    run(session, quick_guest, "mkdir -p /tmp/twin\n" + calls + "dmesg >&2\n", programs(tmp_path))
