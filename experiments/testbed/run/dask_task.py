# SPDX-License-Identifier: BSD-3-Clause
"""One guest as a Dask task: the data for a worker, and the code with which the worker runs the guest."""

import asyncio
import socket
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import Worker, get_worker

from .. import scratch
from ..build.cache import Cache
from ..errors import RunFailed, TestbedError
from ..guest.boots import Boots, SharedBoots
from ..guest.executor import GuestExecutor, GuestOutcome, GuestSpec, QemuExecutor
from ..guest.session import images
from ..paths import cache_root
from ..program import packages
from .errand import Begin, Errand, media_digest

EXECUTOR = "testbed"  # the name under which a worker holds an executor that it has received
BOOTS = "testbed-boots"  # the name for its booted guests
MEDIA = "testbed-media"  # the name for the media that it has made
MEDIA_MAX = 8  # the most recently requested media are kept
LOOK_S = 0.2  # how often a worker checks whether its run is still wanted


class Refused(RunFailed):
    """A worker cannot make the run: its host lacks a part that the run needs, or would run a different guest."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(address, why)
        self.address, self.why = address, why


@dataclass(frozen=True)
class Media:
    """Media with which guests begin, in a folder that is removed when `stack` is closed."""

    folder: Path
    stack: ExitStack


@dataclass(frozen=True)
class Task:
    """All data that a worker needs for a run."""

    errand: Errand
    keys: dict[str, str]  # of the components
    digest: str  # the errand's, as the client computes it
    topic: str  # the client's topic, on which the worker reports the guest's start
    turn: int  # the position among the client's runs, which start in this order
    attempt: int = 1

    @property
    def key(self) -> str:
        """The task's name on the cluster, unique over all clients and runs."""
        return f"{self.errand.label}-{self.digest[:16]}-{self.topic}-{self.turn}.{self.attempt}"


async def run_task(task: Task) -> GuestOutcome:
    """Run the task's guest on this worker. When the task is cancelled, its guest ends, too."""
    worker = get_worker()
    executor: GuestExecutor = worker.extensions.get(EXECUTOR) or await _executor_for(task, worker)
    worker.log_event(task.topic, {"key": task.key, "worker": worker.address})
    guest = asyncio.ensure_future(_run(executor, task.errand, worker))
    try:
        while not (await asyncio.wait({guest}, timeout=LOOK_S))[0]:
            state = worker.state.tasks.get(task.key)  # Dask itself never stops a coroutine
            if state is None or state.state == "cancelled":
                break
    finally:
        guest.cancel()
        await asyncio.wait({guest})
    return guest.result()


async def _run(executor: GuestExecutor, errand: Errand, worker: Worker) -> GuestOutcome:
    try:
        home = await _media(executor, errand, worker) if errand.begin else None
        return await executor.run(replace(errand.spec, media_folder=home))
    except Refused:
        raise
    except RunFailed as error:
        raise RunFailed(f"{errand.label}, on {socket.gethostname()}: {error}") from error


async def _media(executor: GuestExecutor, errand: Errand, worker: Worker) -> Path:
    """The folder of the media with which the guest begins. The first caller on this worker makes it for all."""
    assert errand.begin
    made: dict[str, asyncio.Task[Media]] = worker.extensions.setdefault(MEDIA, {})
    digest = errand.begin.digest
    making = made.pop(digest, None)
    if not making or (making.done() and (making.cancelled() or making.exception())):
        making = asyncio.create_task(_make_media(executor, errand, errand.begin, worker.address))
    made[digest] = making
    for old in [old for old in list(made)[:-MEDIA_MAX] if made[old].done()]:
        gone = made.pop(old)
        if not gone.cancelled() and not gone.exception():
            await asyncio.to_thread(gone.result().stack.close)
    return (await asyncio.shield(making)).folder


async def _make_media(executor: GuestExecutor, errand: Errand, begin: Begin, address: str) -> Media:
    with ExitStack() as stack:
        folder = stack.enter_context(scratch.folder("media"))
        outcome = await executor.run(GuestSpec(errand.spec.guest, begin.job, media_folder=folder))
        if outcome.outcome == "ok" and await asyncio.to_thread(media_digest, folder) == begin.digest:
            return Media(folder, stack.pop_all())
    why = "leaves other media" if outcome.outcome == "ok" else f"fails ({outcome.outcome}) {outcome.error}".strip()
    raise Refused(address, f"cannot prepare {errand.origin}: its setup {why}")


async def _executor_for(task: Task, worker: Worker) -> SharedBoots:
    """An executor from this host's cache, with the run's packages. Raises Refused if host and client differ."""
    address, errand = worker.address, task.errand
    if lacking := lacks(task.keys):
        raise Refused(address, lacking)
    if errand.digest(task.keys) != task.digest:
        raise Refused(address, "has another version of the testbed's sources; check out the client's")
    if errand.packages:
        try:
            await asyncio.to_thread(packages.build, errand.packages)  # takes minutes, while other runs go on
        except TestbedError as error:
            raise Refused(address, f"cannot get the Debian packages of {errand.origin}: {error}") from error
    cache = Cache(cache_root())
    executor = QemuExecutor(images({name: cache.path(name, key) for name, key in _needed(task.keys).items()}))
    return SharedBoots(executor, worker.extensions.setdefault(BOOTS, Boots(worker.state.nthreads)))


def lacks(keys: dict[str, str]) -> str:
    """A clause about the components with these keys that this host lacks, with the remedy; empty if it lacks none."""
    cache = Cache(cache_root())
    missing = [cache.path(name, key).name for name, key in sorted(_needed(keys).items()) if not cache.get(name, key)]
    if not missing:
        return ""
    where = f"{socket.gethostname()}:{cache.root}"
    return f"lacks {', '.join(missing)} in {where}; copy them there or run `testbed build` there from the same sources"


def _needed(keys: dict[str, str]) -> dict[str, str]:
    """The components that a guest starts from; the build root only serves to build them."""
    return {name: key for name, key in keys.items() if name != "buildroot"}
