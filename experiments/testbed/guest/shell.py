# SPDX-License-Identifier: BSD-3-Clause
"""An interactive guest on this terminal."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from .. import scratch
from ..errors import TestbedError
from ..manifest.manifest import GuestConfig
from ..program.job_archive import Job, script_job
from ..program.packages import Versions
from . import media_lock
from .executor import GuestSpec, prepare_files
from .kernel_images import images_with
from .qemu_line import Images, PowerCut, command_line, job_file, terminal_ports

SHELL = "cd /root\nsetsid -c bash -l </dev/ttyS0 >/dev/ttyS0 2>&1"  # as the guest's init starts one


def check_terminal() -> None:
    """Before anything is built for it."""
    if not sys.stdin.isatty():
        instead = "testbed exec --script FILE, or testbed exec -- PROGRAM ARGS"
        raise TestbedError(f"testbed shell needs a terminal; without one use: {instead}")


def run_shell(images: Images, guest: GuestConfig, media_folder: Path | None, packages: Versions = ()) -> int:
    """Boot to a shell, with these packages; returns when the guest is powered off or Ctrl-A X is pressed."""
    with media_lock.held(media_folder), scratch.folder("guest") as folder:
        job = script_job(SHELL) if guest.topology else Job("")
        spec = GuestSpec(guest, replace(job, packages=packages), media_folder=media_folder)
        images = images_with(images, guest.kernel)
        files = prepare_files(images, spec, folder)
        # It has a shell in place of a job; or for its job, if that is to make regions.
        shell = job_file(files.job if guest.topology else None, timed=False)
        ports = [*terminal_ports(folder / "results"), *shell]
        line = command_line(images, guest, replace(files, job=None), PowerCut(), ports)
        return subprocess.run(["setpriv", "--pdeathsig", "KILL", "--", *line]).returncode
