# SPDX-License-Identifier: BSD-3-Clause
"""Turns a shell script of the host into a guest job: it runs as the guest's root, among the guest's own programs."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import TestbedError
from ..paths import kind_of, why_not_there
from . import host_program
from .bundle import OURS, Bundle
from .job_archive import Job, check_names
from .packages import Versions

_SHELL = re.compile(rb"#!\s*\S*\b(env\s+)?(ba|da)?sh\b")  # as a script for bash may begin


def guest_script_job(
    script: Path, arguments: Sequence[str], extra_files: Sequence[Path], versions: Versions, cwd: Path, marked: bool
) -> Job:
    """A job that runs it by bash in a folder with the files, all of it the region of interest unless it is `marked`."""
    _check_script(script, cwd / script)
    files: dict[str, bytes] = {}
    executables: dict[str, bytes] = {}
    for option, extra in (("--script", script), *(("--file", one) for one in extra_files)):
        path = Path(os.path.normpath(cwd / extra))
        for file in host_program.extra_files(extra, path):
            name = str(file.relative_to(path.parent))
            if name in files or name in executables or name.split("/")[0] in OURS:
                raise TestbedError(f"{option} {extra}: the name '{name}' is taken in the guest; rename {file.name}")
            (executables if os.access(file, os.X_OK) else files)[name] = host_program.read(file)
    check_names([*files, *executables])
    bundle = Bundle(files, executables, (), versions, "own" if marked else "command")
    return bundle.job(("bash", Path(os.path.normpath(cwd / script)).name, *arguments), "", "")


def _check_script(script: Path, path: Path) -> None:
    if kind_of(path) != "file":
        raise TestbedError(f"--script {script}: {why_not_there(path) or 'is no file'}")
    begin = host_program.read(path, 200)
    if begin.startswith(b"\x7fELF"):
        raise TestbedError(f"--script {script}: is a program and no script; start it by testbed exec -- {script}")
    if begin.startswith(b"#!") and not _SHELL.match(begin):
        starts = begin[2:].partition(b"\n")[0].decode(errors="replace").strip()
        raise TestbedError(f"--script {script}: is a script of '{starts}' and not of a shell; give one of bash")
