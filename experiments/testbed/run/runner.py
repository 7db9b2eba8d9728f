# SPDX-License-Identifier: BSD-3-Clause
"""The data path: manifest -> runs -> guests, as many at a time as fit -> results, each written as soon as it exists."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .. import outputs
from ..errors import RunFailed, TestbedError
from ..guest import capacity, image_programs, own_modules
from ..guest.executor import GuestOutcome, QemuExecutor
from ..guest.kernel_images import check_is_here, images_with
from ..guest.session import Session
from ..manifest.render import Run
from ..replay import verdicts
from ..results import results
from ..results.host_times import HostTimes
from ..results.results import Result
from ..validation import named
from .errand import Errand
from .progress import ProgressBar, Reporter

if TYPE_CHECKING:
    from .fleet import Fleet

T = TypeVar("T")
REFUSED = "refused"  # the outcome of a run that no guest can make


@dataclass(frozen=True)
class Failure:
    """A run that gave no result: the reason, and the folder of its output."""

    run: Run
    outcome: str
    why: str
    folder: Path | None  # None: no guest was booted

    def __str__(self) -> str:
        why = f", {self.why}" if self.why else ""
        return f"{self.run.title}: {self.outcome}{why}" + (f" (see {self.folder})" if self.folder else "")


async def run_all(
    runs: list[Run],
    session: Session,
    root: Path,
    reporter: Reporter,
) -> list[Result]:
    """Every run's result, in order: loaded if it exists, else made now. Raises TestbedError if any gives none."""
    places = results.Places(root, session.keys)
    paths = [places.of(run) for run in runs]
    found = [results.load(path) if path.exists() else None for path in paths]
    for run, result in zip(runs, found, strict=True):
        if result:
            reporter.finish(run, result.outcome, cached=True)
    missing = [run for run, result in zip(runs, found, strict=True) if not result]
    made: list[Result | Failure] = []
    refused = check_before(missing, session, root) if missing else []
    for failure in refused:
        reporter.finish(failure.run, failure.outcome, cached=False)
        missing.remove(failure.run)
    if missing:
        async with open_fleet(session, reporter) as fleet:
            made = await _make(missing, session.keys, fleet, root, reporter)
    raise_failures([*refused, *(item for item in made if isinstance(item, Failure))], len(runs))
    rest = (item for item in made if isinstance(item, Result))
    return [result or next(rest) for result in found]


def raise_failures(failures: Sequence[Failure], of: int) -> None:
    """Raise one error about all failures, if any: RunFailed, or TestbedError if all were refused (faulty input)."""
    if not failures:
        return
    kind = TestbedError if all(failure.outcome == REFUSED for failure in failures) else RunFailed
    raise kind(f"{len(failures)} of {of} runs gave no result: " + "; ".join(map(str, failures)))


def check_before(runs: list[Run], session: Session, root: Path) -> list[Failure]:
    """Check for all obstacles to these runs before the first guest boots; return the runs that cannot be made."""
    results.check_room(root)
    if not isinstance(session.executor, QemuExecutor):
        return []
    image_programs.check(runs, session.images)
    for run in runs:
        if run.guest.kernel:
            with named(Path(run.origin), "guest.kernel"):
                check_is_here(run.guest.kernel, session.scheduler)
        if run.guest.modules:
            with named(Path(run.origin), "guest.modules"):
                own_modules.check(run.guest.modules, images_with(session.images, run.guest.kernel).kernel)
    said = zip(runs, verdicts.of_runs(runs, elsewhere=bool(session.scheduler)), strict=True)
    return [Failure(run, REFUSED, why, None) for run, why in said if why]


@asynccontextmanager
async def open_fleet(
    session: Session,
    reporter: Reporter,
) -> AsyncIterator["Fleet"]:
    """The cluster of the session's scheduler; a cluster in this process if the session has no scheduler."""
    from . import fleet  # takes half a second, which runs that are all hits save

    if session.scheduler:
        async with fleet.elsewhere(session.scheduler, session.keys, reporter.say) as there:
            yield there
    else:
        room = session.here or capacity.of_this_host()
        async with fleet.here(session.executor, room, session.keys, reporter.say) as local:
            yield local


async def _make(
    runs: list[Run], keys: dict[str, str], fleet: "Fleet", root: Path, reporter: Reporter
) -> list[Result | Failure]:
    """Run all of these at once, as far as there is room; store each result as soon as it exists."""

    async def one(run: Run) -> Result | Failure:
        path = results.path_for(root, run, keys)
        try:
            outcome = await fleet.run(Errand.of(run), lambda: reporter.start(run))
            reporter.finish(run, outcome.outcome, cached=False)
            if outcome.outcome == "ok":
                return results.store(path, run, keys, results.guest_data(outcome), outcome.files)
        except RunFailed as error:  # only this run failed: the others go on
            outcome = GuestOutcome("lost", error=str(error))
            reporter.finish(run, outcome.outcome, cached=False)
        return Failure(run, outcome.outcome, outcome.error, keep_failure(path, outcome))

    await fleet.check(map(Errand.of, runs))
    async with asyncio.TaskGroup() as group:
        tasks = {place: group.create_task(one(runs[place])) for place in by_boot(runs)}
    return [tasks[place].result() for place in range(len(runs))]


def by_boot(runs: Sequence[Run]) -> list[int]:
    """Return the places of the runs in an order in which those that can share a booted guest follow each other.

    Few booted guests wait (boots.py). In the order of a matrix, a run with another machine or seed may be between any
    two that could share one. A kind of guest begins at the place of its first run.
    """
    begins: dict[tuple[int, tuple[str, ...], tuple[str, ...]], int] = {}
    kinds = ((id(run.guest), run.workloads, tuple(run.job.packages)) for run in runs)  # equal machines are one object
    order = [begins.setdefault(kind, place) for place, kind in enumerate(kinds)]
    return sorted(range(len(runs)), key=order.__getitem__)


def keep_failure(path: Path, outcome: GuestOutcome) -> Path:
    """Keep the output of a run without a result, in a folder beside the path for its result."""
    folder = path.with_suffix(".failed")
    said: dict[str, str | bytes] = {
        "outcome.txt": f"{outcome.outcome}\n",
        "console.txt": outcome.console,
        "error.txt": f"{outcome.error}\n" if outcome.error else "",
        "stdout.txt": outcome.stdout,
        "stderr.txt": outcome.stderr,
        "qemu.txt": outcome.qemu,
        **{f"files/{name}": content for name, content in outcome.files.items()},
    }
    outputs.replace_folder(folder, said)
    return folder


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end. Ctrl-C and SIGTERM cancel it, so that guests end and finished results are kept.

    In a thread with a running event loop, such as a cell of a notebook, the work runs in a loop of another thread.
    """
    if asyncio._get_running_loop() is not None:
        return _drive_beside(work)
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        return _without_groups(work)

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    before = signal.getsignal(signal.SIGTERM)
    try:
        return _without_groups(cancellable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _without_groups(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except BaseExceptionGroup as group:
        raise first_error(group) from None


def _drive_beside(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in a loop of a new thread and wait; Ctrl-C cancels the work and waits for its end."""
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None
        begun.set_result((asyncio.get_running_loop(), task))
        return await work

    with ThreadPoolExecutor(1, "testbed") as pool:
        ended = pool.submit(_without_groups, cancellable())
        try:
            return ended.result()
        except KeyboardInterrupt:
            loop, task = begun.result()
            with suppress(RuntimeError):  # the loop is closed: the work has ended by itself
                loop.call_soon_threadsafe(task.cancel)
            raise


def first_error(group: BaseExceptionGroup[Any]) -> BaseException:
    """The first plain exception of a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def run_with_bar(runs: list[Run], session: Session, root: Path) -> list[Result]:
    """`run_all` with a progress bar, to its end or to Ctrl-C."""
    with ProgressBar(runs, runs[0].manifest, HostTimes(root)) as bar:
        return drive(run_all(runs, session, root, bar))
