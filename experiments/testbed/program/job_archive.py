# SPDX-License-Identifier: BSD-3-Clause
"""The input of a guest: an archive of /job/run and its files, and Debian packages laid over the guest's root."""

import copy
import hashlib
import io
import re
import shlex
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from ..build import workloads
from ..errors import TestbedError
from . import packages
from .packages import Versions

SHELL = re.compile(rb"#!\s*\S*\b(env\s+)?(ba|da)?sh\b")  # the beginning of a script that bash can run
NAME_BYTES_MAX, PATH_BYTES_MAX = 255, 4000  # Linux's limits, less the prefix of a path in the guest


@dataclass(frozen=True)
class Job:
    """A script and the files beside it, by content; names are relative to /job. `packages` are "name=version".

    The guest has the programs of the workloads that the script or a shell script beside it names, and of the workloads
    in `workloads`.
    """

    script: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    executables: Mapping[str, bytes] = field(default_factory=dict)
    symlinks: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    packages: Versions = ()
    workloads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check every name: if the guest's tar rejected one, the guest would end without a report from the job."""
        check_names([*self.files, *self.executables, *self.symlinks], self.folders)

    def archive(self) -> bytes:
        """A tar archive of /job, which the guest unpacks once it has booted. Its bytes depend on the content only."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
            _add_file(tar, "run", self.script.encode(errors="surrogateescape"), executable=True)
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

    @property
    def all_workloads(self) -> tuple[str, ...]:
        return tuple(sorted({*self.workloads, *self._named_by_files, *workloads.named_in(self.script)}))

    @cached_property
    def _named_by_files(self) -> set[str]:
        """The workloads that shell scripts among the files name."""
        scripts = (content for content in (*self.files.values(), *self.executables.values()) if SHELL.match(content))
        return {name for script in scripts for name in workloads.named_in(script.decode(errors="replace"))}

    def initrds(self) -> tuple[Path, ...]:
        """The packages that the guest's root lacks, as cpio archives for the initramfs."""
        return (packages.archive(self.packages),) if self.packages else ()

    def with_script(self, script: str) -> "Job":
        """The same job with another script. The files are not checked and hashed again: a matrix has many scripts."""
        other = copy.copy(self)
        vars(other).update(script=script, contents=self.contents)
        return other

    def identity(self) -> dict[str, Any]:
        """The parts that can influence a run: the script, every file's content, every package's version."""
        return {"script": self.script, **self.contents}

    @cached_property
    def contents(self) -> dict[str, Any]:
        """The identity without the script."""
        contents = sorted({**self.files, **self.executables}.items())
        return {
            "files": {name: hashlib.sha256(content).hexdigest() for name, content in contents},
            "packages": packages.identity(self.packages) if self.packages else {},
        }


def check_names(files: Iterable[str], folders: Iterable[str] = ()) -> None:
    """Raise TestbedError for names that cannot exist together in the folder /job."""
    taken = set(files)
    for name in (*taken, *folders):
        if fault := _fault(name):
            raise TestbedError(f"the name {name!r} {fault}")
        above = next((str(folder) for folder in PurePosixPath(name).parents if str(folder) in taken), None)
        if above:
            raise TestbedError(f"the name '{above}' is taken by a file and by the folder of '{name}'; rename one")


def _fault(name: str) -> str:
    parts = name.split("/")
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        return "is no path in the guest; give one without '..'"
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return "is not UTF-8; rename the file"
    too_long = max(sizes) > NAME_BYTES_MAX or sum(sizes) + len(sizes) > PATH_BYTES_MAX
    return "is too long for the guest; shorten it" if too_long else ""


def _entry(name: str, mode: int) -> tarfile.TarInfo:
    """A tar entry that is owned by root and dated 0."""
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
