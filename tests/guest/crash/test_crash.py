# SPDX-License-Identifier: BSD-3-Clause
"""Crashes in the middle of updates: recovery finds the state of the last completed commit.

A printed seed draws the virtual times of the power cuts from the span of the updates. A cut loses dirty lines in CPU
caches and keeps the device's state. The same test must find failures in a library built without its log flush.
"""

import asyncio
import random
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rigs.guest.guest_rig import changed_lines
from testbed.crash.guests import Guests
from testbed.crash.plan import CrashSection, Plan, Programs
from testbed.guest import boots
from testbed.guest.executor import GuestExecutor, GuestSpec
from testbed.guest.qemu_line import PowerCut
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.sections import FileSystem
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

CUTS = 4  # and 20 by hand
SEED = 20231106
OPTIONS = "--workload G --records 2000 --operations 3000 --buckets 2 --file /pmem/kv.pool --seed 1"
PROGRAMS = {"sound": "kv-snapshot", "broken": "/usr/local/libexec/testbed-bugs/kv-snapshot-bug-no-log-flush"}


@dataclass(frozen=True)
class Crash:
    """One cut and the result of the recovery after it."""

    at_ps: int
    last_mark: int
    verified: bool
    commits: int
    problem: str

    @property
    def ok(self) -> bool:
        """Whether the store is consistent and has every acknowledged commit."""
        return self.verified and self.last_mark <= self.commits <= self.last_mark + 1


def update_span_ps(session: Session, guest: GuestConfig, program: str) -> tuple[int, int]:
    """Return begin and end of the updates of an undisturbed run. Virtual time is the same in every run."""
    job = script_job(f"{program} --engine snapshot {OPTIONS} --marks")
    outcome = drive(session.executor.run(GuestSpec(guest, job)))
    assert outcome.outcome == "ok", outcome.stderr.decode() + outcome.console[-500:]
    roi = outcome.rois[-1]
    return int(roi["begin-ps"]), int(roi["end-ps"])


async def cut_off(session: Session, guest: GuestConfig, program: str, at_ps: int, folder: Path) -> int:
    """Cut the power at this time and return the last mark; the media are in the folder."""
    folder.mkdir(parents=True)
    update = script_job(f"{program} --engine snapshot {OPTIONS} --marks")
    cut = await session.executor.run(GuestSpec(guest, update, PowerCut(at_ps=at_ps), folder))
    assert cut.outcome == "power-cut", f"{cut.outcome}: {cut.stderr.decode()} {cut.console[-500:]}"
    assert cut.power_cut is not None
    return int(cut.power_cut["last-mark"])


def recoveries(program: str, guest: GuestConfig, executor: GuestExecutor, folder: Path) -> Guests:
    """Return copies of booted guests; each gets the media of one cut before it mounts them."""
    check = f'>"$TESTBED_RESULT"; {program} --engine snapshot {OPTIONS} --verify'
    plan = Plan(name="cuts", summary="", crash=CrashSection(workload="true", check=check))
    return Guests(plan, guest, Programs({}, {}, ()), executor, folder)


async def crash_all(session: Session, guest: GuestConfig, program: str, times: list[int], home: Path) -> list[Crash]:
    slots = asyncio.Semaphore(2)
    folders = [home / str(at_ps) for at_ps in times]

    async def one(at_ps: int, folder: Path) -> int:
        async with slots:
            return await cut_off(session, guest, program, at_ps, folder)

    async def recover(guests: Guests, at_ps: int, folder: Path, last_mark: int) -> Crash:
        lines = changed_lines(*(home / "media.raw" for home in (folders[0], folder)))
        after = await guests.judge(folders[0], lines, last_mark)
        assert after.rows, f"{after.outcome}: {after.stderr.decode()} {after.error} {after.console[-500:]}"
        row = after.rows[-1]
        return Crash(at_ps, last_mark, row["verified"], row["commits"], row["problem"])

    marks = await asyncio.gather(*map(one, times, folders))
    async with boots.shared(session.qemu, 1) as shared:  # a second copy at a time would cost another boot
        guests = recoveries(program, guest, shared, home)
        found = [await recover(guests, *cut) for cut in zip(times, folders, marks, strict=True)]
    for folder in folders:
        shutil.rmtree(folder)
    return found


def seeded_times_ps(begin_ps: int, end_ps: int, count: int) -> list[int]:
    draw = random.Random(SEED)
    return [draw.randrange(begin_ps, end_ps) for _ in range(count)]


@pytest.mark.parametrize("cuts", [CUTS, pytest.param(20, marks=pytest.mark.by_hand)])
def test_a_power_cut_at_any_instant_loses_no_commit(
    session: Session, copying: Session, quick_guest: GuestConfig, tmp_path: Path, cuts: int
) -> None:
    begin_ps, end_ps = update_span_ps(copying, quick_guest, PROGRAMS["sound"])
    times = seeded_times_ps(begin_ps, end_ps, cuts)
    crashes = drive(crash_all(session, quick_guest, PROGRAMS["sound"], times, tmp_path))
    print(f"seed {SEED}: {len(crashes)} cuts")
    assert [crash for crash in crashes if not crash.ok] == []
    assert sum(crash.last_mark > 0 for crash in crashes) > cuts // 2, "the cuts must hit the updates"


@pytest.mark.by_hand  # the native explorers find it in the gate
def test_without_the_log_flush_the_same_test_fails(
    session: Session, copying: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    begin_ps, end_ps = update_span_ps(copying, quick_guest, PROGRAMS["broken"])
    times = seeded_times_ps(begin_ps, end_ps, CUTS)
    for at in range(0, CUTS, 2):
        batch = crash_all(session, quick_guest, PROGRAMS["broken"], times[at : at + 2], tmp_path / str(at))
        if any(not crash.ok for crash in drive(batch)):
            return
    pytest.fail(f"{CUTS} power cuts did not expose the missing log flush")


# Enough updates to outlast the polling of a shell that shares the only CPU with them.
KILL_OPERATIONS = 200_000
KILL_OPTIONS = OPTIONS.replace("--operations 3000", f"--operations {KILL_OPERATIONS}")
KILL_SCRIPT = """
env -u TESTBED_RESULT kv-{engine} --engine {engine} {options} --acknowledge /run/acknowledged > /dev/null &
while [ ! -s /run/acknowledged ] || [ "$(od -An -tu8 -N8 /run/acknowledged)" -lt {after} ]; do :; done
kill -9 $!
wait $!
od -An -tu8 -N8 /run/acknowledged
exec kv-{engine} --engine {engine} {options} --verify
"""


@pytest.mark.parametrize(
    ("engine", "file_system", "after"),
    [
        ("snapshot", "ext4-dax", 1),
        pytest.param("snapshot", "ext4-dax", 60_000, marks=pytest.mark.by_hand),
        ("famus-snap", "xfs-dax", 5),
    ],
)
def test_kill_9_in_the_middle_of_updates(
    copying: Session, quick_guest: GuestConfig, engine: str, file_system: FileSystem, after: int
) -> None:
    job = script_job(KILL_SCRIPT.format(engine=engine, options=KILL_OPTIONS, after=after))
    outcome = drive(copying.executor.run(GuestSpec(replace(quick_guest, file_system=file_system), job)))
    assert outcome.rows, f"{outcome.outcome}: {outcome.stderr.decode()} {outcome.console[-500:]}"
    row, acknowledged = outcome.rows[-1], int(outcome.stdout.split()[0])
    assert row["verified"], row["problem"]
    assert after <= acknowledged <= row["commits"] <= acknowledged + 1
    assert row["commits"] < KILL_OPERATIONS, "the kill must come before the end"
