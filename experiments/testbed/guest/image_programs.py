# SPDX-License-Identifier: BSD-3-Clause
"""The programs and engines of the guest, read from its image, so that a missing name is rejected before the boot."""

import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ..build import workloads
from ..errors import TestbedError
from ..manifest.render import Run
from . import own_archives
from .cpio import listed
from .qemu_line import Images

OWN = "usr/local/bin/"  # the testbed's programs; `kv` starts `kv-ENGINE` beside it
FOLDERS = (OWN, "usr/bin/", "usr/sbin/", "bin/", "sbin/")


def check(runs: Iterable[Run], images: Images) -> None:
    """Raise TestbedError if the guest of a run lacks the program or the engine of the run."""
    listed = cache(_programs)
    for run in runs:
        there = listed((*images.initrds, *own_archives.of(run.guest, run.job, images.archives)))
        program = run.argv[0]
        if run.program or "/" in program:  # the job brings the program along, or only the guest can tell
            continue
        if program not in there:
            what = f"the guest has no program '{program}'; {_hint(program, there)}"
            raise TestbedError(f"{run.origin}: key 'workload.command': {what}")
        engine = _option(run.argv, "--engine")
        engines = {name.removeprefix(program + "-") for name in there if name.startswith(program + "-")}
        if engine is not None and engines and engine not in engines:
            known = f"there are: {', '.join(sorted(engines))}"
            raise TestbedError(f"{run.origin}: key '{_key(run, engine)}': {program} has no engine '{engine}'; {known}")


def _hint(program: str, there: dict[str, str]) -> str:
    """The remedy for a program that the guest lacks."""
    ours = {*(name for name in there if there[name] == OWN), *workloads.programs()}
    near = difflib.get_close_matches(program, sorted(ours), n=1, cutoff=0.5)
    return f"did you mean '{near[0]}'?" if near else "`testbed shell` shows what there is"


def _programs(archives: tuple[Path, ...]) -> dict[str, str]:
    """The names of all programs, with the folder of each."""
    found = {}
    for archive in archives:
        for entry in listed(archive):
            folder, _, base = entry.name.removeprefix("./").rpartition("/")
            if f"{folder}/" in FOLDERS:
                found[base] = f"{folder}/"
    return found


def _option(argv: tuple[str, ...], name: str) -> str | None:
    """The value of an option, given as one word or as two."""
    for word, after in zip(argv, (*argv[1:], ""), strict=True):
        if word == name:
            return after
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


def _key(run: Run, value: str) -> str:
    """The manifest key that states the value."""
    axes = [axis for axis, stated in run.point.items() if str(stated) == value]
    return f"matrix.{axes[0]}" if axes else "workload.command"
