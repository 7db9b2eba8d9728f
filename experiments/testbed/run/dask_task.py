# SPDX-License-Identifier: BSD-3-Clause
"""One guest as a Dask task: what is sent to a worker, and what the worker does with it."""

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

EXECUTOR = "testbed"  # the name under which a worker holds an executor that it was given
BOOTS = "testbed-boots"  # that of its booted guests
MEDIA = "testbed-media"  # and that of the media that it has made
MEDIA_MAX = 8  # so many of these stay, those that were asked for last
LOOK_S = 0.2  # how often a worker looks whether its run is still wanted


class Refused(RunFailed):
    """A worker cannot make the run: its host lacks something that the run needs, or would make another run of it."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(address, why)
        self.address, self.why = address, why


@dataclass(frozen=True)
class Media:
    """What guests begin with, in a folder that goes when `stack` is closed."""

    folder: Path
    stack: ExitStack


@dataclass(frozen=True)
class Task:
    """All that a worker needs to know, as plain data."""

    errand: Errand
    keys: dict[str, str]  # of the components
    digest: str  # the errand's, as the client has it
    topic: str  # the client's: where the worker says that the guest starts
    turn: int  # of the client's runs, which start in this order
    attempt: int = 1

    @property
    def key(self) -> str:
        """The task's name on the cluster, where no other client and no other run has it."""
        return f"{self.errand.label}-{self.digest[:16]}-{self.topic}-{self.turn}.{self.attempt}"


async def run_task(task: Task) -> GuestOutcome:
    """Run the task's guest on this worker. When the task is cancelled its guest ends too."""
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
    """The folder where this worker has made what the guest begins with; of those who ask for it one makes it."""
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
    """An executor from this host's cache, if that holds what the client has; it gets the run's packages if it can."""
    address, errand = worker.address, task.errand
    if lacking := lacks(task.keys):
        raise Refused(address, lacking)
    if errand.digest(task.keys) != task.digest:
        raise Refused(address, "has another version of the testbed's sources; check out the client's")
    if errand.packages:
        try:
            await asyncio.to_thread(packages.build, errand.packages)  # minutes, in which others go on
        except TestbedError as error:
            raise Refused(address, f"cannot get the Debian packages of {errand.origin}: {error}") from error
    cache = Cache(cache_root())
    executor = QemuExecutor(images({name: cache.path(name, key) for name, key in _needed(task.keys).items()}))
    return SharedBoots(executor, worker.extensions.setdefault(BOOTS, Boots(worker.state.nthreads)))


def lacks(keys: dict[str, str]) -> str:
    """What this host lacks of the components with these keys, with the remedy; nothing if it has them all."""
    cache = Cache(cache_root())
    missing = [cache.path(name, key).name for name, key in sorted(_needed(keys).items()) if not cache.get(name, key)]
    if not missing:
        return ""
    where = f"{socket.gethostname()}:{cache.root}"
    return f"lacks {', '.join(missing)} in {where}; copy them there or run `testbed build` there from the same sources"


def _needed(keys: dict[str, str]) -> dict[str, str]:
    """The components that a guest starts from; the build root is only what those were built in."""
    return {name: key for name, key in keys.items() if name != "buildroot"}
