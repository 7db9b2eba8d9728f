# SPDX-License-Identifier: BSD-3-Clause
"""One QEMU and its monitor. The guest boots until it asks for its job; a job runs in it, or in a copy made there."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from qemu.qmp import EventListener, ExecuteError, QMPClient, QMPError
from qemu.qmp.message import Message

from ..errors import RunFailed

ENDS = ("SHUTDOWN", "GUEST_PANICKED", "CXL_SSD_POWER_CUT")
ASKS = "STOP"
CPU_CLOCK = 2  # the scheduler's clock among a process's clocks, as clock_getcpuclockid() encodes it
STOP_S = 2.0  # how long a QEMU may take to answer before it is killed
COPY_BEGUN, COPY_ENDED = "CXL_SSD_COPY_BEGUN", "CXL_SSD_COPY_ENDED"

Line = Callable[[int], list[str]]  # QEMU's command line, given the file descriptor of its monitor


@dataclass
class End:
    """A guest's end as the monitor saw it. If QEMU ended first, only `gone` is set and says how."""

    gone: str = ""
    panicked: bool = False
    timed_out: bool = False
    power_cut: dict[str, Any] | None = None
    device: dict[str, Any] = field(default_factory=dict)

    @property
    def time_ps(self) -> int | None:
        """Virtual time of the end, if the monitor saw it."""
        told = (self.power_cut or self.device).get("time-ps")
        return None if told is None else int(told)


class NotStarted(RunFailed):
    """QEMU ended before its monitor answered; the reason is in QEMU's log."""


class Machine:
    """A running QEMU. A broken monitor connection means that QEMU, or the copy that answers in its place, has ended."""

    def __init__(self, process: asyncio.subprocess.Process, qmp: QMPClient, listener: EventListener) -> None:
        self._process, self._qmp, self._listener = process, qmp, listener

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    def cpu_seconds(self) -> float:
        """The host CPU time that all threads of QEMU have used together."""
        return time.clock_gettime(~self._process.pid << 3 | CPU_CLOCK)

    async def stop(self) -> int | None:
        """Stop the guest before QEMU is killed, and return its virtual time, or None if QEMU does not answer."""
        with suppress(QMPError, EOFError, TimeoutError):
            async with asyncio.timeout(STOP_S):
                await self._qmp.execute("stop")
                return int(cast(dict[str, Any], await self._qmp.execute("query-cxl-ssd"))["time-ps"])
        return None

    async def run(self, timed: bool) -> End:
        """Run a guest that already has its job, or needs no job, to its end; then quit QEMU."""
        try:
            await self._qmp.execute("cont")
            return await self._follow(timed)
        except (QMPError, EOFError):
            return await self._gone()

    async def boot(self) -> End | None:
        """Let the guest boot until it asks for its job. Return its end if it never asks."""
        try:
            await self._qmp.execute("cxl-ssd-job-await")
            await self._qmp.execute("cont")
            event = await self._event(ASKS, *ENDS)
            if event is None:
                return await self._gone()
            return None if event["event"] == ASKS else await self._ended(event, timed=True)
        except (QMPError, EOFError):
            return await self._gone()

    async def rehearse(self, job: Path, **files: Path) -> End | None:
        """Hand the booted guest a job that asks for another one, and wait for that. Return its end if it never asks.

        `files` are the optional arguments of the QMP command: `media`, `reads`.
        """
        try:
            arguments: dict[str, object] = {name: str(path) for name, path in {"file": job, **files}.items()}
            await self._qmp.execute("cxl-ssd-job-run", arguments)
            event = await self._event(ASKS, *ENDS)
            if event is None:
                return await self._gone()
            return None if event["event"] == ASKS else await self._ended(event, timed=True)
        except ExecuteError as error:
            raise RunFailed(f"QEMU does not take the job: {error}") from error
        except (QMPError, EOFError):
            return await self._gone()

    async def run_job(self, job: Path) -> End:
        """Hand the booted guest its job and follow the guest to its end; then quit QEMU."""
        try:
            await self._qmp.execute("cxl-ssd-job-run", {"file": str(job)})
            return await self._follow(timed=True)
        except ExecuteError as error:
            raise RunFailed(f"QEMU does not take the job: {error}") from error
        except (QMPError, EOFError):
            return await self._gone()

    async def run_job_in_copy(self, job: Path, **files: Path) -> End:
        """As run_job(), but in a copy of the machine; the machine itself stays in the same state.

        A copy also ends when it asks for another job. `files` are the optional arguments of the QMP command: `media`,
        `reads`.
        """
        try:
            begun = event = await self._copy({"file": job, **files})
            if begun and begun["event"] == COPY_BEGUN:
                event = await self._event(COPY_ENDED, ASKS, *ENDS)
            if begun is None or event is None:
                return await self._gone()
            if event["event"] == COPY_ENDED:
                return End(gone="the copy of QEMU that ran it ended")
            end = await self._ended(event, timed=True, stays=True)
            with suppress(ProcessLookupError):
                # A regular exit of the copy would tear down resources that it shares with this machine.
                os.kill(int(cast(dict[str, Any], begun["data"])["pid"]), signal.SIGKILL)
            await self._event(COPY_ENDED)
            return end
        except (QMPError, EOFError):
            return await self._gone()

    async def _copy(self, files: dict[str, Path]) -> Message | None:
        """The event by which a copy begins, or ends before it could begin, or None if QEMU is gone.

        QEMU answers the command only if there is an error; otherwise the event takes the place of the answer.
        """
        arguments: dict[str, object] = {name: str(path) for name, path in files.items()}
        command = asyncio.create_task(self._qmp.execute("cxl-ssd-job-run-in-copy", arguments))
        begun = asyncio.create_task(self._event(COPY_BEGUN, COPY_ENDED))
        try:
            await asyncio.wait({command, begun}, return_when=asyncio.FIRST_COMPLETED)
            if not begun.done():
                command.result()
            return await begun
        except ExecuteError as error:
            raise RunFailed(f"QEMU does not take the job: {error}") from error
        finally:
            command.cancel()
            begun.cancel()
            await asyncio.wait({command, begun})

    async def _follow(self, timed: bool) -> End:
        event = await self._event(*ENDS)
        return await self._ended(event, timed) if event else await self._gone()

    async def _ended(self, event: Message, timed: bool, stays: bool = False) -> End:
        """The end that an event reports, with the device's counters if `timed`. Quit QEMU unless it `stays`."""
        end = End(panicked=event["event"] == "GUEST_PANICKED")
        if event["event"] == "CXL_SSD_POWER_CUT":
            end.power_cut = cast(dict[str, Any], event["data"])
        if timed:
            end.device = cast(dict[str, Any], await self._qmp.execute("query-cxl-ssd"))
        if not stays:
            with suppress(QMPError, EOFError):  # QEMU may be gone before it answers
                await self._qmp.execute("quit")
            await self._process.wait()
        return end

    async def _gone(self) -> End:
        status = await self._process.wait()
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return End(gone=f"QEMU {how}")

    async def _event(self, *names: str) -> Message | None:
        """The next event with one of these names, or None if QEMU ends first."""
        gone = asyncio.create_task(self._process.wait())
        event = asyncio.create_task(self._listener.get())
        try:
            while (await asyncio.wait({event, gone}, return_when=asyncio.FIRST_COMPLETED)) and event.done():
                if event.result()["event"] in names:
                    return event.result()
                event = asyncio.create_task(self._listener.get())
            return None
        finally:
            event.cancel()
            gone.cancel()


@asynccontextmanager
async def started(line: Line, log: Path) -> AsyncIterator[Machine]:
    """A QEMU before its first instruction. When the context ends, QEMU and any copy of it are gone in every case."""
    ours, theirs = socket.socketpair()
    with ours, theirs, log.open("wb") as file:
        # pdeathsig: QEMU ends with this process, even if this process is killed.
        process = await asyncio.create_subprocess_exec(
            *("setpriv", "--pdeathsig", "KILL", "--", *line(theirs.fileno())),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        qmp, listener = QMPClient("guest"), EventListener((*ENDS, ASKS, COPY_BEGUN, COPY_ENDED))
        qmp.register_listener(listener)
        try:
            await _connect(qmp, ours, process)
            yield Machine(process, qmp, listener)
        finally:
            try:
                with suppress(QMPError, EOFError, OSError):
                    await qmp.disconnect()
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


async def _connect(qmp: QMPClient, monitor: socket.socket, process: asyncio.subprocess.Process) -> None:
    try:
        await qmp.connect(monitor)
    except QMPError as error:
        await process.wait()
        raise NotStarted("QEMU did not start") from error
