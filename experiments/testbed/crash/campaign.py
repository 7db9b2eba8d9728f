# SPDX-License-Identifier: BSD-3-Clause
"""Records a workload, makes each state that a power cut can leave of it, and judges each by recovery and check."""

import asyncio
import gc
import itertools
import mmap
import subprocess
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import scratch
from ..errors import RunFailed, TestbedError
from ..guest import boots, clock, own_archives
from ..guest.executor import GuestExecutor, GuestOutcome, GuestSpec, QemuExecutor, device_file, of_panic
from ..guest.session import Session
from ..manifest.guest_config import GuestConfig
from ..results import results
from ..run.errand import Errand
from ..run.interrupt import interruptible
from ..units import show_time
from . import journal, oracle, symbols
from .guests import REHEARSAL, Guests, pairs
from .images import Image, Lines, image_digest
from .journal import LINE_BYTES, Journal
from .judging import Finding, Judging, Progress
from .kept import Kept, Verdict, file_for
from .known import Read, digest
from .lines import Place
from .oracle import References
from .plan import Plan, Programs
from .report import Detail, Report, Violation, measured, operations, state_id
from .states import State, asked_records, explore, media_image, stored_to, volatile_bytes

if TYPE_CHECKING:
    from .spread import Spread

SAID_MAX = 200  # characters of a message in a report
OUTPUT_LINES = 10  # shown of a command that stops the whole test
COMPARED_BYTES = 2**20  # of media, compared at a time
CODE = 2**64 - 1  # in place of a device number in a copy's reads: the copy has executed code from a device


@dataclass(frozen=True)
class Recorded:
    """A recorded workload: its initial media, and the guests and references that judge its states."""

    guests: Guests
    run: Journal
    begin: Path  # the initial media
    image: Image  # of the initial media
    references: References | None  # for an oracle that compares dumps


@dataclass(frozen=True)
class Found:
    """A state that the user asked for by name."""

    name: str
    lost: dict[Place, tuple[str, ...]]  # the stores that each line lacks
    detail: Detail


@dataclass(frozen=True)
class Campaign:
    plan: Plan
    origin: Path
    guest: GuestConfig
    programs: Programs
    session: Session
    jobs: int = 1
    every: bool = False  # judge each state by itself, even where recovery reads the same
    keep: Path | None = None  # the results folder that keeps verdicts
    tell: Callable[[str], None] = lambda _: None  # prints host times of guests, and news of workers
    interrupted: Callable[[Report], None] = lambda _: None  # on Ctrl-C: gets the report so far

    async def run(self, progress: Progress = lambda *_: None) -> Report:
        """Run the whole test. TestbedError: the manifest's commands cannot judge any state."""
        async with self.guests() as guests:
            recorded = await self.record(guests)
            judging = self.judging(recorded)
            try:
                findings = await judging.findings(progress)
            except asyncio.CancelledError:
                self.interrupted(self._partial(recorded, judging))
                raise
            named = await self._named([self._violation(recorded, found) for found in findings if found.violates()])
            rows = operations(recorded.run, [found.state for found in findings], named, self.plan.crash.operations)
            self.tell(str(guests.times))
            return Report(judging.counts, named, rows, measured(found.detail for found in findings))

    def _partial(self, recorded: Recorded, judging: Judging) -> Report:
        """Report the findings up to an interruption, without booting a guest to look up kernel functions."""
        findings = list(judging.found.values())
        found = [self._violation(recorded, finding) for finding in findings if finding.violates()]
        names = {pc: self.programs.symbol(pc) for violation in found for pc in (*violation.pcs, violation.cut_pc)}
        named = [named_by(names, violation) for violation in found]
        rows = operations(recorded.run, [finding.state for finding in findings], named, self.plan.crash.operations)
        return Report(judging.counts, named, rows, measured(finding.detail for finding in findings))

    async def one(self, wanted: str, use: Callable[[Found, Path], None]) -> None:
        """Judge the state of this name again. Its media, as the power cut left them, exist while `use` runs."""
        async with self.guests() as guests:
            recorded = await self.record(guests)
            state = await self._state(recorded, wanted)
            outcome = await guests.judge(recorded.begin, state.lines, state.point.mark)
            home = guests.folder / "state"
            write_state(recorded.run, state, recorded.begin, home)
            if guests.date.booted:
                clock.keep(home, guests.date.booted)
            pcs = {place: [recorded.run.records[index].pc for index in lost] for place, lost in state.lost.items()}
            names = await self._names(set(itertools.chain(*pcs.values())))
            lost = {place: tuple(dict.fromkeys(names[pc] for pc in lost)) for place, lost in pcs.items()}
            use(Found(state_id(state), lost, self._detail(recorded, state.point.mark, outcome)), home)

    async def _state(self, recorded: Recorded, wanted: str) -> State:
        """Find a state by name among those chosen without regard to recovery's reads, else by judging all states."""
        states: Iterable[State] = explore(recorded.run, recorded.image, self.plan.bounds(), marked=True)
        found = [state for state in states if state_id(state).startswith(wanted)]
        if not found:
            findings = await self.judging(recorded).findings(lambda *_: None)
            found = [finding.state for finding in findings if state_id(finding.state).startswith(wanted)]
        if len(found) != 1:
            raise TestbedError(
                f"{self.origin}: {len(found)} states are named {wanted}; the report of a whole test names them"
            )
        return found[0]

    @asynccontextmanager
    async def guests(self) -> AsyncIterator[Guests]:
        """Provide the guests, and a folder for their files; both are removed afterwards."""
        with scratch.folder("crash") as folder, rare_collections():
            async with AsyncExitStack() as stack:
                executor, jobs = self.session.executor, self.jobs
                if isinstance(executor, QemuExecutor):
                    executor = await stack.enter_async_context(boots.shared(executor, jobs))
                if self.session.scheduler:
                    executor = spread = await stack.enter_async_context(self._spread(executor))
                    jobs = max(jobs, spread.room)
                yield Guests(self.plan, self.guest, self.programs, executor, folder, jobs)

    def _spread(self, here: GuestExecutor) -> "AbstractAsyncContextManager[Spread]":
        """Make the copies on the session's cluster."""
        from . import spread  # takes half a second, which a test without a cluster need not spend

        setup = self.programs.job(self.plan.setup())
        common = Errand(self.plan.name, str(self.origin), GuestSpec(self.guest, replace(setup, script="")))
        return spread.opened(self.session, here, common, setup, self.tell)

    async def record(self, guests: Guests) -> Recorded:
        prepared, ended = guests.folder / "prepared", guests.folder / "recorded"
        prepared.mkdir()
        self._must("setup", await guests.run(self.plan.setup(), prepared))
        copy(prepared, ended)
        path = guests.folder / "run.journal"
        self._must("workload", await guests.run(self.plan.crash.workload, ended, record=path))
        guests.date.booted = clock.next_boot(ended)
        run = await interruptible(journal.reading(path))
        marks = self._marks(run)
        references = await self._references(guests, run, prepared, marks) if self.plan.compares() else None
        whole = await guests.judge(prepared, left(run, prepared, ended), marks[-1])
        self._must("check", whole, "on the state after the whole run")
        if references and whole.stdout != references.dumps[marks[-1]]:
            raise TestbedError(
                f"{self.origin}: key 'crash.dump': the state after the whole run differs from the state after a stop "
                f"at its last mark, so nothing can be compared; the dump must print no times, and the last mark must "
                f"come last:\n{references.fault(marks[-1], whole.stdout)}"
            )
        guests.suits(whole, stored_to(run, range(len(run.records))))
        if not stored_to(run, asked_records(run, marked=True)):
            raise TestbedError(
                f"{self.origin}: there is nothing to explore: no store to /pmem between two marks of the workload"
            )
        return Recorded(guests, run, prepared, media_image(run, [prepared / device_file("media", 0)]), references)

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
        """Return for each mark the dump of a workload that was stopped there, after its guest shut down cleanly."""
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
            raise TestbedError(f"{place}it fails{when and ' '}{when} ({self._how(outcome)}):{own_output(outcome)}")

    def _how(self, outcome: GuestOutcome) -> str:
        if outcome.outcome != "timeout":
            return outcome.outcome if outcome.exit_status is None else f"exit status {outcome.exit_status}"
        limit_ps = self.plan.crash.timeout
        if outcome.is_limited and limit_ps:
            return f"timed out after {show_time(limit_ps)} of the guest's time"
        return f"timed out after {self.guest.timeout_s:g} s of host time; crash.timeout limits the guest's time"

    def judging(self, recorded: Recorded) -> Judging:
        """Return the judge of all states, with all verdicts that are already known."""
        kept = Kept(file_for(self.keep, self.plan.name, self._identity(recorded.guests)) if self.keep else None)

        async def judge(lines: Lines, mark: int | None) -> tuple[Detail, Sequence[Read]]:
            number, image = mark or 0, image_digest(lines, recorded.image).hex()
            known = kept.verdicts.get((number, image))
            if not known:
                outcome = await recorded.guests.judge(recorded.begin, lines, mark)
                detail = self._detail(recorded, mark, outcome)
                read = reads(outcome, judging.varied)
                content = ((place, lines.get(place) or recorded.image(place)) for place in read)
                known = Verdict(number, image, detail, [(place, digest(line)) for place, line in content])
                if (
                    outcome.outcome != "timeout" or outcome.is_limited
                ):  # a host-time limit depends on the host, so its verdict is not kept
                    kept.add(known)
            return known.detail, known.reads

        judging = Judging(recorded.run, recorded.image, self.plan.bounds(), judge, self.every, recorded.guests.jobs)
        for mark in {verdict.mark for verdict in kept.verdicts.values()}:
            kept.teach(judging.tree(mark), mark)
        return judging

    def _identity(self, guests: Guests) -> dict[str, Any]:
        """Return everything that can influence a verdict, beside the image and the mark.

        Paths enter by the content of their files, and the compiler's flags by the bytes of the programs.
        """
        crash = self.plan.crash.model_dump(exclude={"bounds", "operations", "sources", "modules", "files", "flags"})
        machine = results.machine_identity(self.guest, self.session.keys)
        return {
            "machine": machine,
            "crash": crash,
            "programs": self.programs.job("").identity(),
            "workloads": own_archives.identity(own_archives.workloads(self.guest, self.programs.job(""))),
            "begin": REHEARSAL,
            "date": str(guests.date.booted),
        }

    def _violation(self, recorded: Recorded, found: Finding) -> Violation:
        state, detail = found.state, found.detail
        stores = sorted({index for lost in state.lost.values() for index in lost})
        pcs = tuple(dict.fromkeys(recorded.run.records[index].pc for index in stores))
        mark, lost = state.point.mark or 0, tuple(state.lost)
        cut_pc = recorded.run.records[state.point.record].pc
        return Violation(
            state_id(state), mark, lost, (), detail.outcome, detail.said, text=detail.text, pcs=pcs, cut_pc=cut_pc
        )

    def _detail(self, recorded: Recorded, mark: int | None, outcome: GuestOutcome) -> Detail:
        """Return the verdict of recovery, check and oracle on a state. RunFailed: the guest did not start."""
        if outcome.outcome != "ok":
            if not outcome.console:
                raise RunFailed(f"a guest did not start: {said(outcome)}")
            text = outcome.console if outcome.exit_status is None else outcome.stderr.decode(errors="replace")
            lines = text.strip().splitlines()
            kept = of_panic(lines)[: oracle.DETAIL_LINES] or lines[-oracle.DETAIL_LINES :]
            told = self._how(outcome) if outcome.outcome == "timeout" else said(outcome)
            return Detail(outcome.outcome, told, "\n".join(kept))
        difference = recorded.references.fault(mark or 0, outcome.stdout) if recorded.references else ""
        if difference:
            return Detail("differs", oracle.first_change(difference)[:SAID_MAX], difference)
        return Detail("ok", "", outcome.stderr.decode(errors="replace"))

    async def _named(self, violations: list[Violation]) -> list[Violation]:
        names = await self._names({pc for violation in violations for pc in (*violation.pcs, violation.cut_pc)})
        return [named_by(names, violation) for violation in violations]

    async def _names(self, pcs: set[int]) -> dict[int, str]:
        """Name functions and lines of instructions. If any is of the kernel, a guest boots to look it up."""
        names = {pc: self.programs.symbol(pc) for pc in pcs}
        asked = sorted(filter(symbols.of_kernel, pcs))
        if asked:
            said = (await self.session.executor.run(GuestSpec(self.guest, symbols.job(asked)))).stdout
            names |= symbols.with_lines(symbols.read(said), self.guest.modules)
        return names


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let the cyclic collector run rarely meanwhile.

    The lines of a run are millions of objects, which each collection visits and none frees. With the usual thresholds
    that took about half of the CPU time of this process.
    """
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def named_by(names: Mapping[int, str], violation: Violation) -> Violation:
    stores = tuple(dict.fromkeys(names[pc] for pc in violation.pcs))
    return replace(violation, stores=stores, cut=names[violation.cut_pc])


def said(outcome: GuestOutcome) -> str:
    """Return the last line of a guest's error message, or the first line of its kernel's panic.

    If commands ended with an exit status, the console does not count: its last line may be from the boot.
    """
    stderr = outcome.stderr.decode(errors="replace").strip()
    if outcome.exit_status is not None:
        return (stderr.splitlines() or [f"exit status {outcome.exit_status}, without a message"])[-1][:SAID_MAX]
    lines = (stderr or outcome.error or outcome.console.strip()).splitlines()
    told = of_panic(lines)[:1] or lines[-1:]
    return told[0][:SAID_MAX] if told else "it says nothing"


def own_output(outcome: GuestOutcome) -> str:
    """Return the last lines of commands that ended with an exit status; without a status, the line of said()."""
    if outcome.exit_status is None:
        return f" {said(outcome)}"
    lines = outcome.stderr.decode(errors="replace").strip().splitlines()[-OUTPUT_LINES:]
    return "".join(f"\n  {line[:SAID_MAX]}" for line in lines) if len(lines) > 1 else f" {said(outcome)}"


def reads(outcome: GuestOutcome, varied: Set[Place]) -> list[Place]:
    """Return the lines that a copy has read and that differ between states, in the order of first loads.

    A copy that hit the host-time limit counts as having read all of them.
    TestbedError: the copy has executed code from the device.
    """
    found = []
    for pair in pairs(outcome.reads):
        if pair in varied:
            found.append(Place(*pair))
        elif pair[0] == CODE:
            raise TestbedError(
                "recovery or check executes a program from the device, and which lines that depends on is not seen; "
                "keep programs in 'files' or 'sources', or judge every state by itself with --every"
            )
    return found if outcome.outcome != "timeout" or outcome.is_limited else [*found, *sorted(varied - set(found))]


def copy(media: Path, to: Path) -> None:
    """Copy the content of the devices and the date of the next boot, without other files that a guest left."""
    to.mkdir()
    for kind in ("media", "lsa"):
        name = device_file(kind, 0)
        subprocess.run(["cp", media / name, to / name], check=True)
    clock.keep(to, clock.next_boot(media))


def remove(media: Path) -> None:
    for path in media.iterdir():
        path.unlink()
    media.rmdir()


def write_state(run: Journal, state: State, prepared: Path, to: Path) -> None:
    """Write the media as the power cut leaves them."""
    copy(prepared, to)
    with (to / device_file("media", 0)).open("r+b") as media:
        for place, content in state.lines.items():
            media.seek(place.dpa - volatile_bytes(run, place.device))
            media.write(content)


def left(run: Journal, begin: Path, home: Path) -> Mapping[Place, bytes]:
    """Return the lines of the media that a guest has changed."""
    name, lines, first = device_file("media", 0), {}, volatile_bytes(run, 0)
    size = int(run.parameters["device0.capacity"]) - first  # the device keeps its own data behind its capacity
    with (begin / name).open("rb") as before, (home / name).open("rb") as after:
        old = mmap.mmap(before.fileno(), 0, access=mmap.ACCESS_READ)
        new = mmap.mmap(after.fileno(), 0, access=mmap.ACCESS_READ)
        for at in range(0, min(len(old), size), COMPARED_BYTES):
            if old[at : at + COMPARED_BYTES] != new[at : at + COMPARED_BYTES]:
                for line in range(at, min(at + COMPARED_BYTES, len(old), size), LINE_BYTES):
                    if old[line : line + LINE_BYTES] != new[line : line + LINE_BYTES]:
                        lines[Place(0, line + first)] = new[line : line + LINE_BYTES]
    return lines
