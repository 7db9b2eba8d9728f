# SPDX-License-Identifier: BSD-3-Clause
"""Guests that set up their CXL memory by hand, machines that execute nothing, and the processes of guests."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from qemu.qmp import QMPClient, QMPError

from testbed.crash.journal import LINE_BYTES
from testbed.crash.lines import Place
from testbed.guest.executor import GuestOutcome, GuestSpec, prepare_files
from testbed.guest.qemu_line import Layout, PowerCut, command_line
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

RIG_PROGRAMS = REPO / "tests" / "rigs" / "programs"  # programs and kernel modules for guests
# Log entries of an unsound kernel; a pattern for grep -E, too.
COMPLAINTS = "BUG:|WARNING:|Oops|general protection|INFO: task"
DRIVERS = "set -e\nmodprobe -a cxl_acpi cxl_pci cxl_mem cxl_pmem nd_pmem dax_cxl device_dax kmem\n"
BY_HAND = Layout(kernel="testbed.nopmem memhp_default_state=offline")
REGION = "cxl create-region -m -d decoder0.0 -t {kind} {options} > /dev/null\n"
SETTLE = "for i in $(seq 50); do test -e {path} || sleep 0.1; done\n"
NAMESPACE = "ndctl create-namespace --mode=fsdax --map=mem > /dev/null\n" + SETTLE.format(path="/dev/pmem0")
MOUNT = SETTLE.format(path="/dev/pmem0") + "mkdir -p /pmem; mount -o dax=always /dev/pmem0 /pmem\n"
EXT4 = "mke2fs -q -t ext4 -b 4096 -O ^metadata_csum /dev/pmem0\n" + MOUNT


def region(kind: str, options: str) -> str:
    """Return commands that make a region and wait until its device exists."""
    path = {"pmem": "/sys/bus/nd/devices/region0", "ram": "/sys/bus/dax/devices/dax0.0"}[kind]
    return REGION.format(kind=kind, options=options) + SETTLE.format(path=path)


def run(session: Session, guest: GuestConfig, script: str, **more: object) -> GuestOutcome:
    spec = GuestSpec(guest, script_job(DRIVERS + script), layout=BY_HAND)
    return drive(session.executor.run(replace(spec, **more)))  # type: ignore[arg-type]


def said(outcome: GuestOutcome) -> str:
    errors = outcome.stderr.decode()
    assert outcome.outcome == "ok", f"{outcome.outcome}: {errors} {outcome.error} {outcome.console[-500:]}"
    return outcome.stdout.decode()


def static_programs(folder: Path, sources: Mapping[str, Sequence[Path]], *flags: str) -> dict[str, Path]:
    """Compile programs and return them by name; they are static, as the guest's libc may differ."""
    for name, files in sources.items():
        subprocess.run(["cc", "-O2", "-static", *flags, "-o", folder / name, *files], check=True)
    return {name: folder / name for name in sources}


async def query(qmp: QMPClient) -> dict[str, Any]:
    answer = await qmp.execute("query-cxl-ssd")
    assert isinstance(answer, dict)
    return answer


def crash(test: str | Path, folder: Path, *more: str) -> tuple[int, str, dict[str, Any]]:
    """Return exit status, output and report of a crash test with one copy at a time; a second costs another boot."""
    report = folder / "report.json"
    command = [sys.executable, "-m", "testbed", "crash", str(test), "--jobs", "1", "--json", str(report), *more]
    environment = {**os.environ, "TESTBED_RESULTS": str(folder / "results")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert report.exists(), done.stderr
    return done.returncode, done.stdout, json.loads(report.read_text())


PIECE_BYTES = 2**20


def changed_lines(before: Path, after: Path) -> dict[Place, bytes]:
    """Return the lines of a device's medium that differ from before, with their new content."""
    changed: dict[Place, bytes] = {}
    with before.open("rb") as one, after.open("rb") as other:
        for piece in sorted(pieces_with_data(one.fileno()) | pieces_with_data(other.fileno())):
            at = piece * PIECE_BYTES
            old, new = (os.pread(file.fileno(), PIECE_BYTES, at) for file in (one, other))
            if old != new:
                lines = range(0, len(new), LINE_BYTES)
                differ = (n for n in lines if old[n : n + LINE_BYTES] != new[n : n + LINE_BYTES])
                changed |= {Place(0, at + n): new[n : n + LINE_BYTES] for n in differ}
    return changed


def pieces_with_data(fd: int) -> set[int]:
    """Return the pieces of a sparse medium that hold data."""
    found: set[int] = set()
    end = 0
    with suppress(OSError):  # no data behind
        while True:
            begin = os.lseek(fd, end, os.SEEK_DATA)
            end = os.lseek(fd, begin, os.SEEK_HOLE)
            found.update(range(begin // PIECE_BYTES, -(-end // PIECE_BYTES)))
    return found


def qemu_processes(parent: int) -> list[int]:
    """Return the QEMU processes that a process has started and that still run."""
    listed = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(parent)], capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if "qemu-system" in line]


def is_alive(pid: int) -> bool:
    """Tell whether the process exists and is no zombie that its new parent has yet to collect."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Paused:
    """Starts QEMU on the media of one folder, with the vCPU stopped before its first instruction."""

    def __init__(self, session: Session, guest: GuestConfig, folder: Path, layout: Layout) -> None:
        spec = GuestSpec(guest, None, media_folder=folder, layout=layout)
        self.files = prepare_files(replace(session.images, initrds=()), spec, folder)
        ports = ["-S", "-action", "shutdown=pause"]
        self.line = command_line(session.images, guest, self.files, PowerCut(), ports, layout=layout)
        self.media = self.files.media[0]

    @asynccontextmanager
    async def running(self, killed: bool = False) -> AsyncIterator[QMPClient]:
        ours, theirs = socket.socketpair()
        monitor = ["-chardev", f"socket,id=qmp,fd={theirs.fileno()}", "-mon", "chardev=qmp,mode=control"]
        with ours, theirs:
            qemu = subprocess.Popen([*self.line, *monitor], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
            theirs.close()
            qmp = QMPClient()
            try:
                await qmp.connect(ours)
                yield qmp
            finally:
                with suppress(QMPError, EOFError):
                    await (asyncio.to_thread(qemu.kill) if killed else qmp.execute("quit"))
                await asyncio.to_thread(qemu.wait, 20)
                with suppress(QMPError, EOFError, OSError):
                    await qmp.disconnect()

    def failure(self) -> str:
        """Return the error message of a QEMU that does not start."""
        done = subprocess.run(self.line, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
        assert done.returncode == 1
        return done.stderr

    def info(self) -> dict[str, Any]:
        """Switch a machine on and off again, and return its answer to `query-cxl-ssd`."""

        async def ask() -> dict[str, Any]:
            async with self.running() as qmp:
                return await query(qmp)

        return drive(ask())

    def dirty_shutdowns(self) -> int:
        return int(self.info()["devices"][0]["dirty-shutdowns"])
