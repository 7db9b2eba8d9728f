# SPDX-License-Identifier: BSD-3-Clause
"""Boots once for many runs: a guest that has booted waits, and each run takes place in a copy of it.

Runs that differ only in their job boot alike, so a copy is, to the nanosecond, at the point that a guest booted for the
run alone would reach.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from .. import scratch
from ..program.job_archive import Job
from . import clock, regions
from .capacity import MEDIA_MIB_MAX, partitions_mib
from .executor import (
    JOB,
    RESULTS,
    GuestOutcome,
    GuestSpec,
    QemuExecutor,
    Rehearsed,
    Said,
    machine_for,
    read_outcome,
    read_said,
    said_bytes,
)
from .machine import End, Machine, NotStarted
from .qemu_line import WATCH_SOCKET

READS = "reads"  # in a guest's folder: the lines of the devices that the guest has read
IDLE_S = 60.0  # a booted guest that no run has used for so long ends


@dataclass
class Booted:
    """A guest that waits for jobs, and its output until then."""

    kind: GuestSpec
    machine: Machine
    folder: Path
    stack: AsyncExitStack
    said: Said
    rehearsed: tuple[bytes, ...] = ()  # the lines that each stage of its rehearsal has read
    idle_since_s: float = 0.0
    spent: bool = False  # no further copy can be made of the guest

    async def run(self, spec: GuestSpec) -> GuestOutcome:
        """Run the job in a copy and return its outcome. All copies append to the same files, one after the other."""
        assert spec.job
        job = regions.before(spec.job, spec.guest)
        (self.folder / JOB).write_bytes(job.script.encode() if spec.copy_of else job.archive())
        files = self._media(spec.copy_of) if spec.copy_of else {}
        os.utime(self.folder / WATCH_SOCKET)  # `testbed top` watches the guest with the newest socket
        before = said_bytes(self.folder)
        end = End(timed_out=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.kind.guest.timeout_s):
                end = await self.machine.run_job_in_copy(self.folder / JOB, **files)
        self.spent = end.timed_out or bool(end.gone)
        outcome = read_outcome(self.said + read_said(self.folder, before), end)
        if spec.copy_of:
            outcome.reads, outcome.rehearsed = files["reads"].read_bytes(), self.rehearsed
        return outcome

    def _media(self, copy: Rehearsed) -> dict[str, Path]:
        """The files of a rehearsed guest's copy: the lines that differ in its media, and those that the copy reads."""
        media = self.folder / "lines"
        media.write_bytes(copy.lines)
        return {"media": media, "reads": self.folder / READS}


class Boots:
    """Keeps booted guests for further runs: at most `room` of them wait; the least recently used one ends first."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._waiting: list[Booted] = []
        self._tidy: asyncio.Task[None] | None = None

    async def run(self, executor: QemuExecutor, spec: GuestSpec) -> GuestOutcome:
        """Run the guest in a copy of a booted one if possible, otherwise by the executor's run()."""
        if not may_be_copied(spec):
            return await executor.run(spec)
        begun_s = time.monotonic()
        booted = self._take(spec) or await _boot(executor, spec)
        if isinstance(booted, GuestOutcome):
            return booted
        try:
            booted.spent = True  # remains so if the run is cancelled
            outcome = await booted.run(spec)
        finally:
            if booted.spent:
                await booted.stack.aclose()
            else:
                await self._put_back(booted)
        outcome.host_seconds = time.monotonic() - begun_s
        return outcome

    def _take(self, spec: GuestSpec) -> Booted | None:
        for booted in reversed(self._waiting):
            if booted.kind == kind(spec) and booted.machine.is_alive:
                self._waiting.remove(booted)
                return booted
        return None

    async def _put_back(self, booted: Booted) -> None:
        booted.idle_since_s = time.monotonic()
        self._waiting.append(booted)
        while len(self._waiting) > self._room:
            await self._waiting.pop(0).stack.aclose()
        if self._tidy is None or self._tidy.done():
            self._tidy = asyncio.create_task(self._end_idle())

    async def _end_idle(self) -> None:
        """End guests that no run has used for IDLE_S, until no guest waits."""
        while self._waiting:
            await asyncio.sleep(max(0.0, self._waiting[0].idle_since_s + IDLE_S - time.monotonic()))
            while self._waiting and self._waiting[0].idle_since_s + IDLE_S <= time.monotonic():
                await self._waiting.pop(0).stack.aclose()

    async def close(self) -> None:
        """End all waiting guests."""
        if self._tidy:
            self._tidy.cancel()
        while self._waiting:
            await self._waiting.pop().stack.aclose()


def kind(spec: GuestSpec) -> GuestSpec:
    """The guest before it has its job: equal for runs that can share a boot."""
    job = Job("", packages=spec.job.packages, workloads=spec.job.all_workloads) if spec.job else Job("")
    copy_of = replace(spec.copy_of, lines=b"") if spec.copy_of else None
    return replace(spec, job=job, copy_of=copy_of)


def may_be_copied(spec: GuestSpec) -> bool:
    """Whether the run can take place in a copy.

    A copy keeps its media in the memory of its process. A run with large media therefore boots a separate machine: its
    media are files, and the kernel can write back their pages.
    """
    if spec.copy_of:
        return True
    alone = GuestSpec(spec.guest, spec.job, layout=spec.layout)
    return spec.job is not None and spec == alone and partitions_mib(spec.guest, "pmem") <= MEDIA_MIB_MAX


async def _boot(executor: QemuExecutor, spec: GuestSpec) -> Booted | GuestOutcome:
    """Boot a guest until it waits for its job; return its outcome if it ends before."""
    rehearsed: list[bytes] = []
    async with AsyncExitStack() as stack:
        begun_s = time.monotonic()
        folder = stack.enter_context(scratch.folder("guest"))
        booted = (spec.copy_of and spec.copy_of.booted) or clock.next_boot(spec.media_folder)
        end: End | None = End(timed_out=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(spec.guest.timeout_s):
                try:
                    machine = await stack.enter_async_context(
                        machine_for(executor.images, spec, folder, folder / RESULTS, booted, copied=True)
                    )
                    end = await machine.boot()
                    if spec.copy_of:
                        (folder / JOB).write_bytes(spec.copy_of.rehearsal.archive())
                        while not end and len(rehearsed) < spec.copy_of.stages:
                            end = await machine.rehearse(folder / JOB, reads=folder / READS)
                            rehearsed.append((folder / READS).read_bytes())
                except NotStarted as error:
                    end = End(gone=str(error))
        said = read_said(folder)
        if end:
            outcome = read_outcome(said, end)
            outcome.host_seconds = time.monotonic() - begun_s
            return outcome
        return Booted(kind(spec), machine, folder, stack.pop_all(), said, tuple(rehearsed))


@dataclass(frozen=True)
class SharedBoots:
    """A GuestExecutor that shares boots among its runs."""

    executor: QemuExecutor
    boots: Boots

    async def run(self, spec: GuestSpec) -> GuestOutcome:
        return await self.boots.run(self.executor, spec)


@asynccontextmanager
async def shared(executor: QemuExecutor, room: int) -> AsyncIterator[SharedBoots]:
    """The executor with shared boots; the booted guests end with the context."""
    boots = Boots(room)
    try:
        yield SharedBoots(executor, boots)
    finally:
        await boots.close()
