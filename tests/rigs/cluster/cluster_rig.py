# SPDX-License-Identifier: BSD-3-Clause
"""A Dask scheduler and worker processes on loopback addresses, each address a separate host."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Cluster:
    """A scheduler and the workers that were started for it."""

    folder: Path
    scheduler: subprocess.Popen[bytes]
    address: str
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def add(self, host: str, guests: int, *more: str, **environment: str) -> None:
        """Start a worker at that loopback address."""
        own = ["--no-nanny", "--local-directory", str(self.folder)]
        size = ["--guests", str(guests), "--memory", "8GiB", "--host", host]
        command = [sys.executable, "-m", "testbed", "worker", self.address, *size, "--", *own, *more]
        with (self.folder / f"{host}.log").open("wb") as log:
            self.workers[host] = subprocess.Popen(command, env=os.environ | environment, stdout=log, stderr=log)

    def wait_for(self, host: str) -> None:
        """Wait until that worker has joined."""
        wait_until(lambda: "Registered to:" in (self.folder / f"{host}.log").read_text())


@contextmanager
def open_cluster(folder: Path) -> Iterator[Cluster]:
    """Start a scheduler without workers; at the end, kill the scheduler and all workers."""
    file = folder / "scheduler.json"
    command = [sys.executable, "-m", "testbed", "scheduler", "--port", "0", "--", "--scheduler-file", str(file)]
    with (folder / "scheduler.log").open("wb") as log:
        scheduler = subprocess.Popen(command, stdout=log, stderr=log)
    cluster = Cluster(folder, scheduler, "")
    try:
        wait_until(lambda: "Scheduler at:" in (folder / "scheduler.log").read_text())
        wait_until(lambda: file.exists() and file.read_text().endswith("}"))
        cluster.address = file.read_text().partition('"address": "')[2].partition('"')[0]
        yield cluster
    finally:
        for process in (*cluster.workers.values(), scheduler):
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


async def watched(work: Coroutine[Any, Any, Any], look: Callable[[asyncio.Task[Any]], object]) -> Any:
    """Await that work, and call `look` with its task now and then."""
    task = asyncio.create_task(work)
    while not (await asyncio.wait({task}, timeout=0.05))[0]:
        look(task)
    return await task
