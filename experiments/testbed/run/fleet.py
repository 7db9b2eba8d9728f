# SPDX-License-Identifier: BSD-3-Clause
"""The workers on which guests run: a Dask cluster, in this process or elsewhere.

The cluster in this process is a scheduler and one worker over queues. It starts in 50 ms, while a cluster of worker
processes takes two seconds, and Ctrl-C reaches all parts at once. A cluster elsewhere takes the same tasks.
"""

import asyncio
import logging
import warnings
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import Client, Scheduler, Worker
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from .. import scratch
from ..errors import TestbedError
from ..guest import boots, own_archives
from ..guest.capacity import Capacity, needs
from ..guest.executor import GuestExecutor, GuestOutcome, QemuExecutor
from ..manifest.guest_config import GuestConfig
from . import trust
from .dask_task import EXECUTOR, Refused, Task, lacks, run_task
from .errand import Errand
from .worker import CONNECT_S, NO_PAGES, check_reachable, unreachable

WATCH_S = 2.0  # how often a run that is limited to some hosts checks that one of them is left
STARTS_MAX = 2  # a run is started once more if its guest or its worker is lost

Say = Callable[[str], None]


@dataclass
class Course:
    """The history of a run."""

    started: Callable[[], None]
    task: Task
    future: Any = None
    hosts: list[str] = field(default_factory=list)  # that started the run
    lost: int = 0

    @property
    def is_spent(self) -> bool:
        return max(self.lost, len(self.hosts)) >= STARTS_MAX


class Fleet:
    """Takes runs and sends each to a worker that has room for it."""

    def __init__(self, client: Client, keys: dict[str, str], say: Say, here: Capacity | None) -> None:
        self._client, self._keys, self._say, self._here = client, keys, say, here
        self._topic = f"testbed-{client.id}"
        self._courses: dict[str, Course] = {}
        self._refusing: set[str] = set()
        self._turns = 0
        client.subscribe_topic(self._topic, self._on_start)

    async def run(self, errand: Errand, started: Callable[[], None]) -> GuestOutcome:
        """The outcome of one guest. A lost guest is started once more, on another host if possible."""
        self._turns += 1
        keys = self._keys | own_archives.identity(errand.workloads)
        course = Course(started, Task(errand, keys, errand.digest(keys), self._topic, self._turns))
        while True:
            outcome = await self._attempt(course)
            if outcome and outcome.outcome != "lost":
                return outcome
            if outcome:
                course.lost += 1
                if course.is_spent:
                    return outcome
            course.task = replace(course.task, attempt=course.task.attempt + 1)

    async def _attempt(self, course: Course) -> GuestOutcome | None:
        """The outcome of one task; None if its host refused it, or if the hosts to which it is limited are gone."""
        hosts = await self._hosts_for(course)
        task = course.task
        self._courses[task.key] = course
        course.future = self._client.submit(
            run_task,
            task,
            key=task.key,
            pure=False,
            priority=-task.turn,
            resources=self._needs(task.errand.spec.guest),
            workers=sorted(hosts) or None,
        )
        answer: asyncio.Future[GuestOutcome] = asyncio.ensure_future(course.future.result())
        try:
            while not (await asyncio.wait({answer}, timeout=WATCH_S))[0]:
                if hosts and not hosts & set(await self._hosts()):
                    return None
            return answer.result()
        except Refused as error:
            await self._leave_out(_host(error.address), error.why)
            return None
        except KilledWorker:
            return GuestOutcome("lost", error="the worker was lost")
        except FutureCancelledError as error:
            if course.is_spent:
                return GuestOutcome("lost", error="the worker was lost, twice")
            raise self._gone() from error
        finally:
            del self._courses[task.key]
            answer.cancel()
            with suppress(OSError, CommClosedError):
                await course.future.cancel()

    def _needs(self, guest: GuestConfig) -> dict[str, float]:
        """The resources of a guest, limited to this host's, so that a larger guest runs alone."""
        asked = needs(guest)
        return (
            {name: min(value, self._here.resources()[name]) for name, value in asked.items()} if self._here else asked
        )

    async def _on_start(self, event: tuple[float, dict[str, str]]) -> None:
        """Handle a worker's message that a guest starts. Dask itself restarts a task if the task's worker is lost."""
        _, message = event
        course = self._courses.get(message["key"])
        if course is None:
            return
        course.hosts.append(_host(message["worker"]))
        if len(course.hosts) == 1:
            course.started()
        elif len(course.hosts) <= STARTS_MAX:
            lost, now = course.hosts[-2:]
            self._say(f"{course.task.errand.label}: lost on {lost}; running it once more, on {now}")
        else:
            await course.future.cancel()

    # ---- Hosts ----

    async def check(self, errands: Iterable[Errand]) -> int:
        """The number of guests that the workers take at a time. Waits for a worker; refuses runs that none can take."""
        workers = await self._workers()
        if not workers:
            self._say("no worker has joined yet; waiting for one: start `testbed worker ADDRESS` on a host")
        while not workers:
            await asyncio.sleep(WATCH_S / 2)
            workers = await self._workers()
        if not any("guest" in worker["resources"] for worker in workers.values()):
            raise TestbedError("no worker declares the resources guest and memory_mib; start them by `testbed worker`")
        room_mib = max(worker["resources"].get("memory_mib", 0) for worker in workers.values())
        for errand in errands:
            if self._needs(errand.spec.guest)["memory_mib"] > room_mib:
                need_mib = needs(errand.spec.guest)["memory_mib"]
                raise TestbedError(
                    f"{errand.origin}: key 'guest.memory': run {errand.label} needs {need_mib} MiB in all and the "
                    f"largest worker has {room_mib:.0f} MiB; lower it or start a larger worker"
                )
        if not self._here:
            for address, lacking in (await _lacking(self._client, self._keys)).items():
                if lacking:
                    await self._leave_out(_host(address), lacking)
        fit = (worker for at, worker in workers.items() if _host(at) not in self._refusing)
        return sum(int(worker["resources"].get("guest", 0)) for worker in fit)

    async def watch(self) -> None:
        """Report the hosts that join and leave, until cancelled."""
        known = set(await self._hosts())
        while True:
            await asyncio.sleep(WATCH_S)
            now = set(await self._hosts())
            for host in sorted(known - now):
                self._say(f"worker {host} is gone; {len(now)} left")
            for host in sorted(now - known):
                self._say(f"worker {host} has joined")
            known = now

    async def _leave_out(self, host: str, why: str) -> None:
        if not set(await self._hosts()) - self._refusing - {host}:
            raise TestbedError(f"no worker can make these runs; {host} {why}")
        if host not in self._refusing:
            self._refusing.add(host)
            self._say(f"worker {host} is left out: it {why}")

    async def _hosts_for(self, course: Course) -> set[str]:
        """The hosts to which the run is limited; empty if any host may take it."""
        if self._here or not (self._refusing or course.hosts):
            return set()
        fit = set(await self._hosts()) - self._refusing
        return fit - set(course.hosts) or fit

    async def _hosts(self) -> list[str]:
        return [_host(address) for address in await self._workers()]

    async def _workers(self) -> dict[str, Any]:
        try:
            return dict((await self._client.scheduler.identity(n_workers=-1))["workers"])
        except (OSError, CommClosedError) as error:
            raise self._gone() from error

    def _gone(self) -> TestbedError:
        return TestbedError("the Dask scheduler went away; finished results are kept, run the command again")


def _host(address: str) -> str:
    """The host of a worker's address; the address of a worker in this process names no host."""
    return "this host" if address.startswith("inproc:") else str(urlsplit(address).hostname)


@dataclass(frozen=True)
class WorkerState:
    """One worker of a cluster; `lacking` is empty if it can take runs."""

    address: str
    guests: int
    running: int
    memory_mib: int
    lacking: str

    def cells(self) -> tuple[str, int, int, str, str]:
        return (self.address, self.guests, self.running, f"{self.memory_mib} MiB", self.lacking or "ok")

    def as_data(self) -> dict[str, Any]:
        return vars(self)


async def _lacking(client: Client, keys: dict[str, str]) -> dict[str, str]:
    """Address of each worker -> a clause about the components that it lacks."""
    answers = await client.run(lacks, keys, on_error="return")
    silent = "does not answer; it may be about to be given up"
    return {address: answer if isinstance(answer, str) else silent for address, answer in sorted(answers.items())}


async def workers(address: str, keys: dict[str, str]) -> list[WorkerState]:
    """The state of each worker of the cluster at `address`."""
    client = await connect(address)
    async with client:
        known = (await client.scheduler.identity(n_workers=-1))["workers"]
        running = await client.processing()
        lacking = await _lacking(client, keys)
    found = []
    for name, worker in sorted(known.items()):
        has = worker["resources"]
        words = lacking[name] if "guest" in has else "declares no resources; start it by `testbed worker`"
        guests, memory_mib = int(has.get("guest", 0)), int(has.get("memory_mib", 0))
        found.append(WorkerState(name, guests, min(guests, len(running.get(name, ()))), memory_mib, words))
    return found


# ---- Where they are ----


@asynccontextmanager
async def here(executor: GuestExecutor, capacity: Capacity, keys: dict[str, str], say: Say) -> AsyncIterator[Fleet]:
    """A cluster in this process with one worker, which runs guests with `executor`."""
    _quiet()
    dask.config.set({"distributed.worker.profile.enabled": False} | NO_PAGES)
    executing: AbstractAsyncContextManager[GuestExecutor] = (
        boots.shared(executor, capacity.guests) if isinstance(executor, QemuExecutor) else nullcontext(executor)
    )
    web = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # Dask serves pages on its state, on loopback only
    with scratch.folder("dask") as folder:
        async with (
            executing as shared,
            Scheduler(protocol="inproc://", **web) as scheduler,
            Worker(
                scheduler.address,
                nthreads=capacity.guests,
                resources=capacity.resources(),
                local_directory=str(folder),
                memory_limit=0,
                **web,
            ) as worker,
            Client(scheduler.address, asynchronous=True) as client,
        ):
            worker.extensions[EXECUTOR] = shared
            yield Fleet(client, keys, say, capacity)


@asynccontextmanager
async def elsewhere(address: str, keys: dict[str, str], say: Say) -> AsyncIterator[Fleet]:
    """The running cluster with its scheduler at `address`."""
    client = await connect(address)
    fleet = Fleet(client, keys, say, None)
    watch = asyncio.create_task(fleet.watch())
    try:
        yield fleet
    finally:
        watch.cancel()
        with suppress(TestbedError, asyncio.CancelledError):
            await watch
        with suppress(OSError, CommClosedError):
            await client.close()


async def connect(address: str) -> Client:
    """A client of the scheduler at `address`. Raises TestbedError within seconds if no scheduler answers."""
    there = check_reachable(address)
    _quiet()
    security = trust.security() if there.is_tls else None
    try:
        return await Client(address, asynchronous=True, timeout=CONNECT_S, security=security)
    except (OSError, ValueError) as error:
        raise unreachable(address) from error


def _quiet() -> None:
    """Silence Dask's log of lost workers, since the fleet reports them by the names of the runs."""
    for name in ("distributed", "distributed.client"):  # Dask sets a level for each
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", "Sending large graph")  # a run may include programs of many megabytes
