# SPDX-License-Identifier: BSD-3-Clause
"""MOVDIR64B: what it stores, without a kernel."""

from dataclasses import replace
from pathlib import Path

import pytest
from bare_rig import words

from testbed.guest.session import Session
from testbed.manifest.manifest import GuestConfig

pytestmark = pytest.mark.guest

# Sixteen numbers, the first 0x1000, go from DS:0x5004 to ES:0x40 with ES at 0x6000. What is before and behind stays.
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


def test_it_stores_a_line(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    guest = replace(quick_guest, direct_stores=True)
    assert words(session, guest, tmp_path, BARE) == [0, *range(0x1000, 0x1010), 0]
