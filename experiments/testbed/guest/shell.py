# SPDX-License-Identifier: BSD-3-Clause
"""An interactive guest on this terminal."""

import subprocess
import sys
from pathlib import Path

from .. import scratch
from ..errors import TestbedError
from ..manifest.manifest import GuestConfig
from . import media_lock
from .executor import GuestSpec, prepare_files
from .qemu_line import Images, PowerCut, command_line, terminal_ports


def check_terminal() -> None:
    """Before anything is built for it."""
    if not sys.stdin.isatty():
        raise TestbedError("testbed shell needs a terminal; for a script use: testbed exec -- PROGRAM ARGS")


def run_shell(images: Images, guest: GuestConfig, media_folder: Path | None) -> int:
    """Boot to a shell; returns when the guest is powered off or Ctrl-A X is pressed."""
    with media_lock.held(media_folder), scratch.folder("guest") as folder:
        files = prepare_files(images, GuestSpec(guest, None, media_folder=media_folder), folder)
        line = command_line(images, guest, files, PowerCut(), terminal_ports(folder / "results"))
        return subprocess.run(["setpriv", "--pdeathsig", "KILL", "--", *line]).returncode
