# SPDX-License-Identifier: BSD-3-Clause
"""Runs one guest. `GuestExecutor` is the interface; `QemuExecutor` is the real one, tests bring a mock.

A guest ends in one of six ways, and they are never mixed up:
  ok         the job ended with status 0
  failed     the job ended with another status
  panic      the guest's kernel panicked
  lost       QEMU or the guest ended without word from the job
  timeout    the host-time limit passed, or a limit of the guest's own time
  power-cut  the power was cut, as asked
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
from ..manifest.manifest import GuestConfig
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
    tbfs,
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
ROW = b'{"type":"result","data":'  # as the guest's init begins each row
PANIC = "Kernel panic"  # as the kernel says it, and what it says of the fault that leads there
FAULT = re.compile(r"\b(BUG: |general protection fault|invalid opcode|divide error|stack segment|Out of memory: )")
TIME_STAMP = re.compile(r"^\[ *[0-9.]+\] ")

Report = Callable[[bytes], None]
Asked = Callable[[Machine], None]


@dataclass(frozen=True)
class Rehearsed:
    """What a guest is a copy of, and how it differs.

    One boots and runs the job `rehearsal`, which ends each of its stages by asking for a job. A copy of what is there
    then is handed the script of the run's job, and that alone. Its media are those in the media folder, which nothing
    changes, but for `lines`: of each the number of the device and the DPA, little-endian, then its 64 bytes. Which
    lines it reads is in the outcome, and which each stage of the rehearsal has read.
    """

    rehearsal: Job
    lines: bytes = b""
    stages: int = 1
    booted: datetime | None = None  # when it boots; None for the date that its media ask for


@dataclass(frozen=True)
class GuestSpec:
    """One guest to run. With a `media_folder`, the device's content is found there and stays there.

    With a `trace`, what its CPU asks of memory is captured into that file. A `helper_thread` takes a second core of the
    host and changes no result. Both are for a guest with one CPU. With a `journal`, what it does to the devices'
    persistent lines is recorded into that file, which changes no result; not with a `helper_thread`. What a `streamed`
    one prints is outside at once, by a device that others do not have.
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
    """How a guest ended and what it said."""

    outcome: str = "lost"
    exit_status: int | None = None
    boot: dict[str, Any] = field(default_factory=dict)
    rows: list[Any] = field(default_factory=list)
    rois: list[Any] = field(default_factory=list)
    stdout: bytes = b""
    stderr: bytes = b""
    files: dict[str, bytes] = field(default_factory=dict)  # that came back, by their paths in a folder
    power_cut: dict[str, Any] | None = None
    last_mark: int = 0
    error: str = ""  # why the guest gave up, in its words; of a lost one how QEMU ended, in QEMU's
    console: str = ""
    qemu: str = ""  # what QEMU itself said
    host_seconds: float = 0.0
    reads: bytes = b""  # of a rehearsed guest: device and DPA of each line that it read, in the order of first loads
    rehearsed: tuple[bytes, ...] = ()  # the same of each stage of its rehearsal
    rehearsal_status: int = 0  # with which what it rehearsed ended
    is_limited: bool = False  # the guest's own time limit has passed, which it says itself


class GuestExecutor(Protocol):
    async def run(self, spec: GuestSpec) -> GuestOutcome:
        """Run the guest to its end. Cancelling this leaves nothing behind."""
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
        """As the interface says; `report` is given what the guest reports, in pieces, the moment it does.

        With `asked` the guest stops each time that it asks for a job, the first time before it has one. That is called
        then with the machine, and the guest goes on. `tell` is given a line every so often while the guest runs. What a
        streamed guest prints is handed on as it comes to the descriptors `printed`, of its stdout and stderr.
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
    """A GuestExecutor whose guests say how far they are, and whose output is this process's as it comes."""

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
    """Where QEMU writes what becomes the file `results`: there, or with `report` a FIFO, to be handed on from it."""
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
            while take():  # what came last
                pass
        finally:
            loop.remove_reader(fd)


async def _run(qemu: Machine, spec: GuestSpec, folder: Path, asked: Asked | None) -> End:
    """Run the guest, which is handed its job where the guests are that take turns with a booted one."""
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
    """The machine of this guest, with its files in the folder. One that is to be `copied` keeps its media to itself."""
    images = images_with(images, spec.guest.kernel)
    files = prepare_files(images, spec, folder)
    if not copied:
        # Holds for a guest whose end nothing sees.
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
    """The initramfs with the job's packages, the job, and the media: sparse files, unless they are there already."""
    home = spec.media_folder or folder
    devices = [device for device, _ in devices_of(spec.guest, spec.layout)]
    own_modules.check(spec.guest.modules, images.kernel)
    initrd, job = folder / "initrd", folder / JOB if spec.job else None
    media, lsa = (tuple(home / device_file(kind, n) for n in range(len(devices))) for kind in ("media", "lsa"))
    cdat = tuple(folder / device_file("cdat", n) for n in range(len(devices))) if spec.guest.hmat else ()
    try:
        if spec.media_folder:
            tbfs.check_media(spec.guest, spec.media_folder)
        own = (*own_archives.of(spec.guest), *(spec.job.initrds() if spec.job else ()))
        archives = (*images.initrds_of(spec.guest), *own)
        capacity.check_holds(spec.guest, archives, spec.job)
        modules = own_modules.archive(spec.guest.modules) if spec.guest.modules else b""
        _write_initrd(initrd, archives, modules + file_systems.archive(spec.guest))
        if job and spec.job:
            whole = regions.before(spec.job, spec.guest)
            job.write_bytes((streams.job(whole) if spec.streamed else whole).archive())
        for path, device in zip(media, devices, strict=True):
            _prepare_memory(path, partition_bytes(device, "pmem"))
        for path in lsa:
            _prepare_memory(path, LSA_BYTES)
        for path, device in zip(cdat, devices, strict=False):  # none, of a machine without
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
    """The name of a device's `media` or `lsa` file in a media folder: the first device's has no number."""
    return f"{kind}{n or ''}.raw"


def _prepare_memory(path: Path, size: int) -> None:
    """A sparse file, unless it is there already. What the device keeps behind its capacity is checked by the device."""
    if not path.exists():
        with path.open("wb") as file:
            file.truncate(size)
    elif path.stat().st_size < size:
        raise TestbedError(f"{path} is {path.stat().st_size} bytes but the device has {size}; use its own profile")


@dataclass(frozen=True)
class Said:
    """What a guest wrote to its two ports, and QEMU to its log."""

    console: bytes = b""
    results: bytes = b""
    log: bytes = b""

    def __add__(self, more: "Said") -> "Said":
        return Said(*map(operator.add, astuple(self), astuple(more)))


def said_bytes(folder: Path) -> tuple[int, ...]:
    """How much there is of it in a guest's folder."""
    paths = [folder / name for name in (CONSOLE, RESULTS, LOG)]
    return tuple(path.stat().st_size if path.exists() else 0 for path in paths)


def read_said(folder: Path, after: tuple[int, ...] = (0, 0, 0)) -> Said:
    """What there is of it in a guest's folder, after so many bytes of each."""
    return Said(*(_read_from(folder / name, at) for name, at in zip((CONSOLE, RESULTS, LOG), after, strict=True)))


def _read_from(path: Path, at: int) -> bytes:
    if not path.exists():
        return b""
    with path.open("rb") as file:
        file.seek(at)
        return file.read()


def read_outcome(said: Said, end: End) -> GuestOutcome:
    """How a guest ended, and all that it said."""
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
    """What a kernel says from its panic on; what follows that, such as a stack, may be long."""
    first = next((n for n, line in enumerate(lines) if PANIC in line), len(lines))
    return lines[first:]


def _reason(lines: list[str]) -> str:
    """Why the kernel panicked: its word for that, after the fault that led there if it names one."""
    panic = of_panic(lines)[:1]
    faults = [line for line in lines[: len(lines) - len(of_panic(lines))] if FAULT.search(line)]
    return "; ".join(TIME_STAMP.sub("", line).strip() for line in (*faults[-1:], *panic))


def _read_line(outcome: GuestOutcome, printed: dict[str, bytearray], back: dict[str, bytearray], line: bytes) -> None:
    """One line of the results port, on which a guest may write anything. What is no message is no line; a row that is
    none, as one with NaN in it, is said among the program's errors."""
    try:
        message = json.loads(line)
        if message.get("type") == "output":
            printed[message["stream"]] += base64.b64decode(message["base64"])
            return
        if message.get("type") == "file":
            name = base64.b64decode(message["name"]).decode()
            back.setdefault(name, bytearray()).extend(base64.b64decode(message["base64"]))
            return
        canonical.dumps(message).encode()  # what no result could hold is found here
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
