# SPDX-License-Identifier: BSD-3-Clause
"""What is sent into a guest: a cpio with /job/run and its files, and Debian packages laid over the guest's root."""

import hashlib
import io
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import packages
from .cpio import CpioWriter
from .packages import Versions


@dataclass(frozen=True)
class Job:
    """A script and the files beside it, by content; names are relative to /job. `packages` are "name=version"."""

    script: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    executables: Mapping[str, bytes] = field(default_factory=dict)
    symlinks: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    packages: Versions = ()

    def archive(self) -> bytes:
        """The cpio archives to append to the initramfs."""
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
        added = packages.archive(self.packages).read_bytes() if self.packages else b""
        return buffer.getvalue() + added

    def identity(self) -> dict[str, Any]:
        """What of it can influence a run: the script, every file's content, every package's version."""
        contents = sorted({**self.files, **self.executables}.items())
        return {
            "script": self.script,
            "files": {name: hashlib.sha256(content).hexdigest() for name, content in contents},
            "packages": packages.identity(self.packages) if self.packages else {},
        }


def command_job(argv: tuple[str, ...]) -> Job:
    """A job that runs one program of the guest image, which marks its own region of interest."""
    return script_job(f"exec {shlex.join(argv)}")


def script_job(body: str, executables: Mapping[str, Path] | None = None) -> Job:
    """A job from shell lines, with host files put beside the script as programs."""
    programs = {name: path.read_bytes() for name, path in (executables or {}).items()}
    return Job(f"#!/bin/bash\n{body}\n", executables=programs)
