# SPDX-License-Identifier: BSD-3-Clause
"""Records a workload, makes each state that a power cut can leave of it, and has recovery and check judge them."""

import asyncio
import itertools
import mmap
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from .. import scratch
from ..errors import RunFailed, TestbedError
from ..guest import boots
from ..guest.executor import GuestExecutor, GuestOutcome, GuestSpec, QemuExecutor, device_file
from ..manifest.manifest import GuestConfig
from . import journal, oracle, symbols
from .guests import Guests
from .journal import LINE_BYTES, Journal
from .oracle import References
from .plan import Plan, Programs
from .report import Detail, Report, Violation, operations, state_id
from .states import Counts, Place, State, explore, media_image, volatile_bytes

SAID_MAX = 200  # characters of what a check said
COMPARED_BYTES = 2**20  # of media, at a time

Progress = Callable[[int, int, int], None]  # states judged, of how many, violations


@dataclass(frozen=True)
class Recorded:
    """A workload that was recorded: where it began, and all that a power cut can leave of it."""

    guests: Guests
    run: Journal
    begin: Path  # the media
    states: list[State]
    counts: Counts
    references: References | None  # of an oracle that compares


@dataclass(frozen=True)
class Found:
    """A state that was asked for by its name."""

    name: str
    lost: dict[Place, tuple[str, ...]]  # the stores that each line lacks
    detail: Detail


@dataclass(frozen=True)
class Campaign:
    plan: Plan
    origin: Path
    guest: GuestConfig
    programs: Programs
    executor: GuestExecutor
    jobs: int = 1

    async def run(self, progress: Progress = lambda *_: None) -> Report:
        """All of it; TestbedError if the manifest's commands cannot tell anything."""
        async with self._guests() as guests:
            recorded = await self._record(guests)
            violations = await self._judge_all(recorded, progress)
            named = await self._named(violations)
            rows = operations(recorded.run, recorded.states, named, self.plan.crash.operations)
            return Report(recorded.counts, named, rows)

    async def one(self, wanted: str, use: Callable[[Found, Path], None]) -> None:
        """The state of this name, judged again; its media, as the power cut left them, are there while it is used."""
        async with self._guests() as guests:
            recorded = await self._record(guests)
            found = [state for state in recorded.states if state_id(state).startswith(wanted)]
            if len(found) != 1:
                raise TestbedError(
                    f"{self.origin}: {len(found)} states are named {wanted}; the report of a whole test names them"
                )
            state = found[0]
            outcome = await guests.judge(recorded.begin, state.lines, state.point.mark)
            home = guests.folder / "state"
            write_state(recorded.run, state, recorded.begin, home)
            pcs = {place: [recorded.run.records[index].pc for index in lost] for place, lost in state.lost.items()}
            names = await self._names(set(itertools.chain(*pcs.values())))
            lost = {place: tuple(dict.fromkeys(names[pc] for pc in lost)) for place, lost in pcs.items()}
            use(Found(state_id(state), lost, self._detail(recorded, state, outcome)), home)

    @asynccontextmanager
    async def _guests(self) -> AsyncIterator[Guests]:
        """The guests, and room for what they leave; both are gone afterwards."""
        with scratch.folder("crash") as folder:
            guests = Guests(self.plan, self.guest, self.programs, self.executor, folder)
            if not isinstance(self.executor, QemuExecutor):
                yield guests
                return
            async with boots.shared(self.executor, self.jobs) as executor:
                yield replace(guests, executor=executor)

    async def _record(self, guests: Guests) -> Recorded:
        prepared, ended = guests.folder / "prepared", guests.folder / "recorded"
        prepared.mkdir()
        self._must("setup", await guests.run(self.plan.crash.setup or "true", prepared))
        copy(prepared, ended)
        path = guests.folder / "run.journal"
        self._must("workload", await guests.run(self.plan.crash.workload, ended, record=path))
        run = journal.read(path)
        marks = self._marks(run)
        references = await self._references(guests, run, prepared, marks) if self.plan.compares() else None
        whole = await guests.judge(prepared, left(run, prepared, ended), marks[-1])
        self._must("check", whole, "on what the whole run leaves")
        if references and whole.stdout != references.dumps[marks[-1]]:
            raise TestbedError(
                f"{self.origin}: key 'crash.dump': what the whole run leaves is not what it leaves if it is stopped at "
                f"its last mark, so nothing can be compared; the dump must print no times, and the last mark must come "
                f"last:\n{references.fault(marks[-1], whole.stdout)}"
            )
        counts = Counts()
        image = media_image(run, [prepared / device_file("media", 0)])
        states = list(explore(run, image, self.plan.bounds(), marked=True, counts=counts))
        if len(states) < 2:
            raise TestbedError(
                f"{self.origin}: there is nothing to explore: no store to /pmem between two marks of the workload"
            )
        return Recorded(guests, run, prepared, states, counts, references)

    def _marks(self, run: Journal) -> list[int]:
        passed = oracle.passed(run)
        if len(passed) < 2:
            raise TestbedError(
                f"{self.origin}: key 'crash.workload': it passes {len(passed)} marks, and states are of points between "
                "two; call testbed_mark() of testbed_roi.h before the first operation and after each"
            )
        if self.plan.compares() and passed != sorted(passed):
            raise TestbedError(
                f"{self.origin}: key 'crash.workload': the numbers of its marks do not ascend, and an oracle that "
                "compares knows states by them"
            )
        return passed

    async def _references(self, guests: Guests, run: Journal, begin: Path, marks: list[int]) -> References:
        """Of each mark the dump of a workload that was stopped there, after a clean end of its guest."""
        dumps = {}
        for mark in dict.fromkeys(marks):
            home = guests.folder / f"mark-{mark}"
            copy(begin, home)
            self._must("workload", await guests.run(oracle.stopped_at(self.plan.crash.workload, mark), home), "alone")
            outcome = await guests.judge(begin, left(run, begin, home), mark)
            self._must("check", outcome, f"on what the workload leaves that is stopped at mark {mark}")
            dumps[mark] = outcome.stdout
            remove(home)
        return References(dumps, self.plan.crash.oracle == "prefix")

    def _must(self, what: str, outcome: GuestOutcome, when: str = "") -> None:
        if outcome.outcome != "ok":
            place = f"{self.origin}: key 'crash.{what}': "
            raise TestbedError(f"{place}it fails{when and ' '}{when} ({outcome.outcome}): {said(outcome)}")

    async def _judge_all(self, recorded: Recorded, progress: Progress) -> list[Violation]:
        slots, judged, found = asyncio.Semaphore(self.jobs), 0, 0

        async def judge(state: State) -> Violation | None:
            nonlocal judged, found
            async with slots:
                outcome = await recorded.guests.judge(recorded.begin, state.lines, state.point.mark)
            violation = self._violation(recorded, state, outcome)
            judged += 1
            found += violation is not None
            progress(judged, len(recorded.states), found)
            return violation

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(judge(state)) for state in recorded.states]
        return [violation for task in tasks if (violation := task.result())]

    def _violation(self, recorded: Recorded, state: State, outcome: GuestOutcome) -> Violation | None:
        found = self._detail(recorded, state, outcome)
        if found.outcome == "ok":
            return None
        stores = sorted({index for lost in state.lost.values() for index in lost})
        pcs = tuple(dict.fromkeys(recorded.run.records[index].pc for index in stores))
        mark, lost = state.point.mark or 0, tuple(state.lost)
        cut_pc = recorded.run.records[state.point.record].pc
        return Violation(
            state_id(state), mark, lost, (), found.outcome, found.said, text=found.text, pcs=pcs, cut_pc=cut_pc
        )

    def _detail(self, recorded: Recorded, state: State, outcome: GuestOutcome) -> Detail:
        """What recovery, check and oracle say of a state."""
        if outcome.outcome != "ok":
            if not outcome.console:
                raise RunFailed(f"a guest did not start: {said(outcome)}")
            text = (outcome.stderr if outcome.exit_status is not None else outcome.console.encode()).decode(
                errors="replace"
            )
            return Detail(outcome.outcome, said(outcome), "\n".join(text.strip().splitlines()[-oracle.DETAIL_LINES :]))
        difference = recorded.references.fault(state.point.mark or 0, outcome.stdout) if recorded.references else ""
        if difference:
            return Detail("differs", oracle.first_change(difference)[:SAID_MAX], difference)
        return Detail("ok", "", outcome.stderr.decode(errors="replace"))

    async def _named(self, violations: list[Violation]) -> list[Violation]:
        names = await self._names({pc for violation in violations for pc in (*violation.pcs, violation.cut_pc)})
        return [
            replace(v, stores=tuple(dict.fromkeys(names[pc] for pc in v.pcs)), cut=names[v.cut_pc]) for v in violations
        ]

    async def _names(self, pcs: set[int]) -> dict[int, str]:
        """Functions and lines of instructions; a guest is asked for its kernel's if there is need."""
        names = {pc: self.programs.symbol(pc) for pc in pcs}
        asked = sorted(filter(symbols.of_kernel, pcs))
        if asked:
            names |= symbols.read((await self.executor.run(GuestSpec(self.guest, symbols.job(asked)))).stdout)
        return names


def said(outcome: GuestOutcome) -> str:
    """The last line of what a guest complained of."""
    lines = (outcome.stderr.decode(errors="replace").strip() or outcome.error or outcome.console.strip()).splitlines()
    return lines[-1][:SAID_MAX] if lines else "it says nothing"


def copy(media: Path, to: Path) -> None:
    """The content of the devices, without what a guest left beside it."""
    to.mkdir()
    for kind in ("media", "lsa"):
        name = device_file(kind, 0)
        subprocess.run(["cp", media / name, to / name], check=True)


def remove(media: Path) -> None:
    for path in media.iterdir():
        path.unlink()
    media.rmdir()


def write_state(run: Journal, state: State, prepared: Path, to: Path) -> None:
    """Media as the power cut leaves them."""
    copy(prepared, to)
    with (to / device_file("media", 0)).open("r+b") as media:
        for place, content in state.lines.items():
            media.seek(place.dpa - volatile_bytes(run, place.device))
            media.write(content)


def left(run: Journal, begin: Path, home: Path) -> Mapping[Place, bytes]:
    """The lines that a guest has left otherwise than they were."""
    name, lines, first = device_file("media", 0), {}, volatile_bytes(run, 0)
    size = int(run.parameters["device0.capacity"]) - first  # behind it is what the device keeps of itself
    with (begin / name).open("rb") as before, (home / name).open("rb") as after:
        old = mmap.mmap(before.fileno(), 0, access=mmap.ACCESS_READ)
        new = mmap.mmap(after.fileno(), 0, access=mmap.ACCESS_READ)
        for at in range(0, min(len(old), size), COMPARED_BYTES):
            if old[at : at + COMPARED_BYTES] != new[at : at + COMPARED_BYTES]:
                for line in range(at, min(at + COMPARED_BYTES, len(old), size), LINE_BYTES):
                    if old[line : line + LINE_BYTES] != new[line : line + LINE_BYTES]:
                        lines[Place(0, line + first)] = new[line : line + LINE_BYTES]
    return lines
