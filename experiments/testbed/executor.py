# SPDX-License-Identifier: BSD-3-Clause
"""Runs one guest. `GuestExecutor` is the interface; `QemuExecutor` is the real one, tests bring a mock.

A guest ends in one of six ways, and they are never mixed up:
  ok         the job ended with status 0
  failed     the job ended with another status
  panic      the guest's kernel panicked
  lost       QEMU or the guest ended without word from the job
  timeout    the host-time limit passed
  power-cut  the power was cut, as asked
"""

import asyncio
import base64
import json
import shutil
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from qemu.qmp import EventListener, QMPClient, QMPError

from . import scratch
from .errors import RunFailed, TestbedError
from .job import Job
from .manifest import GuestConfig
from .qemu_line import LSA_BYTES, ONE_DEVICE, GuestFiles, Images, Layout, PowerCut, batch_ports, command_line

END_EVENTS = ("SHUTDOWN", "GUEST_PANICKED", "CXL_SSD_POWER_CUT")


@dataclass(frozen=True)
class GuestSpec:
    """One guest to run. With a `media_folder`, the device's content is found there and stays there.

    With a `trace`, what its CPU asks of memory is captured into that file. A `helper_thread` takes a second core of the
    host and changes no result.
    """

    guest: GuestConfig
    job: Job | None  # without one the guest starts a shell on its console
    cut: PowerCut = PowerCut()
    media_folder: Path | None = None
    timed: bool = True
    trace: Path | None = None
    layout: Layout = ONE_DEVICE
    helper_thread: bool = False


@dataclass
class GuestOutcome:
    """How a guest ended and what it said."""

    outcome: str = "lost"
    exit_status: int | None = None
    boot: dict[str, Any] = field(default_factory=dict)
    rows: list[Any] = field(default_factory=list)
    rois: list[Any] = field(default_factory=list)
    stdout: bytes = b""
    stderr: bytes = b""
    power_cut: dict[str, Any] | None = None
    last_mark: int = 0
    error: str = ""  # why the guest gave up, in its words
    console: str = ""
    host_seconds: float = 0.0


class GuestExecutor(Protocol):
    async def run(self, spec: GuestSpec) -> GuestOutcome:
        """Run the guest to its end. Cancelling this leaves nothing behind."""
        ...


class QemuExecutor:
    """Runs guests with the testbed's QEMU."""

    def __init__(self, images: Images) -> None:
        self.images = images

    async def run(self, spec: GuestSpec, results_port: Path | None = None) -> GuestOutcome:
        """As the interface says; `results_port` is a file in which the caller watches what the guest reports."""
        with scratch.folder("guest") as folder:
            files = prepare_files(self.images, spec, folder)
            started = time.monotonic()
            results = results_port or folder / "results"
            end = await self._supervise(spec, files, folder, results)
            outcome = read_outcome(folder / "console", results, end)
            outcome.host_seconds = time.monotonic() - started
            return outcome

    async def _supervise(self, spec: GuestSpec, files: GuestFiles, folder: Path, results: Path) -> "_End":
        """Start QEMU, follow it to its end, and make sure that it is gone."""
        ours, theirs = socket.socketpair()
        ports = batch_ports(folder / "console", results, theirs.fileno())
        line = command_line(
            self.images, spec.guest, files, spec.cut, ports, spec.timed, spec.trace, spec.layout, spec.helper_thread
        )
        with ours, theirs, (folder / "qemu.log").open("wb") as log:
            # pdeathsig: even if this process is killed outright, QEMU goes with it.
            process = await asyncio.create_subprocess_exec(
                *("setpriv", "--pdeathsig", "KILL", "--", *line),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
            try:
                async with asyncio.timeout(spec.guest.timeout_s):
                    return await _follow(process, ours, spec.timed, folder / "qemu.log")
            except TimeoutError:
                return _End(timed_out=True)
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


@dataclass
class _End:
    """What the monitor saw of a guest's end."""

    panicked: bool = False
    timed_out: bool = False
    power_cut: dict[str, Any] | None = None
    device: dict[str, Any] = field(default_factory=dict)


def prepare_files(images: Images, spec: GuestSpec, folder: Path) -> GuestFiles:
    """The initramfs with the job at its end, and the media: sparse files, unless they are there already."""
    initrd = folder / "initrd"
    with initrd.open("wb") as out:
        for part in images.initrds:
            with part.open("rb") as file:
                shutil.copyfileobj(file, out, 2**20)
            out.write(b"\0" * (-out.tell() % 512))
        if spec.job:
            out.write(spec.job.archive())
    home = spec.media_folder or folder
    device = spec.guest.device
    media = tuple(home / device_file("media", n) for n in range(spec.layout.devices))
    lsa = tuple(home / device_file("lsa", n) for n in range(spec.layout.devices))
    for path in media:
        _prepare_memory(path, device.capacity - device.volatile_size)
    for path in lsa:
        _prepare_memory(path, LSA_BYTES)
    return GuestFiles(initrd, media, lsa)


def device_file(kind: str, n: int) -> str:
    """The name of a device's `media` or `lsa` file in a media folder: the first device's has no number."""
    return f"{kind}{n or ''}.raw"


def _prepare_memory(path: Path, size: int) -> None:
    """A sparse file, unless it is there already. What the device keeps behind its capacity is checked by the device."""
    if not path.exists():
        with path.open("wb") as file:
            file.truncate(size)
    elif path.stat().st_size < size:
        raise TestbedError(f"{path} is {path.stat().st_size} bytes but the device has {size}; use its own profile")


async def _follow(process: asyncio.subprocess.Process, monitor: socket.socket, timed: bool, log: Path) -> _End:
    """Let the guest run until something ends it, then read the device's counters and quit."""
    qmp, listener = QMPClient("guest"), EventListener(END_EVENTS)
    qmp.register_listener(listener)
    try:
        await qmp.connect(monitor)
    except QMPError as error:
        await process.wait()
        raise RunFailed(f"QEMU did not start: {_last_line(log)}") from error
    try:
        await qmp.execute("cont")
        end = await _first_end(process, listener)
        if end is None:
            return _End()
        if timed:
            end.device = await _query_device(qmp)
        with suppress(QMPError, EOFError):  # QEMU may be gone before it answers
            await qmp.execute("quit")
        await process.wait()
        return end
    except (QMPError, EOFError):
        await process.wait()
        return _End()
    finally:
        with suppress(QMPError, EOFError, OSError):
            await qmp.disconnect()


async def _query_device(qmp: QMPClient) -> dict[str, Any]:
    answer = await qmp.execute("query-cxl-ssd")
    assert isinstance(answer, dict), "QAPI says that this is an object"
    return answer


async def _first_end(process: asyncio.subprocess.Process, listener: EventListener) -> _End | None:
    """The first event that ends the guest; None if QEMU is gone before one."""
    event, gone = asyncio.create_task(listener.get()), asyncio.create_task(process.wait())
    try:
        await asyncio.wait({event, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not event.done():
            return None
        message = event.result()
    finally:
        event.cancel()
        gone.cancel()
    if message["event"] == "CXL_SSD_POWER_CUT":
        return _End(power_cut=cast(dict[str, Any], message["data"]))
    return _End(panicked=message["event"] == "GUEST_PANICKED")


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def read_outcome(console: Path, results: Path, end: _End) -> GuestOutcome:
    """Everything that the guest wrote to its two ports, and how it ended."""
    outcome = GuestOutcome(power_cut=end.power_cut)
    outcome.console = console.read_text(errors="replace") if console.exists() else ""
    for line in results.read_bytes().splitlines() if results.exists() else ():
        _read_line(outcome, line)
    outcome.rois = list(end.device.get("rois", []))
    outcome.last_mark = int(end.device.get("last-mark", 0))
    outcome.outcome = _classify(outcome, end)
    return outcome


def _read_line(outcome: GuestOutcome, line: bytes) -> None:
    """One line of the results port. A line cut short by the guest's end is no line."""
    try:
        message = json.loads(line)
    except ValueError:
        return
    match message.get("type"):
        case "boot":
            outcome.boot = {k: v for k, v in message.items() if k != "type"}
        case "result":
            outcome.rows.append(message["data"])
        case "output" if message["stream"] == "stdout":
            outcome.stdout += base64.b64decode(message["base64"])
        case "output":
            outcome.stderr += base64.b64decode(message["base64"])
        case "error":
            outcome.error = str(message["message"])
        case "exit":
            outcome.exit_status = int(message["status"])


def _classify(outcome: GuestOutcome, end: _End) -> str:
    if end.timed_out:
        return "timeout"
    if end.power_cut is not None:
        return "power-cut"
    if outcome.exit_status is not None:
        return "ok" if outcome.exit_status == 0 else "failed"
    if end.panicked or "Kernel panic" in outcome.console:
        return "panic"
    return "lost"
