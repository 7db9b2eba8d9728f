# SPDX-License-Identifier: BSD-3-Clause
"""Turns a shell script of the host into a guest job: it runs as root in the guest, with the guest's own programs."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..build import workloads
from ..errors import TestbedError
from ..paths import kind_of, why_not_there
from . import host_program
from .bundle import OURS, Bundle
from .job_archive import SHELL, Job, check_names
from .packages import Versions


def guest_script_job(
    script: Path, arguments: Sequence[str], extra_files: Sequence[Path], versions: Versions, cwd: Path, marked: bool
) -> Job:
    """A job that runs the script by bash beside the files; all of it is the region of interest unless `marked`."""
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
    job = bundle.job(("bash", Path(os.path.normpath(cwd / script)).name, *arguments), "", "")
    return replace(job, workloads=workloads.named_in(host_program.read(cwd / script).decode(errors="replace")))


def _check_script(script: Path, path: Path) -> None:
    if kind_of(path) != "file":
        raise TestbedError(f"--script {script}: {why_not_there(path) or 'is no file'}")
    begin = host_program.read(path, 200)
    if begin.startswith(b"\x7fELF"):
        raise TestbedError(f"--script {script}: is a program and no script; start it by testbed exec -- {script}")
    if begin.startswith(b"#!") and not SHELL.match(begin):
        starts = begin[2:].partition(b"\n")[0].decode(errors="replace").strip()
        raise TestbedError(f"--script {script}: is a script of '{starts}' and not of a shell; give one of bash")
