# SPDX-License-Identifier: BSD-3-Clause
"""Records a workload, makes each state that a power cut can leave of it, and has recovery and check judge them."""

import asyncio
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import scratch
from ..errors import RunFailed, TestbedError
from ..guest.executor import GuestExecutor, GuestOutcome, GuestSpec, device_file
from ..manifest.manifest import GuestConfig
from . import journal
from .journal import Journal, Kind
from .plan import Plan, Programs
from .states import Counts, State, explore, media_image, volatile_bytes

SAID_MAX = 200  # characters of what a check said

Progress = Callable[[int, int, int], None]  # states judged, of how many, violations


@dataclass(frozen=True)
class Violation:
    """A state on which recovery or check failed."""

    mark: int  # the last that was passed; 0 if none
    lost: tuple[tuple[int, int], ...]  # device and address of each line that has not its newest bytes
    stores: tuple[str, ...]  # where these came from, in the order of the run
    outcome: str
    said: str


@dataclass
class Report:
    counts: Counts
    violations: list[Violation] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        return {"counts": asdict(self.counts), "violations": [asdict(violation) for violation in self.violations]}

    def least(self) -> list[Violation]:
        """Of each mark and each set of stores the one that loses fewest lines; those that lose least come first."""
        found: dict[tuple[int, tuple[str, ...]], Violation] = {}
        for violation in sorted(self.violations, key=lambda v: len(v.lost)):
            found.setdefault((violation.mark, tuple(dict.fromkeys(violation.stores))), violation)
        return list(found.values())


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
            prepared, recorded = folder / "prepared", folder / "recorded"
            prepared.mkdir()
            self._must("setup", await self._guest(self.plan.crash.setup or "true", prepared))
            copy(prepared, recorded)
            path = folder / "run.journal"
            self._must("workload", await self._guest(self.plan.crash.workload, recorded, record=path))
            run = journal.read(path)
            last = self._last_mark(run)
            self._must("check", await self._judge(recorded, last), "on what the whole run leaves")
            counts = Counts()
            image = media_image(run, [prepared / device_file("media", 0)])
            states = list(explore(run, image, self.plan.bounds(), marked=True, counts=counts))
            if len(states) < 2:
                raise TestbedError(
                    f"{self.origin}: there is nothing to explore: no store to /pmem between two marks of the workload"
                )
            return await self._judge_all(run, states, prepared, Report(counts), progress)

    def _last_mark(self, run: Journal) -> int:
        marks = [record.value for record in run.records if record.kind == Kind.MARK]
        if len(marks) < 2:
            raise TestbedError(
                f"{self.origin}: key 'crash.workload': it passes {len(marks)} marks, and states are of points between "
                "two; call testbed_mark() of testbed_roi.h before the first operation and after each"
            )
        return marks[-1]

    async def _guest(
        self, lines: str, media: Path, mark: int | None = None, record: Path | None = None
    ) -> GuestOutcome:
        job = self.programs.job(lines, mark)
        return await self.executor.run(GuestSpec(self.guest, job, media_folder=media, journal=record))

    async def _judge(self, media: Path, mark: int | None) -> GuestOutcome:
        return await self._guest(f"{self.plan.crash.recover}\n{self.plan.crash.check}", media, mark)

    def _must(self, what: str, outcome: GuestOutcome, when: str = "") -> None:
        if outcome.outcome != "ok":
            place = f"{self.origin}: key 'crash.{what}': "
            raise TestbedError(f"{place}it fails{when and ' '}{when} ({outcome.outcome}): {said(outcome)}")

    async def _judge_all(
        self, run: Journal, states: list[State], prepared: Path, report: Report, progress: Progress
    ) -> Report:
        slots, judged = asyncio.Semaphore(self.jobs), 0

        async def judge(number: int, state: State) -> Violation | None:
            nonlocal judged
            async with slots:
                home = prepared.with_name(f"state-{number}")
                write_state(run, state, prepared, home)
                outcome = await self._judge(home, state.point.mark)
                remove(home)
            judged += 1
            found = self._violation(run, state, outcome)
            if found:
                report.violations.append(found)
            progress(judged, len(states), len(report.violations))
            return found

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(judge(number, state)) for number, state in enumerate(states)]
        in_order = [found for task in tasks if (found := task.result())]
        return replace(report, violations=in_order)

    def _violation(self, run: Journal, state: State, outcome: GuestOutcome) -> Violation | None:
        if outcome.outcome == "ok":
            return None
        if not outcome.console:
            raise RunFailed(f"a guest did not start: {said(outcome)}")
        stores = sorted({index for lost in state.lost.values() for index in lost})
        symbols = tuple(self.programs.symbol(run.records[index].pc) for index in stores)
        return Violation(state.point.mark or 0, tuple(state.lost), symbols, outcome.outcome, said(outcome))


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
