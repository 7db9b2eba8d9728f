# SPDX-License-Identifier: BSD-3-Clause
"""Guests with several CPUs: the testbed's kernel with one program, undisturbed or disturbed by the host."""

import asyncio
import os
import random
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median_low
from typing import Any, cast

from qemu.qmp import EventListener, QMPClient, QMPError

from rigs.guest.guest_rig import RIG_PROGRAMS
from testbed.guest.cpio import CpioWriter
from testbed.guest.executor import GuestSpec, prepare_files
from testbed.guest.qemu_line import PowerCut, command_line
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.run.runner import drive

PROGRAM = RIG_PROGRAMS / "vcpus_guest.c"
DOORBELL = REPO / "guest-image/tools/include"
TRUSTING = ("tsc=reliable", "clocksource=tsc", "nowatchdog", "nmi_watchdog=0")  # without these Linux checks by itself
ENDS = ("SHUTDOWN", "GUEST_PANICKED")


def with_cpus(guest: GuestConfig, cpus: int) -> GuestConfig:
    """Return the same machine with this number of cores."""
    return replace(guest, cpu=replace(guest.cpu, cores=cpus))


def trusting_nothing(words: str) -> str:
    """Return the kernel's command line without the words that make Linux trust the clock."""
    return " ".join(word for word in words.split() if word not in TRUSTING)


@dataclass
class Told:
    """A guest's console, and QEMU's answers on clocks and regions of interest at the guest's end."""

    console: str
    clocks: dict[str, Any]
    rois: list[Any]

    # By the name of a measurement and the number of threads: the nanoseconds of each run,
    times_ns: dict[tuple[str, int], list[int]] = field(init=False)
    # and their median with the measured number, which is the same in all runs.
    measured: dict[tuple[str, int], tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        self.times_ns, numbers = {}, dict[tuple[str, int], int]()
        words = [line.split() for line in self.console.splitlines()]
        for name, threads, ns, number in (w for w in words if len(w) == 4 and w[3].isdigit()):
            key = name, int(threads)
            self.times_ns.setdefault(key, []).append(int(ns))
            assert numbers.setdefault(key, int(number)) == int(number), f"{key}: {number}, and {numbers[key]} before"
        self.measured = {key: (median_low(self.times_ns[key]), numbers[key]) for key in sorted(numbers)}

    def of_the_guest(self) -> tuple[str, list[Any]]:
        """Return all data of the guest alone. Its clocks go on after the power-off until the host stops it."""
        return self.console, self.rois


class VCPUs:
    """Boots guests of several CPUs, in one folder."""

    def __init__(self, session: Session, guest: GuestConfig, folder: Path) -> None:
        self.session, self.guest, self.folder = session, guest, folder
        program = folder / "init"
        subprocess.run(["cc", "-O2", "-static", "-pthread", f"-I{DOORBELL}", "-o", program, PROGRAM], check=True)
        initrd = folder / "init.cpio"
        with initrd.open("wb") as file:
            archive = CpioWriter(file)
            archive.add_file("init", program.read_bytes(), executable=True)
            archive.close()
        self.images = replace(session.images, initrds=(initrd,))

    def run(
        self, cpus: int, disturbed_by: int | None = None, timing: str = "", steps: int = 1_000_000, often: float = 200
    ) -> Told:
        """Run a guest from boot to end. `disturbed_by` seeds the host's disturbances, `often` is their rate per second.

        `timing`: more properties of the CPU. `steps`: the amount of computing.
        """
        return drive(self._run(cpus, disturbed_by, timing, steps, often))

    def line(self, cpus: int, timing: str, steps: int, ports: list[str]) -> list[str]:
        files = prepare_files(self.images, GuestSpec(self.guest, None, media_folder=self.folder), self.folder)
        line = command_line(self.images, with_cpus(self.guest, cpus), files, PowerCut(), ports)
        kernel = line.index("-append") + 1
        line[kernel] = f"{trusting_nothing(line[kernel])} steps={steps}"
        place = next(n for n, word in enumerate(line) if word.startswith("cpu-timing,"))
        line[place] += timing
        return line

    async def _run(self, cpus: int, disturbed_by: int | None, timing: str, steps: int, often: float) -> Told:
        console = self.folder / "console"
        ours, theirs = socket.socketpair()
        ports = ["-S", "-action", "shutdown=pause,panic=pause"]
        ports += ["-chardev", f"file,id=console,path={console}", "-serial", "chardev:console"]
        ports += ["-chardev", f"socket,id=qmp,fd={theirs.fileno()}", "-mon", "chardev=qmp,mode=control"]
        with ours, theirs:
            line = self.line(cpus, timing, steps, ports)
            qemu = subprocess.Popen(line, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
            theirs.close()
            qmp, ended = QMPClient(), EventListener(ENDS)
            qmp.register_listener(ended)
            try:
                async with asyncio.timeout(self.guest.timeout_s):
                    await qmp.connect(ours)
                    await qmp.execute("cont")
                    await _follow(qmp, ended, qemu.pid, disturbed_by, 1 / often)
                    device = cast(dict[str, Any], await qmp.execute("query-cxl-ssd"))
                    clocks = cast(dict[str, Any], await qmp.execute("query-vcpu-clocks"))
                    return Told(console.read_text(), clocks, device["rois"])
            finally:
                qemu.kill()
                await asyncio.to_thread(qemu.wait)
                with suppress(QMPError, EOFError, OSError):
                    await qmp.disconnect()


async def _follow(qmp: QMPClient, ended: EventListener, pid: int, disturbed_by: int | None, pause_s: float) -> None:
    """Wait for the guest's end; disturb it by queries, SIGSTOP and `stop`, at moments that depend on the host."""
    end = asyncio.create_task(ended.get())
    dice = random.Random(disturbed_by)

    async def stop_process() -> None:
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(dice.random() / 50)
        os.kill(pid, signal.SIGCONT)

    async def stop_machine() -> None:
        await qmp.execute("stop")
        if not end.done():
            await qmp.execute("cont")

    async def ask(command: str) -> None:
        await qmp.execute(command)

    ways: list[Callable[[], Any]] = [
        stop_process,
        stop_machine,
        lambda: ask("query-vcpu-clocks"),
        lambda: ask("query-cxl-ssd"),
    ]
    while not end.done():
        if disturbed_by is not None:
            await dice.choice(ways)()
        await asyncio.wait({end}, timeout=None if disturbed_by is None else 2 * pause_s * dice.random())
