# SPDX-License-Identifier: BSD-3-Clause
"""Stores of two CPUs in flight at once: power cuts leave the states that one order of the two threads can leave."""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigs.guest.guest_rig import RIG_PROGRAMS
from rigs.guest.vcpus_rig import with_cpus
from testbed.crash import plan as plans
from testbed.crash.campaign import Campaign, Recorded
from testbed.crash.journal import Kind
from testbed.crash.judging import Finding, Judging
from testbed.crash.plan import CrashSection, Plan
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

# The steps of each thread of tests/rigs/programs/crash_cores.c between marks 0 and 1. A store: line, word, value.
Step = tuple[str, str, int, int]
THREADS: tuple[list[Step], list[Step]] = (
    [("store", "x", 0, 1), ("flush", "x", 0, 0), ("store", "y", 0, 1), ("store", "x", 0, 2)],
    [("store", "x", 1, 1), ("store", "y", 1, 1), ("store", "x", 1, 2), ("flush", "y", 0, 0), ("fence", "", 0, 0)],
)
Contents = tuple[int, int, int, int]  # x[0], x[1], y[0], y[1]
States = dict[int, set[Contents]]  # by mark


def orders() -> Iterator[list[tuple[int, Step]]]:
    """Yield every order of the two threads' steps, each step with its thread."""
    count = sum(map(len, THREADS))
    for of_first in itertools.combinations(range(count), len(THREADS[0])):
        steps = [iter(thread) for thread in THREADS]
        yield [(thread, next(steps[thread])) for thread in (int(n not in of_first) for n in range(count))]


def machine(order: list[tuple[int, Step]]) -> States:
    """A line may hold any content since its last durable one; a fence makes its thread's flushed lines durable."""
    versions = {"x": [(0, 0)], "y": [(0, 0)]}
    flushed: dict[tuple[int, str], tuple[int, int]] = {}
    found: States = defaultdict(set)

    def cut(mark: int) -> None:
        found[mark] |= {(*x, *y) for x in versions["x"] for y in versions["y"]}

    for thread, (what, line, word, value) in order:
        if what == "store":
            a, b = versions[line][-1]
            versions[line].append((value, b) if word == 0 else (a, value))
        if what == "flush":
            flushed[thread, line] = versions[line][-1]
        if what == "fence":
            cut(0)
            for (of, at), content in flushed.items():
                if of == thread:
                    versions[at] = versions[at][versions[at].index(content) :]
    for mark in range(3):
        cut(mark)
    return found


def recorded_and_judged(session: Session, guest: GuestConfig, folder: Path) -> tuple[Recorded, Judging, list[Finding]]:
    program = "crash_cores {} /pmem/lines"
    crash = CrashSection(
        sources=["crash_cores.c"],
        setup=f"{program.format('make')}; sync",
        workload=program.format("run"),
        check=program.format("dump"),
    )
    origin, plan = RIG_PROGRAMS / "cores.toml", Plan(name="cores", summary="", crash=crash)
    campaign = Campaign(plan, origin, guest, plans.programs(plan, origin, folder), session)

    async def run() -> tuple[Recorded, Judging, list[Finding]]:
        async with campaign.guests() as guests:
            recorded = await campaign.record(guests)
            judging = campaign.judging(recorded)
            return recorded, judging, await judging.findings(lambda *_: None)

    return drive(run())


def test_the_states_are_those_of_some_order_of_the_two_threads(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    recorded, judging, findings = recorded_and_judged(session, with_cpus(quick_guest, 2), tmp_path)
    records = recorded.run.records
    first, last = (n for n, r in enumerate(records) if r.kind == Kind.MARK and r.value in (0, 1))
    cores = [record.core for record in itertools.islice(records, first, last) if record.kind == Kind.STORE]
    assert len(cores) == 6 and cores != sorted(cores) != cores[::-1], "the threads store in turns"
    assert judging.counts.points_in_part == 0
    found: States = defaultdict(set)
    for finding in findings:
        words = finding.detail.text.split()
        found[finding.state.point.mark or 0].add((int(words[0]), int(words[1]), int(words[2]), int(words[3])))
    assert found in [machine(order) for order in orders()]
