# SPDX-License-Identifier: BSD-3-Clause
"""One QEMU and its monitor. Its guest boots to where it asks for its job; a job runs there, or in a copy from there."""

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
CPU_CLOCK = 2  # which of a process's clocks: that of the scheduler, as clock_getcpuclockid() has it
STOP_S = 2.0  # how long a QEMU that is about to be killed may take to answer
COPY_BEGUN, COPY_ENDED = "CXL_SSD_COPY_BEGUN", "CXL_SSD_COPY_ENDED"

Line = Callable[[int], list[str]]  # QEMU's command line, given the file descriptor of its monitor


@dataclass
class End:
    """What the monitor saw of a guest's end. If QEMU was gone before it, only how that was: `gone`."""

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
    """QEMU ended before its monitor answered; what it says of that is in its log."""


class Machine:
    """A running QEMU. A monitor that breaks off means that QEMU, or the copy that answers for it, is gone."""

    def __init__(self, process: asyncio.subprocess.Process, qmp: QMPClient, listener: EventListener) -> None:
        self._process, self._qmp, self._listener = process, qmp, listener

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    def cpu_seconds(self) -> float:
        """What QEMU has taken of the host's CPUs, all of its threads together."""
        return time.clock_gettime(~self._process.pid << 3 | CPU_CLOCK)

    async def stop(self) -> int | None:
        """Stop the guest before QEMU is killed; its virtual time then, unless QEMU does not answer."""
        with suppress(QMPError, EOFError, TimeoutError):
            async with asyncio.timeout(STOP_S):
                await self._qmp.execute("stop")
                return int(cast(dict[str, Any], await self._qmp.execute("query-cxl-ssd"))["time-ps"])
        return None

    async def run(self, timed: bool) -> End:
        """Let a guest that has its job, or has none, run to its end; then quit."""
        try:
            await self._qmp.execute("cont")
            return await self._follow(timed)
        except (QMPError, EOFError):
            return await self._gone()

    async def boot(self) -> End | None:
        """Let the guest boot until it asks for its job. How it ended if it never does."""
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
        """Hand the booted guest a job that asks for another one, and wait for that. How it ended if it never does.

        `files` are those of the command: `media`, `reads`.
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
        """Hand the booted guest its job and follow it to its end; then quit."""
        try:
            await self._qmp.execute("cxl-ssd-job-run", {"file": str(job)})
            return await self._follow(timed=True)
        except ExecuteError as error:
            raise RunFailed(f"QEMU does not take the job: {error}") from error
        except (QMPError, EOFError):
            return await self._gone()

    async def run_job_in_copy(self, job: Path, **files: Path) -> End:
        """As run_job(), in a copy of the machine: this one is as it was afterwards.

        A copy has ended, too, when it asks for another job. `files` are those of the command: `media`, `reads`.
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
                # What it shares with this machine is not to be torn down.
                os.kill(int(cast(dict[str, Any], begun["data"])["pid"]), signal.SIGKILL)
            await self._event(COPY_ENDED)
            return end
        except (QMPError, EOFError):
            return await self._gone()

    async def _copy(self, files: dict[str, Path]) -> Message | None:
        """The event by which a copy begins, or ends before it could; None if QEMU is gone.

        A copy has no answer to the command but its event; an error is one.
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
        """What there is to know of this end. The machine quits unless it `stays`."""
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
        """The next event of one of these names; None if QEMU is gone before one."""
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
    """A QEMU before its first instruction; whatever happens, it and any copy of it are gone afterwards."""
    ours, theirs = socket.socketpair()
    with ours, theirs, log.open("wb") as file:
        # pdeathsig: even if this process is killed outright, QEMU goes with it.
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
