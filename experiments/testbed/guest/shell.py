# SPDX-License-Identifier: BSD-3-Clause
"""An interactive guest on this terminal."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from qemu.qmp import QMPClient, QMPError

from .. import scratch
from ..errors import TestbedError
from ..manifest.guest_config import GuestConfig
from ..program.job_archive import Job, script_job
from ..program.packages import Versions
from . import clock, media_lock
from .executor import GuestSpec, prepare_files
from .kernel_images import images_with
from .qemu_line import WATCH_SOCKET, Images, PowerCut, command_line, job_file, terminal_ports
from .top import sample

SHELL = "cd /root\nsetsid -c bash -l </dev/ttyS0 >/dev/ttyS0 2>&1"  # the same shell as the guest's init starts
LOOK_S = 0.5  # interval between queries of the guest's time


def check_terminal() -> None:
    """Raise TestbedError without a terminal, before anything is built for the shell."""
    if not sys.stdin.isatty():
        instead = "testbed exec --script FILE, or testbed exec -- PROGRAM ARGS"
        raise TestbedError(f"testbed shell needs a terminal; without one use: {instead}")


def run_shell(images: Images, guest: GuestConfig, media_folder: Path | None, packages: Versions = ()) -> int:
    """Boot to a shell with these packages; return QEMU's exit status after a power-off of the guest, or Ctrl-A X."""
    with media_lock.held(media_folder), scratch.folder("guest") as folder:
        job = script_job(SHELL) if guest.topology else Job("")
        spec = GuestSpec(guest, replace(job, packages=packages), media_folder=media_folder)
        images = images_with(images, guest.kernel)
        booted = clock.next_boot(media_folder)
        files = prepare_files(images, spec, folder)
        # The guest starts a shell if it has no job. With a topology the job makes the regions, then starts the shell.
        shell = job_file(files.job if guest.topology else None, timed=False)
        ports = [*terminal_ports(folder / "results"), *shell]
        line = command_line(images, guest, replace(files, job=None), PowerCut(), ports, booted=booted)
        with _clock_kept(media_folder, booted, folder / WATCH_SOCKET):
            return subprocess.run(["setpriv", "--pdeathsig", "KILL", "--", *line]).returncode


@contextmanager
def _clock_kept(media: Path | None, booted: datetime, socket: Path) -> Iterator[None]:
    """While the context lasts, keep the date of the next boot ahead of the guest's clock.

    Ctrl-A X ends QEMU without an answer, so the date is an upper bound: the guest's time at the last query, plus a day.
    """
    if not media:
        yield
        return
    clock.keep(media, clock.after(booted, None))
    ended = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_follow_clock(media, booted, socket, ended)))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


async def _follow_clock(media: Path, booted: datetime, socket: Path, ended: threading.Event) -> None:
    while not ended.is_set():
        qmp = QMPClient("clock")
        with suppress(QMPError, EOFError, OSError):
            await qmp.connect(str(socket))
            time_ps = int((await sample(qmp)).answer["time-ps"])
            clock.keep(media, clock.after(clock.after(booted, time_ps), None))
        with suppress(QMPError, EOFError, OSError):
            await qmp.disconnect()
        await asyncio.to_thread(ended.wait, LOOK_S)
