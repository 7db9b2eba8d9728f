# SPDX-License-Identifier: BSD-3-Clause
"""The overhead of distribution for each run: the same runs of a guest that ends at once, with results stored as always.

The runs are called directly, over the cluster in this process, and over worker processes on loopback.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import console, scratch
from ..errors import RunFailed
from ..guest import capacity
from ..guest.capacity import Capacity
from ..guest.executor import GuestOutcome, GuestSpec
from ..guest.session import Session
from ..manifest import bases, render
from ..manifest.render import Run
from ..results import results
from ..run import worker
from ..run.dask_task import EXECUTOR
from ..run.runner import drive, run_all

WORKERS = 2
START_S = 120


class NoGuest:
    """A guest executor that ends at once."""

    async def run(self, _: GuestSpec) -> GuestOutcome:
        return GuestOutcome("ok", 0, rows=[{"metric": "none"}])


def dask_setup(dask_worker: Any) -> None:
    """Give the worker an executor without guests; `dask worker --preload testbed.studies.overhead` calls this."""
    dask_worker.extensions[EXECUTOR] = NoGuest()


class Silent:
    """A reporter that prints nothing."""

    def start(self, run: Run) -> None: ...
    def finish(self, run: Run, outcome: str, cached: bool) -> None: ...
    def say(self, text: str) -> None: ...


@dataclass(frozen=True)
class Overhead:
    """One way of running: the time for start and end, and the time for each run."""

    way: str
    start_s: float
    run_ms: float

    def cells(self) -> tuple[str, str, str]:
        return (self.way, f"{self.start_s:.2f} s", f"{self.run_ms:.2f} ms")


def measure(count: int) -> list[Overhead]:
    """Measure all three ways, with `count` runs each."""
    first = render.runs(bases.find("latency"))[0]
    runs = [replace(first, point={"n": n}, argv=("none", str(n))) for n in range(count)]
    direct = _timed("called directly", runs, _call_directly)
    here = _timed("cluster in this process (default)", runs, lambda some, root: _run(some, root, None))
    with cluster_of_processes() as address:
        there = _timed(
            f"{WORKERS} workers on loopback (--scheduler)", runs, lambda some, root: _run(some, root, address)
        )
    return [direct, here, there]


def show(found: list[Overhead]) -> None:
    console.show(
        "runs with a guest that ends at once", ("way", "start and end", "a run"), [way.cells() for way in found]
    )


def _timed(way: str, runs: list[Run], work: Callable[[list[Run], Path], None]) -> Overhead:
    """Take the time of one run alone as the way's start; the additional time of all runs is for the other runs."""
    seconds = []
    for some in (runs[:1], runs):
        with scratch.folder("overhead") as folder:
            started = time.monotonic()
            work(some, folder)
            seconds.append(time.monotonic() - started)
    return Overhead(way, seconds[0], 1000 * (seconds[1] - seconds[0]) / (len(runs) - 1))


def _call_directly(runs: list[Run], root: Path) -> None:
    async def all_of_them() -> None:
        for run in runs:
            outcome = await NoGuest().run(GuestSpec(run.guest, run.job))
            results.store(results.path_for(root, run, {}), run, {}, results.guest_data(outcome))

    drive(all_of_them())


def _run(runs: list[Run], root: Path, address: str | None) -> None:
    room = Capacity(capacity.of_this_host().guests, 2**20)
    drive(run_all(runs, Session(NoGuest(), {}, address, room), root, Silent()))


@contextmanager
def cluster_of_processes() -> Iterator[str]:
    """Provide the address of a scheduler with workers, all on loopback; they end with the context."""
    with scratch.folder("overhead") as folder:
        file = folder / "scheduler.json"
        scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        started = [_start([*scheduler, *worker.WEB, "--scheduler-file", str(file)], folder / "scheduler.log")]
        try:
            _wait(lambda: file.exists() and file.read_text().endswith("}"), started)
            address = file.read_text().partition('"address": "')[2].partition('"')[0]
            logs = [folder / f"worker-{n}.log" for n in range(WORKERS)]
            for log in logs:
                more = ["--no-nanny", "--preload", "testbed.studies.overhead", "--local-directory", str(folder)]
                started.append(_start(worker.command(address, 1, "16GiB", more), log))
            _wait(lambda: all("Registered to:" in log.read_text() for log in logs), started)
            yield address
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


def _start(command: list[str], log: Path) -> "subprocess.Popen[bytes]":
    with log.open("wb") as file:
        return subprocess.Popen(command, stdout=file, stderr=file)


def _wait(ready: Callable[[], bool], processes: list["subprocess.Popen[bytes]"]) -> None:
    deadline = time.monotonic() + START_S
    while not ready():
        if time.monotonic() > deadline or any(process.poll() is not None for process in processes):
            raise RunFailed(f"no cluster on loopback after {START_S} s")
        time.sleep(0.05)
