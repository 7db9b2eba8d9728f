# SPDX-License-Identifier: BSD-3-Clause
"""An interactive guest on this terminal."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from .. import scratch
from ..errors import TestbedError
from ..manifest.manifest import GuestConfig
from ..program.job_archive import Job
from ..program.packages import Versions
from . import media_lock
from .executor import GuestSpec, prepare_files
from .qemu_line import Images, PowerCut, command_line, terminal_ports


def check_terminal() -> None:
    """Before anything is built for it."""
    if not sys.stdin.isatty():
        instead = "testbed exec --script FILE, or testbed exec -- PROGRAM ARGS"
        raise TestbedError(f"testbed shell needs a terminal; without one use: {instead}")


def run_shell(images: Images, guest: GuestConfig, media_folder: Path | None, packages: Versions = ()) -> int:
    """Boot to a shell, with these packages; returns when the guest is powered off or Ctrl-A X is pressed."""
    with media_lock.held(media_folder), scratch.folder("guest") as folder:
        spec = GuestSpec(guest, Job("", packages=packages), media_folder=media_folder)
        files = replace(prepare_files(images, spec, folder), job=None)  # it has a shell in place of a job
        line = command_line(images, guest, files, PowerCut(), terminal_ports(folder / "results"))
        return subprocess.run(["setpriv", "--pdeathsig", "KILL", "--", *line]).returncode
