# SPDX-License-Identifier: BSD-3-Clause
"""Costs of instructions other than memory accesses, measured by programs without a kernel."""

from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.bare_rig import REPEATS, cost_ps
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig

pytestmark = pytest.mark.guest

TOLERANCE_PS = 2 * 1000 / REPEATS  # two readings in whole ns, with and without the instructions


def test_pause_takes_what_the_profile_says(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    insn_ps = float(quick_guest.cpu.insn_ps)
    assert quick_guest.cpu.pause_ps > 100 * insn_ps
    cost = cost_ps(session, quick_guest, tmp_path, ["nop", "pause"])
    assert cost["nop"] == pytest.approx(insn_ps, abs=TOLERANCE_PS)
    assert cost["pause"] == pytest.approx(insn_ps + quick_guest.cpu.pause_ps, abs=TOLERANCE_PS)
    free = replace(quick_guest, cpu=replace(quick_guest.cpu, pause_ps=0))
    assert cost_ps(session, free, tmp_path, ["pause"])["pause"] == pytest.approx(insn_ps, abs=TOLERANCE_PS)


# Parameter, instructions that cost it, and their number. WBINVD is last, as the stack is not in L1 after it.
COSTS = (
    ("cpuid_ps", "mov $0, %eax; cpuid", 2),
    ("rdmsr_ps", "mov $0x174, %ecx; rdmsr", 2),
    ("wrmsr_ps", "mov $0x174, %ecx; wrmsr", 2),
    ("wrmsr_ps", "mov $0x48, %ecx; wrmsr", 2),  # IA32_SPEC_CTRL: does not serialise, but takes as long
    ("mov_cr_ps", "mov %cr0, %eax; mov %eax, %cr0", 2),
    ("mov_cr_ps", "mov %cr4, %eax; mov %eax, %cr4", 2),
    ("mov_cr_ps", "smsw %ax; lmsw %ax", 2),
    ("mov_cr_ps", "clts", 1),
    ("mov_cr3_ps", "mov %cr3, %eax; mov %eax, %cr3", 2),
    ("mov_dr_ps", "mov %dr6, %eax; mov %eax, %dr6", 2),
    ("invlpg_ps", "invlpg (0x7000)", 1),
    ("load_table_ps", "sgdt -16(%bp); lgdt -16(%bp)", 2),
    ("load_table_ps", "sidt -16(%bp); lidt -16(%bp)", 2),
    ("iret_ps", "pushfw; pushw %cs; pushw $1f; iretw; 1:", 4),
    ("rdtsc_ps", "rdtsc", 1),
    ("rdtsc_ps", "rdtscp", 1),
    ("wbinvd_ps", "invd", 1),
    ("wbinvd_ps", "wbinvd", 1),
)


def test_instructions_that_serialise_take_what_the_profile_says(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    cost = cost_ps(session, quick_guest, tmp_path, [body for _, body, _ in COSTS])
    for parameter, body, instructions in COSTS:
        stated_ps = getattr(quick_guest.cpu, parameter)
        assert stated_ps > 0
        expected_ps = instructions * float(quick_guest.cpu.insn_ps) + stated_ps
        assert cost[body] == pytest.approx(expected_ps, rel=1e-4, abs=TOLERANCE_PS), body


def test_a_relaxed_wrmsr_does_not_wait_for_stores(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    """Every store here misses; only a WRMSR that serialises waits for the store's line from DRAM."""
    body = "mov ${msr}, %ecx; add $0x1040, %bx; mov %al, (%bx); wrmsr"  # no stream: nothing is prefetched
    waits, relaxed = (body.format(msr=msr) for msr in ("0x174", "0x48"))
    cost = cost_ps(session, quick_guest, tmp_path, [waits, relaxed])
    assert cost[relaxed] == pytest.approx(4 * float(quick_guest.cpu.insn_ps) + quick_guest.cpu.wrmsr_ps, rel=0.01)
    assert cost[waits] > cost[relaxed] + quick_guest.cpu.dram_latency_ps / 2
