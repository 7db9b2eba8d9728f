# SPDX-License-Identifier: BSD-3-Clause
"""Runs one guest. `GuestExecutor` is the interface, and `QemuExecutor` the real executor; tests use a mock.

A guest has exactly one of six outcomes:
  ok         the job ended with status 0
  failed     the job ended with another status
  panic      the guest's kernel panicked
  lost       QEMU or the guest ended without a report from the job
  timeout    the host-time limit passed, or a limit of the guest's own time
  power-cut  the power was cut, as requested
"""

import asyncio
import base64
import json
import operator
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from .. import canonical, scratch
from ..errors import RunFailed, TestbedError
from ..manifest.guest_config import GuestConfig
from ..manifest.topology import partition_bytes
from ..program import files_back
from ..program.job_archive import Job
from . import (
    capacity,
    clock,
    file_systems,
    media_lock,
    memory_tables,
    own_archives,
    own_modules,
    pulse,
    regions,
    relay,
    streams,
)
from .kernel_images import images_with
from .machine import End, Machine, NotStarted, started
from .qemu_line import (
    LSA_BYTES,
    ONE_DEVICE,
    WATCH_SOCKET,
    GuestFiles,
    Images,
    Layout,
    PowerCut,
    batch_ports,
    command_line,
    devices_of,
)

JOB, CONSOLE, RESULTS, LOG = "job.tar", "console", "results", "qemu.log"  # in a guest's folder
ROW = b'{"type":"result","data":'  # the beginning of each row from the guest's init
PANIC = "Kernel panic"  # the kernel's word for it; below, its messages about a fault that leads to a panic
FAULT = re.compile(r"\b(BUG: |general protection fault|invalid opcode|divide error|stack segment|Out of memory: )")
TIME_STAMP = re.compile(r"^\[ *[0-9.]+\] ")

Report = Callable[[bytes], None]
Asked = Callable[[Machine], None]


@dataclass(frozen=True)
class Rehearsed:
    """The rehearsed guest of which a run is a copy, and how the media of the copy differ.

    A guest boots and runs the job `rehearsal`, which ends each of its stages by asking for a job. A copy, made after
    the last stage, receives only the script of the run's job. The media of the copy equal the media folder, which stays
    unchanged, except for `lines`: for each line the number of the device and the DPA, little-endian, then its 64 bytes.
    The outcome lists the lines that the copy has read, and the lines that each stage of the rehearsal has read.
    """

    rehearsal: Job
    lines: bytes = b""
    stages: int = 1
    booted: datetime | None = None  # date of the boot, or None for the date that the media ask for


@dataclass(frozen=True)
class GuestSpec:
    """One guest to run. With a `media_folder`, the device's content is read from there and stays there.

    With a `trace`, the requests of its CPU to memory are captured into that file. A `helper_thread` takes a second core
    of the host and changes no result. Trace and helper thread are for a guest with one CPU. With a `journal`, the
    guest's operations on the persistent lines of its devices are recorded into that file, which changes no result; a
    `helper_thread` excludes a journal. The output of a `streamed` guest leaves the guest at once, through a device that
    other guests lack.
    """

    guest: GuestConfig
    job: Job | None  # without one the guest starts a shell on its console
    cut: PowerCut = PowerCut()
    media_folder: Path | None = None
    timed: bool = True
    trace: Path | None = None
    layout: Layout = ONE_DEVICE
    helper_thread: bool = False
    journal: Path | None = None
    copy_of: Rehearsed | None = None
    streamed: bool = False


@dataclass
class GuestOutcome:
    """How a guest ended, and its output."""

    outcome: str = "lost"
    exit_status: int | None = None
    boot: dict[str, Any] = field(default_factory=dict)
    rows: list[Any] = field(default_factory=list)
    rois: list[Any] = field(default_factory=list)
    stdout: bytes = b""
    stderr: bytes = b""
    files: dict[str, bytes] = field(default_factory=dict)  # the files that came back, by their paths in a folder
    power_cut: dict[str, Any] | None = None
    last_mark: int = 0
    error: str = ""  # why the guest gave up, in its words; or why its kernel panicked; or how QEMU ended, if lost
    console: str = ""
    qemu: str = ""  # QEMU's own messages
    host_seconds: float = 0.0
    reads: bytes = b""  # by a rehearsed guest's copy: device and DPA of each line read, in the order of first loads
    rehearsed: tuple[bytes, ...] = ()  # the same for each stage of its rehearsal
    rehearsal_status: int = 0  # the exit status that the rehearsal reported
    is_limited: bool = False  # the guest reported that a limit of its own time has passed


class GuestExecutor(Protocol):
    async def run(self, spec: GuestSpec) -> GuestOutcome:
        """Run the guest to its end. A cancelled call leaves nothing behind."""
        ...


class QemuExecutor:
    """Runs guests with the testbed's QEMU."""

    def __init__(self, images: Images) -> None:
        self.images = images

    async def run(
        self,
        spec: GuestSpec,
        report: Report | None = None,
        asked: Asked | None = None,
        tell: Callable[[str], None] | None = None,
        printed: Mapping[str, int] | None = None,
    ) -> GuestOutcome:
        """Run the guest as the interface says; `report` receives the guest's report in pieces, as each piece arrives.

        With `asked` the guest stops each time that it asks for a job, the first time before it has one. The executor
        then calls `asked` with the machine, and the guest continues. `tell` receives a progress line at intervals while
        the guest runs. The output of a streamed guest is copied as it arrives to the descriptors `printed` for its
        stdout and stderr.
        """
        assert not spec.copy_of, "boots.SharedBoots makes copies"
        with media_lock.held(spec.media_folder), scratch.folder("guest") as folder:
            begun_s = time.monotonic()
            ways = {folder / name: descriptor for name, descriptor in (printed or {}).items()}
            streams.make(folder)
            async with relay.relayed(ways):
                booted = clock.next_boot(spec.media_folder)
                end = await self._end_of(spec, booted, folder, report, asked, tell)
                if end.time_ps is not None:
                    clock.keep(spec.media_folder, clock.after(booted, end.time_ps))
                outcome = read_outcome(read_said(folder) + Said(results=streams.brought(folder)), end)
                outcome.stdout, outcome.stderr = streams.all_printed(folder, outcome.stdout, outcome.stderr)
            outcome.host_seconds = time.monotonic() - begun_s
            return outcome

    async def _end_of(
        self,
        spec: GuestSpec,
        booted: datetime,
        folder: Path,
        report: Report | None,
        asked: Asked | None,
        tell: Callable[[str], None] | None,
    ) -> End:
        with suppress(TimeoutError), _port(folder / RESULTS, report) as port:
            try:
                async with (
                    asyncio.timeout(spec.guest.timeout_s),
                    machine_for(self.images, spec, folder, port, booted) as qemu,
                    pulse.felt(folder / WATCH_SOCKET, tell),
                ):
                    try:
                        return await _run(qemu, spec, folder, asked)
                    except asyncio.CancelledError:
                        if spec.media_folder and (time_ps := await qemu.stop()) is not None:
                            clock.keep(spec.media_folder, clock.after(booted, time_ps))
                        raise
            except NotStarted as error:
                return End(gone=str(error))
        return End(timed_out=True)


@dataclass(frozen=True)
class Telling:
    """A GuestExecutor that reports the progress of guests, and copies their output to this process's as it arrives."""

    executor: GuestExecutor
    tell: Callable[[str], None]

    async def run(self, spec: GuestSpec) -> GuestOutcome:
        sys.stdout.flush()
        if isinstance(self.executor, QemuExecutor):
            printed = {"stdout": sys.stdout.fileno(), "stderr": sys.stderr.fileno()}
            return await self.executor.run(replace(spec, streamed=True), tell=self.tell, printed=printed)
        outcome = await self.executor.run(spec)
        for stream, content in ((sys.stdout, outcome.stdout), (sys.stderr, outcome.stderr)):
            stream.buffer.write(content)
            stream.flush()
        return outcome


@contextmanager
def _port(results: Path, report: Report | None) -> Iterator[Path]:
    """The path for QEMU's output to `results`: the file itself, or with `report` a FIFO, copied to both."""
    if not report:
        yield results
        return
    fifo = results.with_name("results.fifo")
    os.mkfifo(fifo)
    loop, fd = asyncio.get_running_loop(), os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(fd, "rb", buffering=0) as reader, results.open("wb") as file:

        def take() -> bool:
            piece = reader.read(2**16)
            if piece:
                file.write(piece)
                report(piece)
            elif piece is not None:  # QEMU has ended
                loop.remove_reader(fd)
            return bool(piece)

        loop.add_reader(fd, take)
        try:
            yield fifo
            while take():  # the last pieces
                pass
        finally:
            loop.remove_reader(fd)


async def _run(qemu: Machine, spec: GuestSpec, folder: Path, asked: Asked | None) -> End:
    """Run the guest. A timed one receives its job after its boot, at the point where copies of a booted guest begin."""
    if not spec.job or not spec.timed:
        return await qemu.run(spec.timed)
    end = await qemu.boot()
    while asked and not end:
        asked(qemu)
        end = await qemu.rehearse(folder / JOB)
    return end or await qemu.run_job(folder / JOB)


def machine_for(
    images: Images, spec: GuestSpec, folder: Path, results: Path, booted: datetime, copied: bool = False
) -> AbstractAsyncContextManager[Machine]:
    """The machine of this guest, with its files in the folder. A machine to copy (`copied`) never writes its media."""
    images = images_with(images, spec.guest.kernel)
    files = prepare_files(images, spec, folder)
    if not copied:
        # The date that applies if nothing sees the guest's end.
        clock.keep(spec.media_folder, clock.after(booted, None))
    more = streams.options(folder) if spec.streamed else []

    def line(monitor_fd: int) -> list[str]:
        return command_line(
            images,
            spec.guest,
            files,
            spec.cut,
            batch_ports(folder / CONSOLE, results, monitor_fd) + more,
            spec.timed,
            spec.trace,
            spec.layout,
            spec.helper_thread,
            private_media=copied,
            journal=spec.journal,
            booted=booted,
        )

    return started(line, folder / LOG)


def prepare_files(images: Images, spec: GuestSpec, folder: Path) -> GuestFiles:
    """Write the initramfs with the job's packages, the job, the media (sparse files, unless they exist) and the CDATs.

    RunFailed: a file cannot be made.
    """
    home = spec.media_folder or folder
    devices = [device for device, _ in devices_of(spec.guest, spec.layout)]
    own_modules.check(spec.guest.modules, images.kernel)
    initrd, job = folder / "initrd", folder / JOB if spec.job else None
    media, lsa = (tuple(home / device_file(kind, n) for n in range(len(devices))) for kind in ("media", "lsa"))
    cdat = tuple(folder / device_file("cdat", n) for n in range(len(devices))) if spec.guest.hmat else ()
    try:
        if spec.media_folder:
            file_systems.check_media(spec.guest, spec.media_folder)
        own = (*own_archives.of(spec.guest, spec.job, images.archives), *(spec.job.initrds() if spec.job else ()))
        archives = (*images.initrds, *own)
        capacity.check_holds(spec.guest, archives, spec.job)
        modules = own_modules.archive(spec.guest.modules) if spec.guest.modules else b""
        _write_initrd(initrd, archives, modules)
        if job and spec.job:
            whole = regions.before(spec.job, spec.guest)
            job.write_bytes((streams.job(whole) if spec.streamed else whole).archive())
        for path, device in zip(media, devices, strict=True):
            _prepare_memory(path, partition_bytes(device, "pmem"))
        for path in lsa:
            _prepare_memory(path, LSA_BYTES)
        for path, device in zip(cdat, devices, strict=False):  # empty without HMAT
            path.write_bytes(memory_tables.cdat(device))
    except OSError as error:
        where = f"{error.filename or folder}: {error.strerror}; make room there or set TMPDIR to another folder"
        raise RunFailed(f"the guest's files cannot be made: {where}") from error
    return GuestFiles(initrd, media, lsa, job, cdat)


def _write_initrd(initrd: Path, parts: Iterable[Path], last: bytes) -> None:
    with initrd.open("wb") as out:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, out, 2**20)
            out.write(b"\0" * (-out.tell() % 512))
        out.write(last)


def device_file(kind: str, n: int) -> str:
    """The name of a device's file of this kind (`media`, `lsa`, `cdat`); the first device's name has no number."""
    return f"{kind}{n or ''}.raw"


def _prepare_memory(path: Path, size: int) -> None:
    """Make a sparse file unless it exists. The device itself checks the data that it keeps behind its capacity."""
    if not path.exists():
        with path.open("wb") as file:
            file.truncate(size)
    elif path.stat().st_size < size:
        raise TestbedError(f"{path} is {path.stat().st_size} bytes but the device has {size}; use its own profile")


@dataclass(frozen=True)
class Said:
    """The guest's output on its two ports, and QEMU's log."""

    console: bytes = b""
    results: bytes = b""
    log: bytes = b""

    def __add__(self, more: "Said") -> "Said":
        return Said(*map(operator.add, astuple(self), astuple(more)))


def said_bytes(folder: Path) -> tuple[int, ...]:
    """The sizes of the files of Said in a guest's folder, 0 for a missing file."""
    paths = [folder / name for name in (CONSOLE, RESULTS, LOG)]
    return tuple(path.stat().st_size if path.exists() else 0 for path in paths)


def read_said(folder: Path, after: tuple[int, ...] = (0, 0, 0)) -> Said:
    """The content of these files in a guest's folder, after so many bytes of each."""
    return Said(*(_read_from(folder / name, at) for name, at in zip((CONSOLE, RESULTS, LOG), after, strict=True)))


def _read_from(path: Path, at: int) -> bytes:
    if not path.exists():
        return b""
    with path.open("rb") as file:
        file.seek(at)
        return file.read()


def read_outcome(said: Said, end: End) -> GuestOutcome:
    """The outcome of a guest, from its end and all of its output."""
    console, log = said.console.decode(errors="replace"), said.log.decode(errors="replace")
    outcome = GuestOutcome(power_cut=end.power_cut, console=console, qemu=log)
    printed, back = {"stdout": bytearray(), "stderr": bytearray()}, dict[str, bytearray]()
    for line in said.results.splitlines():
        _read_line(outcome, printed, back, line)
    outcome.files = files_back.sound(back)
    outcome.stdout, outcome.stderr = bytes(printed["stdout"]), bytes(printed["stderr"])
    outcome.rois = list(end.device.get("rois", []))
    outcome.last_mark = int(end.device.get("last-mark", 0))
    outcome.outcome = _classify(outcome, end)
    if outcome.outcome == "lost" and not outcome.error:
        outcome.error = ": ".join(filter(None, (end.gone, *log.strip().splitlines()[-1:])))
    if outcome.outcome == "panic":
        outcome.error = outcome.error or _reason(console.splitlines())
    return outcome


def of_panic(lines: list[str]) -> list[str]:
    """The kernel's messages from its panic on; the lines after the panic's own, such as a stack, may be many."""
    first = next((n for n, line in enumerate(lines) if PANIC in line), len(lines))
    return lines[first:]


def _reason(lines: list[str]) -> str:
    """Why the kernel panicked: the line of the panic, after the line of the fault that led there, if it names one."""
    panic = of_panic(lines)[:1]
    faults = [line for line in lines[: len(lines) - len(of_panic(lines))] if FAULT.search(line)]
    return "; ".join(TIME_STAMP.sub("", line).strip() for line in (*faults[-1:], *panic))


def _read_line(outcome: GuestOutcome, printed: dict[str, bytearray], back: dict[str, bytearray], line: bytes) -> None:
    """Parse one line of the results port, on which a guest may write anything. Ignore a line that is no message, but
    report a row that is no valid JSON, such as one with NaN, in the program's stderr."""
    try:
        message = json.loads(line)
        if message.get("type") == "output":
            printed[message["stream"]] += base64.b64decode(message["base64"])
            return
        if message.get("type") == "file":
            name = base64.b64decode(message["name"]).decode()
            back.setdefault(name, bytearray()).extend(base64.b64decode(message["base64"]))
            return
        canonical.dumps(message).encode()  # raises ValueError for a message that no result can hold
        _take(outcome, message)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        if line.startswith(ROW):
            printed["stderr"] += b"testbed: no JSON, so no row: " + line.removeprefix(ROW)[:-1] + b"\n"


def _take(outcome: GuestOutcome, message: dict[str, Any]) -> None:
    match message.get("type"):
        case "boot":
            outcome.boot = {k: v for k, v in message.items() if k != "type"}
        case "result":
            outcome.rows.append(message["data"])
        case "error":
            outcome.error = str(message["message"])
        case "exit":
            outcome.exit_status = int(message["status"])
        case "rehearsal":
            outcome.rehearsal_status = int(message["status"])
        case "timeout":
            outcome.is_limited = True


def _classify(outcome: GuestOutcome, end: End) -> str:
    if end.timed_out or outcome.is_limited:
        return "timeout"
    if end.power_cut is not None:
        return "power-cut"
    if outcome.exit_status is not None:
        return "ok" if outcome.exit_status == 0 else "failed"
    if end.panicked or PANIC in outcome.console:
        return "panic"
    return "lost"
