# SPDX-License-Identifier: BSD-3-Clause
"""The steps of `testbed exec`: options, then the plan of one guest, then its outcome, then the report."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .. import outputs
from ..errors import RunFailed, TestbedError
from ..guest.executor import GuestOutcome, GuestSpec
from ..guest.streams import FILES_PORT
from ..paths import results_root
from ..program import files_back, standard_input, streamed
from ..program.guest_script import guest_script_job
from ..program.host_program import program_job
from ..program.job_archive import Job
from ..results import results as results_module
from ..results import time_shares
from ..run.runner import keep_failure
from . import machine_options, tables
from .machine_options import CutAt, MachineOptions, Packages
from .options import ByCpu, Json

Words = Annotated[list[str] | None, typer.Argument(metavar="-- PROGRAM [ARGS]...", help="a program of this host")]
Script = Annotated[
    Path | None,
    typer.Option("--script", metavar="FILE", help="instead: a shell script among the guest's own programs; - is stdin"),
]
Output = Annotated[
    list[str] | None,
    typer.Option("--output", "-o", metavar="PATTERN", help="files to bring back, as '/pmem/*.log'; repeatable"),
]


@dataclass(frozen=True)
class Taken:
    """The options for the content of the guest's job."""

    script: Script = None
    file: Annotated[list[Path] | None, typer.Option("--file", "-f", help="a file or folder to take along")] = None
    package: Packages = None
    own_roi: Annotated[bool, typer.Option("--own-roi", help="the program marks its region of interest")] = False
    stdin: Annotated[bool, typer.Option("--stdin", "-i", help="the program reads the input of this command")] = False


@dataclass(frozen=True)
class Ends:
    """The options for the end of the guest: a power cut, and the data that is kept."""

    media: Annotated[Path | None, typer.Option(help="keep the device's content in this folder")] = None
    output: Output = None
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="where these are put")] = Path()
    cut_at: CutAt = None


@dataclass(frozen=True)
class Shown:
    """The options for the report."""

    by_cpu: ByCpu = False
    json: Json = None


@dataclass(frozen=True)
class Plan:
    """One guest to run, and the use of its outcome."""

    spec: GuestSpec
    name: str  # of the program or script
    patterns: tuple[str, ...]  # of the files to bring back
    into: Path
    cut_at: str | None


def plan(program: list[str], taken: Taken, ends: Ends, machine: MachineOptions, warn: bool = True) -> Plan:
    """Check the options and make the guest's job and machine of them. TestbedError: an option is wrong.

    With `warn`, a message reports standard input that waits and that the guest does not get.
    """
    script, file = _given(taken.script, taken.file or [], taken.stdin)
    job = _job(program, script, file, taken.package, taken.own_roi, _patterns(ends.output))
    if warn or taken.stdin:
        job = _with_input(job, taken.stdin, [path for path in (script, *file) if path])
    cut = machine_options.power_cut(ends.cut_at)
    guest = machine.guest()
    spec = GuestSpec(guest, job, cut, media_folder=ends.media, helper_thread=guest.cpu.cores == 1)
    name = (script or Path(program[0])).name
    return Plan(spec, name, tuple(ends.output or ()), ends.into, ends.cut_at)


def report(plan: Plan, outcome: GuestOutcome, shown: Shown) -> int:
    """Show the outcome and write the files that came back; return the exit status of the program."""
    status = _told(plan, outcome, shown.json, shown.by_cpu)
    bring_back(outcome, list(plan.patterns), plan.into)
    return status


def _given(script: Path | None, files: list[Path], stdin: bool) -> tuple[Path | None, list[Path]]:
    """The script and the files to take along; streams are copied to files. Only one option may read standard input."""
    if stdin and {streamed.STDIN, streamed.SHORT} & {script, *files}:
        raise TestbedError("--stdin and /dev/stdin (or -) both read standard input; give the file by its name")
    return script and streamed.file_of("--script", script), [streamed.file_of("--file", one) for one in files]


def _told(plan: Plan, outcome: GuestOutcome, json: Path | None, by_cpu: bool) -> int:
    """Report the end of a guest of `exec` and its device's counters; return the program's exit status."""
    regions = [results_module.roi_counters(roi) for roi in outcome.rois]
    said = {"outcome": outcome.outcome, "exit_status": outcome.exit_status, "power_cut": outcome.power_cut}
    of_each = {"devices": devices} if len(devices := results_module.device_counters(outcome.rois)) > 1 else {}
    cpus = time_shares.cpu_counters(outcome.rois[-1]) if outcome.rois else []
    of_each |= {"cpus": cpus} if len(cpus) > 1 else {}
    tables.save_json(json, {**said, "counters": regions[-1] if regions else {}, "regions": regions, **of_each})
    if outcome.power_cut is not None:
        tables.show_power_cut(outcome.power_cut, Console(stderr=True))
        return 0
    if outcome.exit_status is None:
        raise lost(plan, outcome)
    tables.show_regions(outcome.rois, Console(stderr=True), by_cpu)
    tables.show_devices(devices, Console(stderr=True))
    if plan.cut_at:
        print(f"testbed: the power was not cut: the program had ended before {plan.cut_at}", file=sys.stderr)
    return outcome.exit_status


def lost(plan: Plan, outcome: GuestOutcome) -> RunFailed:
    """The error about a guest that ended without an exit status; its output is kept in a folder beside the results."""
    tail = "\n  ".join(filter(None, (outcome.error, *outcome.console.strip().splitlines()[-5:])))
    kept = keep_failure(outputs.within(results_root(), "exec", plan.name, ".json"), outcome)
    return RunFailed(f"the guest ended without an exit status ({outcome.outcome}, see {kept}); it says:\n  {tail}")


def _with_input(job: Job, wanted: bool, files: list[Path]) -> Job:
    """The job with this command's standard input, if `wanted`. If not, a message reports input that waits, unless one
    of the files is this input."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError):  # the process has no standard input
        descriptor = -1
    if wanted:
        return standard_input.job(job, standard_input.read(descriptor))
    if standard_input.waits(descriptor) and not any(standard_input.is_the_file(descriptor, path) for path in files):
        print(f"testbed: {standard_input.NOT_TAKEN}", file=sys.stderr)
    return job


def _patterns(output: list[str] | None) -> list[str]:
    for pattern in output or []:
        if why := files_back.fault(pattern):
            raise TestbedError(f"--output {pattern}: {why}")
    return output or []


def bring_back(outcome: GuestOutcome, patterns: list[str], into: Path) -> None:
    """Write the guest's files into the folder and name each. A guest without an exit status has returned no files."""
    for name, content in outcome.files.items():
        outputs.write(into / name, content)
        print(f"testbed: written: {into / name} ({len(content):,} bytes)", file=sys.stderr)
    if patterns and not outcome.files and outcome.exit_status is not None:
        print(f"testbed: no file of the guest matches {', '.join(patterns)}", file=sys.stderr)


def _job(
    program: list[str],
    script: Path | None,
    files: list[Path],
    package: list[str] | None,
    own_roi: bool,
    output: list[str],
) -> Job:
    """The job that `exec` runs."""
    if script:
        versions = machine_options.versions(package)
        job = guest_script_job(script, program, files, versions, Path.cwd(), own_roi)
        return files_back.job(job, output, port=FILES_PORT)
    if not program:
        raise TestbedError("there is nothing to run; give -- PROGRAM [ARGS]..., or --script FILE")
    if package:
        why = "a program of this host does not see them, since it has a root of its own"
        raise TestbedError(f"--packages are for --script FILE: {why}")
    return files_back.job(
        program_job(program, files, Path.cwd(), own_roi), output, str(Path.cwd()), "/job/root", FILES_PORT
    )


def tell_progress(line: str) -> None:
    """Print a line of progress in one write: print() makes two, and the guest's output could come between them."""
    sys.stderr.write(f"testbed: {line}\n")
