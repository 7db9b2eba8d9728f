# SPDX-License-Identifier: BSD-3-Clause
"""What instructions cost that are no memory accesses, measured by programs without a kernel."""

from dataclasses import replace
from pathlib import Path

import pytest
from bare_rig import REPEATS, cost_ps

from testbed.manifest import GuestConfig
from testbed.session import Session

pytestmark = pytest.mark.guest

TOLERANCE_PS = 2 * 1000 / REPEATS  # the guest reads nanoseconds, for the instructions and for none of them


def test_pause_takes_what_the_profile_says(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    insn_ps = float(quick_guest.cpu.insn_ps)
    assert quick_guest.cpu.pause_ps > 100 * insn_ps
    cost = cost_ps(session, quick_guest, tmp_path, ["nop", "pause"])
    assert cost["nop"] == pytest.approx(insn_ps, abs=TOLERANCE_PS)
    assert cost["pause"] == pytest.approx(insn_ps + quick_guest.cpu.pause_ps, abs=TOLERANCE_PS)
    free = replace(quick_guest, cpu=replace(quick_guest.cpu, pause_ps=0))
    assert cost_ps(session, free, tmp_path, ["pause"])["pause"] == pytest.approx(insn_ps, abs=TOLERANCE_PS)
