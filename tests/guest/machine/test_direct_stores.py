# SPDX-License-Identifier: BSD-3-Clause
"""MOVDIR64B: its store with and without a kernel, and its fault on a CPU that does not report the feature."""

from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.bare_rig import words
from rigs.guest.guest_rig import RIG_PROGRAMS, static_programs
from testbed.guest.executor import GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

# Stores sixteen numbers, the first 0x1000, from DS:0x5004 to ES:0x40 with ES at 0x6000. The words around them stay.
BARE = """
    mov $0x600, %ax
    mov %ax, %es
    mov $0x5004, %di
    mov $0x1000, %eax
    .rept 16
    mov %eax, (%di)
    add $4, %di
    inc %eax
    .endr
    mov $0x5004, %bx
    mov $0x40, %si
    movdir64b (%bx), %si
    mfence
    .set at, 0x603c
    .rept 18
    mov (at), %eax
    tell
    .set at, at + 4
    .endr
"""
DIRECT_STORES = """memory: stored
file: stored
0 0 0
behind a line's begin: Segmentation fault
read-only: Segmentation fault
from nowhere: Segmentation fault
0 9
"""


def test_it_stores_a_line(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    guest = replace(quick_guest, direct_stores=True)
    assert words(session, guest, tmp_path, BARE) == [0, *range(0x1000, 0x1010), 0]


def test_a_line_is_stored_at_once_by_a_cpu_that_says_so(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    program = static_programs(tmp_path, {"direct_store": [RIG_PROGRAMS / "direct_store.c"]})
    script = "grep -o movdir64b /proc/cpuinfo; roi begin; direct_store /pmem/file; roi end"
    for has, wanted in ((True, "movdir64b\n" + DIRECT_STORES), (False, "Illegal instruction")):
        guest = replace(quick_guest, direct_stores=has)
        job = script_job("PATH=$PATH:/job\n" + script, program)
        outcome = drive(session.executor.run(GuestSpec(guest, job)))
        said = outcome.stdout.decode()
        assert said == wanted if has else said.startswith(f"memory: {wanted}"), said + outcome.console[-500:]
