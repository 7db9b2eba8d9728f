# SPDX-License-Identifier: BSD-3-Clause
"""The [program] of a manifest: the files that go into the guest with a command, and the script around the command."""

import os
import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ..errors import TestbedError
from ..paths import kind_of
from ..validation import Strict, named
from . import host_program, packages
from .job_archive import Job, check_names
from .packages import Versions

PackageName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]+$")]
OURS = ("run", "root")  # names in /job that the testbed itself uses


class ProgramSection(Strict):
    """`host` programs and `files` are relative to the manifest; in the guest they are in the working folder, /job."""

    host: list[str] = []  # programs of this host, taken along with their libraries
    files: list[str] = []  # files and folders
    packages: list[PackageName] = []  # of Debian 13, with their dependencies
    setup: str = ""  # shell lines before the region of interest; {names} as in the command
    finish: str = ""  # shell lines after it
    roi: Literal["command", "own"] = "command"  # all of the command, or the program's own marks (testbed_roi.h)


@dataclass(frozen=True)
class Bundle:
    """The programs, files and packages that all runs of one manifest bring along, by content."""

    files: dict[str, bytes]
    executables: dict[str, bytes]
    hosted: tuple[str, ...]
    packages: Versions
    roi: str

    def job(self, argv: tuple[str, ...], setup: str, finish: str) -> Job:
        """The job of one point of the matrix."""
        enter = host_program.ENTER_ROOT if self.hosted else ""
        script = _script(enter, setup, self._command(argv), finish)
        return self._bare.with_script(script)

    @cached_property
    def _bare(self) -> Job:
        return Job("", self.files, self.executables, packages=self.packages)

    def _command(self, argv: tuple[str, ...]) -> str:
        name = argv[0].removeprefix("./")
        hosted = name in self.hosted
        command = host_program.in_root([f"/job/{name}", *argv[1:]], "/job") if hosted else shlex.join(argv)
        return command if self.roi == "own" else f"roi-run {command}"


def _script(enter: str, setup: str, command: str, finish: str) -> str:
    """The script of a run. Its stdout is the command's alone: `setup` and `finish` write to stderr."""
    return f"""#!/bin/bash
set -eu
{enter}{{
:
{setup.strip()}
}} >&2
status=0
{command} || status=$?
{{
:
{finish.strip()}
}} >&2
exit $status
"""


def pack(section: ProgramSection, origin: Path) -> Bundle:
    """Read everything that the section names. TestbedError, with manifest and key: something cannot be read."""
    folder = origin.parent.absolute()
    files: dict[str, bytes] = {}
    executables: dict[str, bytes] = {}

    def add(name: str, path: Path, key: str) -> None:
        if name in files or name in executables or name.split("/")[0] in OURS:
            raise TestbedError(f"{origin}: key '{key}': the name '{name}' is taken in the guest; rename {path.name}")
        (executables if os.access(path, os.X_OK) else files)[name] = host_program.read(path)

    for name in section.host:
        with named(origin, "program.host"):
            program = host_program.find(name, folder)
            needed = host_program.libraries(program)
        add(program.name, program, "program.host")
        executables |= {host_program.inside(path): host_program.read(path) for path in needed}
    for name in section.files:
        path = Path(os.path.normpath(folder / name))
        kind = kind_of(path)
        if kind not in ("file", "folder") or not path.name:
            why = "is neither a file nor a folder with a name" if kind else "does not exist"
            raise TestbedError(f"{origin}: key 'program.files': {name} {why}; paths are relative to the manifest")
        with named(origin, "program.files"):
            found = host_program.tree(path)
        for file in found:
            add(str(file.relative_to(path.parent)), file, "program.files")
    with named(origin, "program.files"):
        check_names([*files, *executables])
    hosted = tuple(Path(name).name for name in section.host)
    return Bundle(files, executables, hosted, versions(section, origin), section.roi)


def versions(section: ProgramSection, origin: Path) -> Versions:
    """The versions of the packages that the section names, and of all their dependencies."""
    try:
        return packages.resolve(tuple(section.packages)) if section.packages else ()
    except TestbedError as error:
        sentence = re.sub(r"^guest-image/image/packages\.sh: ", "", str(error))
        raise TestbedError(f"{origin}: key 'program.packages': {sentence}") from error
