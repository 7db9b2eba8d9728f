# SPDX-License-Identifier: BSD-3-Clause
"""The modules tbfs and fams on a debug kernel: KASAN, lockdep and similar checkers report nothing."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import test_fams_module as fams
from test_guest_tbfs import BACKGROUND, HAS_LOGS, LARGE, programs, twins

from rigs.guest import tbfs_rig
from rigs.guest.guest_rig import COMPLAINTS, RIG_PROGRAMS
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program import kernel_module, own_kernel
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = [pytest.mark.guest, pytest.mark.by_hand]

CALLS = 400
POLICIES = (("inplace", 8, "undo"), ("cow", 16, "undo"), (tbfs_rig.HYBRID, 8, "undo"), (tbfs_rig.HYBRID, 16, "log"))


@pytest.fixture(scope="module")
def kernel() -> Path:
    """Compile the kernel once into the folder $TESTBED_DEBUG_KERNEL, which takes some ten minutes of CPU time."""
    folder = Path(os.environ.get("TESTBED_DEBUG_KERNEL", "build/kernels")).absolute()
    subprocess.run([sys.executable, "-m", "testbed", "kernel", "debug", folder], check=True)
    return folder / "debug/arch/x86/boot/bzImage"


def guest_with(guest: GuestConfig, kernel: Path, *modules: Path) -> GuestConfig:
    """Return a guest with this kernel, and with modules compiled for it."""
    compiled = kernel_module.compile_all(modules, kernel)
    return replace(guest, kernel=own_kernel.read(kernel, None, "ext4-dax"), modules=compiled)


def run(session: Session, guest: GuestConfig, script: str, *, with_programs: dict[str, Path]) -> GuestOutcome:
    return drive(session.executor.run(GuestSpec(guest, script_job(script, with_programs))))


def test_a_module_that_breaks_the_rules_is_told_of(session: Session, quick_guest: GuestConfig, kernel: Path) -> None:
    """Without this check, the absence of reports in the other tests would prove nothing."""
    guest = guest_with(quick_guest, kernel, RIG_PROGRAMS / "faulty")
    outcome = run(session, guest, "dmesg", with_programs={})
    log = outcome.stdout.decode()
    assert outcome.outcome == "ok", outcome.console[-2000:]
    assert "BUG: KASAN: slab-out-of-bounds in faulty" in log
    assert "WARNING: possible circular locking dependency detected" in log


def test_tbfs_is_clean(session: Session, quick_guest: GuestConfig, kernel: Path, tmp_path: Path) -> None:
    calls = [twins(*policy[:2], seed, CALLS, policy[2]) for seed, policy in enumerate(POLICIES)]
    logs = [HAS_LOGS if policy[0] == tbfs_rig.HYBRID else "" for policy in POLICIES]
    steps = [word for pair in zip(calls, logs, strict=True) for word in pair]
    large = "".join(LARGE.format(data=data) for data in ("inplace", "cow", "hybrid"))
    script = f"{tbfs_rig.START}mkdir -p /tmp/twin\n{large}{BACKGROUND}{''.join(steps)}dmesg >&2\n"
    guest = guest_with(replace(quick_guest, timeout_s=3600), kernel, tbfs_rig.TBFS)
    outcome = run(session, guest, script, with_programs=programs(tmp_path))
    log = outcome.stderr.decode()
    assert (outcome.outcome, outcome.exit_status) == ("ok", 0), outcome.stdout.decode() + log + outcome.console[-2000:]
    assert "logs 0\n" in outcome.stdout.decode(), "nothing was merged in the background"
    complaints = [line for line in log.splitlines() if any(word in line for word in COMPLAINTS.split("|"))]
    assert not complaints, log
    assert "KernelAddressSanitizer initialized" in log


def test_fams_is_clean(session: Session, quick_guest: GuestConfig, kernel: Path, tmp_path: Path) -> None:
    guest = guest_with(quick_guest, kernel, fams.FAMS)
    for script, ending in ((fams.CALLS, "power-cut"), (fams.LEFT, "ok")):
        job = script_job(script, fams.programs(tmp_path))
        outcome = drive(session.executor.run(GuestSpec(guest, job, media_folder=tmp_path / "media")))
        said = outcome.stdout.decode() + outcome.stderr.decode() + outcome.error
        assert outcome.outcome == ending, said + outcome.console[-2000:]
