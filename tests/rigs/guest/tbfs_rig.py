# SPDX-License-Identifier: BSD-3-Clause
"""A guest with the module of tbfs, its tool, and a test's programs."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rigs.guest.guest_rig import COMPLAINTS, static_programs
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.program import kernel_module
from testbed.program.job_archive import script_job
from testbed.program.packages import Versions
from testbed.run.runner import drive

TBFS = REPO / "guest-image" / "modules" / "tbfs"
TOOL = [*sorted((TBFS / "core").rglob("*.c")), *(TBFS / "tools").glob("*.c")]
HYBRID = "hybrid,log_block=1024,gc_read=2000,multi=page"  # all unusual options

START = """set -u
PATH=$PATH:/job
umount /pmem
tbfs make /dev/pmem0 || exit 1
"""


def compiled(folder: Path, sources: Mapping[str, list[Path]]) -> dict[str, Path]:
    """Compile programs, which may include the core's headers, and return them by name."""
    return static_programs(folder, sources, f"-I{TBFS / 'core'}")


def run(
    session: Session, guest: GuestConfig, script: str, programs: Mapping[str, Path], packages: Versions = ()
) -> tuple[str, str]:
    """Run a script with a new tbfs and return its output and its errors."""
    outcome = sound(session, guest, script, programs, packages)
    return outcome.stdout.decode(), outcome.stderr.decode()


def sound(
    session: Session, guest: GuestConfig, script: str, programs: Mapping[str, Path], packages: Versions = ()
) -> GuestOutcome:
    """Run a script on a new tbfs in /dev/pmem0, return its outcome. AssertionError: the script or kernel complains."""
    modules = kernel_module.compile_all([TBFS])
    job = replace(script_job(START + script, programs), packages=packages)
    outcome = drive(session.executor.run(GuestSpec(replace(guest, modules=modules), job)))
    said, log = outcome.stdout.decode(), outcome.stderr.decode()
    assert (outcome.outcome, outcome.exit_status) == ("ok", 0), said + log + outcome.console[-2000:]
    assert not re.search(COMPLAINTS, log), log
    return outcome


# The first steps of a suite: a file system on its second device, checked, and then damaged.
CHECK = """#!/bin/bash
set -e
echo "$FSTYP $TEST_DIR $*"; tbfs check $TEST_DEV
mkfs -t tbfs -q $SCRATCH_DEV; fsck -t tbfs -a $SCRATCH_DEV >/dev/null; echo sound
dd if=/dev/zero of=$SCRATCH_DEV bs=4k count=2 conv=notrunc status=none
fsck -t tbfs $SCRATCH_DEV >/dev/null 2>&1 || echo "status $?"
"""


def write_xfstests(folder: Path) -> None:
    """Write a mock of a built xfstests folder."""
    folder.mkdir(exist_ok=True)
    check = folder / "check"
    check.write_text(CHECK)
    check.chmod(0o755)
