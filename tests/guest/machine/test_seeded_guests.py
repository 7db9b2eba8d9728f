# SPDX-License-Identifier: BSD-3-Clause
"""Seeds in guests: equal seeds give equal bytes, another seed gives another run, and seed 0 equals no seed.

A machine without a kernel shows each effect of a seed separately.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rigs.guest.guest_rig import static_programs
from rigs.guest.seed_rig import told
from rigs.guest.vcpus_rig import VCPUs, with_cpus
from testbed.guest.executor import GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

INCLUDE = REPO / "guest-image/tools/include"
SEEDS = range(1, 9)
TICK_PS = 4_000_000_000


# ---- Without a kernel ----


def test_a_seed_decides_which_of_equal_clocks_goes_first(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """Three CPUs start at the same time; without a seed, they run in the order of their numbers."""
    guest = with_cpus(quick_guest, 4)
    orders = {seed: told(session, guest, tmp_path, seed).order for seed in (0, *SEEDS)}
    print(orders)
    assert orders[0] == [1, 2, 3]
    assert all(sorted(order) == [1, 2, 3] for order in orders.values())
    assert len({tuple(orders[seed]) for seed in SEEDS}) > 2


def test_a_seed_spreads_the_clocks_of_cpus_by_less_than_a_quantum(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """Two CPUs loop as the region begins. Without the spread, their distance would be the same for every seed."""
    quantum_ps = min(100_000, quick_guest.cpu.c2c_ps, quick_guest.cpu.ipi_ps)
    guest = with_cpus(quick_guest, 2)
    began_ps = [told(session, guest, tmp_path, seed).began_ps for seed in (0, *SEEDS)]
    apart_ps = [other - first for first, other in began_ps]
    spread_ps = [ps - apart_ps[0] for ps in apart_ps[1:]]
    print("spread by, in ps:", spread_ps)
    assert all(0 < abs(ps) < quantum_ps for ps in spread_ps)
    assert len(set(spread_ps)) == len(SEEDS)


def test_a_seed_moves_the_begin_of_a_region_by_less_than_a_tick(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """No timer runs that could bound the move. With one CPU, a seed can change nothing else here."""
    guest = replace(quick_guest, cpu=replace(quick_guest.cpu, cores=1))
    began_ps = {seed: told(session, guest, tmp_path, seed).began_ps[0] for seed in (0, *SEEDS)}
    moved = [began_ps[seed] - began_ps[0] for seed in SEEDS]
    print("moved by, in us:", [ps // 1_000_000 for ps in moved])
    assert all(0 < ps < TICK_PS for ps in moved)
    assert len(set(moved)) == len(SEEDS)
    assert max(moved) - min(moved) > TICK_PS / 2
    assert told(session, guest, tmp_path, 3).began_ps[0] == began_ps[3]


def test_a_seed_does_not_move_the_begin_of_a_region_beyond_a_timer(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """Otherwise, the timer's interrupt would fall into more regions than without a seed."""
    guest = replace(quick_guest, cpu=replace(quick_guest.cpu, cores=1))
    timer_ns = 100_000
    began_ps = [told(session, guest, tmp_path, seed, timer_ns).began_ps[0] for seed in (0, *SEEDS)]
    moved = [ps - began_ps[0] for ps in began_ps[1:]]
    print("moved by, in us:", [ps // 1_000_000 for ps in moved])
    assert all(0 < ps < timer_ns * 1000 for ps in moved)
    assert max(moved) - min(moved) > timer_ns * 1000 / 2


# ---- Under Linux ----


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    sources = {"seed_guest": [REPO / "tests/rigs/programs/seed_guest.c"]}
    return static_programs(Path(tmp_path_factory.mktemp("programs")), sources, f"-I{INCLUDE}", "-pthread")


def rois(session: Session, guest: GuestConfig, programs: dict[str, Path], command: str, seed: int) -> list[Any]:
    """Run the command in a new guest and return its regions of interest."""
    seeded = replace(guest, cpu=replace(guest.cpu, seed=seed))
    outcome = drive(session.executor.run(GuestSpec(seeded, script_job(f"/job/seed_guest {command}", programs))))
    assert outcome.outcome == "ok", outcome.console[-1000:]
    return outcome.rois


def time_ps(rois: list[Any]) -> int:
    return int(rois[0]["end-ps"] - rois[0]["begin-ps"])


def test_the_page_frames_of_a_seed_decide_on_misses(
    session: Session, quick_guest: GuestConfig, programs: dict[str, Path]
) -> None:
    command = f"misses {quick_guest.cpu.llc_size * 15 // 16 // 4096 * 4096}"
    found = {seed: rois(session, quick_guest, programs, command, seed) for seed in (0, 1, 2)}
    print({seed: (time_ps(one), one[0]["counters"]["llc-misses"]) for seed, one in found.items()})
    assert len({one[0]["counters"]["llc-misses"] for one in found.values()}) == 3
    assert len({time_ps(one) for one in found.values()}) == 3
    assert rois(session, quick_guest, programs, command, 1) == found[1]


def test_two_threads_take_another_time_with_another_seed(
    session: Session, quick_guest: GuestConfig, programs: dict[str, Path]
) -> None:
    guest = with_cpus(quick_guest, 2)
    found = {seed: rois(session, guest, programs, "threads", seed) for seed in (0, 1, 2)}
    print({seed: time_ps(one) for seed, one in found.items()})
    assert len({time_ps(one) for one in found.values()}) == 3
    assert rois(session, guest, programs, "threads", 2) == found[2]


def test_seed_0_is_as_no_seed(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    """Compare two CPUs under Linux, with measurements of everything that CPUs share."""
    vcpus = VCPUs(session, quick_guest, tmp_path)
    without, zero = (vcpus.run(2, timing=timing, steps=20_000) for timing in ("", ",seed=0"))
    assert zero.of_the_guest() == without.of_the_guest()
