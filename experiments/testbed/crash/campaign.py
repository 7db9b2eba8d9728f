# SPDX-License-Identifier: BSD-3-Clause
"""Records a workload, makes each state that a power cut can leave of it, and has recovery and check judge them."""

import asyncio
import itertools
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from .. import scratch
from ..errors import RunFailed, TestbedError
from ..guest.executor import GuestExecutor, GuestOutcome, GuestSpec, device_file
from ..manifest.manifest import GuestConfig
from . import journal, oracle, symbols
from .journal import Journal
from .oracle import References
from .plan import Plan, Programs
from .report import Detail, Report, Violation, operations, state_id
from .states import Counts, Place, State, explore, media_image, volatile_bytes

SAID_MAX = 200  # characters of what a check said

Progress = Callable[[int, int, int], None]  # states judged, of how many, violations


@dataclass(frozen=True)
class Recorded:
    """A workload that was recorded: where it began, and all that a power cut can leave of it."""

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
        with scratch.folder("crash") as folder:
            recorded = await self._record(folder)
            violations = await self._judge_all(recorded, progress)
            named = await self._named(violations)
            rows = operations(recorded.run, recorded.states, named, self.plan.crash.operations)
            return Report(recorded.counts, named, rows)

    async def one(self, wanted: str, use: Callable[[Found, Path], None]) -> None:
        """The state of this name, judged again; its media, as the power cut left them, are there while it is used."""
        with scratch.folder("crash") as folder:
            recorded = await self._record(folder)
            found = [state for state in recorded.states if state_id(state).startswith(wanted)]
            if len(found) != 1:
                raise TestbedError(
                    f"{self.origin}: {len(found)} states are named {wanted}; the report of a whole test names them"
                )
            state = found[0]
            home, judged = folder / "state", folder / "judged"
            write_state(recorded.run, state, recorded.begin, home)
            copy(home, judged)
            outcome = await self._judge(judged, state.point.mark)
            pcs = {place: [recorded.run.records[index].pc for index in lost] for place, lost in state.lost.items()}
            names = await self._names(set(itertools.chain(*pcs.values())))
            lost = {place: tuple(dict.fromkeys(names[pc] for pc in lost)) for place, lost in pcs.items()}
            use(Found(state_id(state), lost, self._detail(recorded, state, outcome)), home)

    async def _record(self, folder: Path) -> Recorded:
        prepared, ended = folder / "prepared", folder / "recorded"
        prepared.mkdir()
        self._must("setup", await self._guest(self.plan.crash.setup or "true", prepared))
        copy(prepared, ended)
        path = folder / "run.journal"
        self._must("workload", await self._guest(self.plan.crash.workload, ended, record=path))
        run = journal.read(path)
        marks = self._marks(run)
        references = await self._references(folder, prepared, marks) if self.plan.compares() else None
        whole = await self._judge(ended, marks[-1])
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
        return Recorded(run, prepared, states, counts, references)

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

    async def _references(self, folder: Path, begin: Path, marks: list[int]) -> References:
        """Of each mark the dump of a workload that was stopped there, after a clean end of its guest."""
        dumps = {}
        for mark in dict.fromkeys(marks):
            home = folder / f"mark-{mark}"
            copy(begin, home)
            self._must("workload", await self._guest(oracle.stopped_at(self.plan.crash.workload, mark), home), "alone")
            outcome = await self._judge(home, mark)
            self._must("check", outcome, f"on what the workload leaves that is stopped at mark {mark}")
            dumps[mark] = outcome.stdout
            remove(home)
        return References(dumps, self.plan.crash.oracle == "prefix")

    async def _guest(
        self, lines: str, media: Path, mark: int | None = None, record: Path | None = None
    ) -> GuestOutcome:
        job = self.programs.job(lines, mark)
        return await self.executor.run(GuestSpec(self.guest, job, media_folder=media, journal=record))

    async def _judge(self, media: Path, mark: int | None) -> GuestOutcome:
        return await self._guest(self.plan.judging(), media, mark)

    def _must(self, what: str, outcome: GuestOutcome, when: str = "") -> None:
        if outcome.outcome != "ok":
            place = f"{self.origin}: key 'crash.{what}': "
            raise TestbedError(f"{place}it fails{when and ' '}{when} ({outcome.outcome}): {said(outcome)}")

    async def _judge_all(self, recorded: Recorded, progress: Progress) -> list[Violation]:
        slots, judged, found = asyncio.Semaphore(self.jobs), 0, 0

        async def judge(number: int, state: State) -> Violation | None:
            nonlocal judged, found
            async with slots:
                home = recorded.begin.with_name(f"state-{number}")
                write_state(recorded.run, state, recorded.begin, home)
                outcome = await self._judge(home, state.point.mark)
                remove(home)
            violation = self._violation(recorded, state, outcome)
            judged += 1
            found += violation is not None
            progress(judged, len(recorded.states), found)
            return violation

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(judge(number, state)) for number, state in enumerate(recorded.states)]
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
