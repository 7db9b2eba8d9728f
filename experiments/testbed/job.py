# SPDX-License-Identifier: BSD-3-Clause
"""What is sent into a guest: an archive of /job/run and its files, and Debian packages laid over the guest's root."""

import hashlib
import io
import shlex
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import packages
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
        """A tar archive of /job, which the guest unpacks once it has booted. Its bytes depend on the content only."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
            _add_file(tar, "run", self.script.encode(), executable=True)
            for folder in self.folders:
                entry = _entry(folder, 0o755)
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
            for name, content in sorted(self.files.items()):
                _add_file(tar, name, content)
            for name, content in sorted(self.executables.items()):
                _add_file(tar, name, content, executable=True)
            for name, target in sorted(self.symlinks.items()):
                entry = _entry(name, 0o777)
                entry.type, entry.linkname = tarfile.SYMTYPE, target
                tar.addfile(entry)
        return buffer.getvalue()

    def initrds(self) -> tuple[Path, ...]:
        """What the guest's root lacks of the packages, as cpio archives for the initramfs."""
        return (packages.archive(self.packages),) if self.packages else ()

    def identity(self) -> dict[str, Any]:
        """What of it can influence a run: the script, every file's content, every package's version."""
        contents = sorted({**self.files, **self.executables}.items())
        return {
            "script": self.script,
            "files": {name: hashlib.sha256(content).hexdigest() for name, content in contents},
            "packages": packages.identity(self.packages) if self.packages else {},
        }


def _entry(name: str, mode: int) -> tarfile.TarInfo:
    """Owned by root and dated 0."""
    entry = tarfile.TarInfo(f"job/{name}")
    entry.mode = mode
    return entry


def _add_file(tar: tarfile.TarFile, name: str, content: bytes, executable: bool = False) -> None:
    entry = _entry(name, 0o755 if executable else 0o644)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def command_job(argv: tuple[str, ...]) -> Job:
    """A job that runs one program of the guest image, which marks its own region of interest."""
    return script_job(f"exec {shlex.join(argv)}")


def script_job(body: str, executables: Mapping[str, Path] | None = None) -> Job:
    """A job from shell lines, with host files put beside the script as programs."""
    programs = {name: path.read_bytes() for name, path in (executables or {}).items()}
    return Job(f"#!/bin/bash\n{body}\n", executables=programs)
