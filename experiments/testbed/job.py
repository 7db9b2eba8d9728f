# SPDX-License-Identifier: BSD-3-Clause
"""What is sent into a guest: a cpio with /job/run and its files."""

import io
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .cpio import CpioWriter


@dataclass(frozen=True)
class Job:
    """A script and the files beside it; names are relative to /job."""

    script: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    executables: Mapping[str, bytes] = field(default_factory=dict)
    symlinks: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    def archive(self) -> bytes:
        """The cpio archive to append to the initramfs."""
        buffer = io.BytesIO()
        writer = CpioWriter(buffer)
        writer.add_file("job/run", self.script.encode(), executable=True)
        for folder in self.folders:
            writer.add_folder(f"job/{folder}")
        for name, content in sorted(self.files.items()):
            writer.add_file(f"job/{name}", content)
        for name, content in sorted(self.executables.items()):
            writer.add_file(f"job/{name}", content, executable=True)
        for name, target in sorted(self.symlinks.items()):
            writer.add_symlink(f"job/{name}", target)
        writer.close()
        return buffer.getvalue()


def command_job(argv: tuple[str, ...]) -> Job:
    """A job that runs one program of the guest image, which marks its own region of interest."""
    return script_job(f"exec {shlex.join(argv)}")


def script_job(body: str, executables: Mapping[str, Path] | None = None) -> Job:
    """A job from shell lines, with host files put beside the script as programs."""
    programs = {name: path.read_bytes() for name, path in (executables or {}).items()}
    return Job(f"#!/bin/bash\n{body}\n", executables=programs)
