# SPDX-License-Identifier: BSD-3-Clause
"""A guest with the module of tbfs, its tool, and what a test puts beside them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from guest_rig import COMPLAINTS, static_programs

from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.manifest import GuestConfig
from testbed.paths import REPO
from testbed.program import kernel_module
from testbed.program.job_archive import script_job
from testbed.program.packages import Versions
from testbed.run.runner import drive

TBFS = REPO / "guest-image" / "tbfs"
RIGS = REPO / "tests" / "rigs"
TOOL = [*sorted((TBFS / "core").glob("*.c")), *(TBFS / "tools").glob("*.c")]
HYBRID = "hybrid,log_block=1024,gc_read=2000,multi=page"  # with all that is unusual

START = """set -u
PATH=$PATH:/job
umount /pmem
tbfs make /dev/pmem0 || exit 1
"""


def compiled(folder: Path, sources: Mapping[str, list[Path]]) -> dict[str, Path]:
    """Programs by name, which may have the core's headers."""
    return static_programs(folder, sources, f"-I{TBFS / 'core'}")


def run(
    session: Session, guest: GuestConfig, script: str, programs: Mapping[str, Path], packages: Versions = ()
) -> tuple[str, str]:
    """What the script says and complains of."""
    outcome = sound(session, guest, script, programs, packages)
    return outcome.stdout.decode(), outcome.stderr.decode()


def sound(
    session: Session, guest: GuestConfig, script: str, programs: Mapping[str, Path], packages: Versions = ()
) -> GuestOutcome:
    """How the script ended, which finds a new file system in /dev/pmem0. Neither it nor the kernel may complain."""
    modules = kernel_module.compile_all([TBFS])
    job = replace(script_job(START + script, programs), packages=packages)
    outcome = drive(session.executor.run(GuestSpec(replace(guest, modules=modules), job)))
    said, log = outcome.stdout.decode(), outcome.stderr.decode()
    assert (outcome.outcome, outcome.exit_status) == ("ok", 0), said + log + outcome.console[-2000:]
    assert not re.search(COMPLAINTS, log), log
    return outcome


# What a suite does first: a file system on its second device, checked, and then with a fault.
CHECK = """#!/bin/bash
set -e
echo "$FSTYP $TEST_DIR $*"; tbfs check $TEST_DEV
mkfs -t tbfs -q $SCRATCH_DEV; fsck -t tbfs -a $SCRATCH_DEV >/dev/null; echo sound
dd if=/dev/zero of=$SCRATCH_DEV bs=4k count=2 conv=notrunc status=none
fsck -t tbfs $SCRATCH_DEV >/dev/null 2>&1 || echo "status $?"
"""


def write_xfstests(folder: Path) -> None:
    """A stand-in for a folder of xfstests that is built."""
    folder.mkdir(exist_ok=True)
    check = folder / "check"
    check.write_text(CHECK)
    check.chmod(0o755)
