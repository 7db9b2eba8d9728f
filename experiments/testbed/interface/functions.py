# SPDX-License-Identifier: BSD-3-Clause
"""The functions of the Python interface."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cli import campaigns, execution
from ..cli.execution import Ends, Taken
from ..cli.machine_options import MachineOptions
from ..cli.options import checked_seeds
from ..crash import plan as crash_plan
from ..crash import shipped
from ..crash.report import Report
from ..errors import TestbedError
from ..guest.session import open_session
from ..manifest import bases, parse, scales
from ..manifest.render import Runs, with_seeds
from ..paths import results_root
from ..replay import verdicts
from ..results import frame, lookup
from ..results import results as stored
from ..results.results import Result
from ..run.runner import drive, run_with_bar

if TYPE_CHECKING:
    import pandas

OVERRIDES = (
    *("cpus", "memory", "file_system", "mount_options", "device", "set"),
    *("kernel", "kernel_modules", "kernel_arguments"),
)
OF_EXEC = (*OVERRIDES, "module")


@dataclass(frozen=True)
class Ended:
    """The end of a guest of exec(). Text is decoded as UTF-8, with a replacement character for invalid bytes.

    Attributes:
        exit_status: Exit status of the program, 0 to 255; None after a power cut.
        stdout: Standard output of the program.
        stderr: Standard error of the program.
        regions: One dict of counters for each region of interest, in the order of their ends. A name ends in its unit:
            "time-ps" is virtual time in picoseconds. A counter without a unit is a number of events.
        files: Content of the files that came back, by their names.
        power_cut: State of the device after a power cut, with its virtual time; None without a power cut.
    """

    exit_status: int | None
    stdout: str
    stderr: str
    regions: list[dict[str, int]]
    files: dict[str, bytes]
    power_cut: dict[str, Any] | None

    @property
    def counters(self) -> dict[str, int]:
        """The counters of the last region of interest; empty without a region."""
        return self.regions[-1] if self.regions else {}


def run(
    manifest: str | Path,
    *,
    scale: str | int | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    scheduler: str | None = None,
    **overrides: Any,
) -> list[Result]:
    """Run every point of a manifest. Existing results are reused.

    Args:
        manifest: Name of a manifest that ships, or path of a .toml file.
        scale: "quick", "standard", "full", or the divisor N of 1/N; sizes of data and caches are divided by it.
        seed: Seed, 0 or more, of page placement, the timer and the order of CPUs; the manifest's by default.
        seeds: Run each point with the seeds from 0 to `seeds` - 1.
        scheduler: Address of a cluster, such as "tls://head:8786"; this host by default.
        **overrides: Options of `testbed exec` in place of the manifest's: `cpus` (a number), `memory` ("4GiB"),
            `file_system`, `mount_options`, `device` (one profile or a list), `set` (keys and values, such as
            {"device.flash-read": "3us"}), `kernel`, `kernel_modules` and `kernel_arguments`. Times and sizes carry
            their units in the text.

    Returns:
        One result for each point and seed, in the order of the manifest's matrix.

    Raises:
        TestbedError: The manifest, a value or the machine is wrong.
        RunFailed: A build or a guest fails.
    """
    path = bases.find(str(manifest))
    machine = _machine(path, seed, overrides, OVERRIDES)
    stated = parse.load_changed(path, machine.changes())
    divisor = scales.divisor(None if scale is None else str(scale), path.stem)
    runs = list(Runs(stated if divisor is None else parse.at_scale(stated, divisor)))
    count = checked_seeds(seeds)
    if count and seed is not None:
        raise TestbedError(f"seed={seed} and seeds={count}: give one of them; seeds=N stands for the seeds 0 to N-1")
    runs = with_seeds(runs, count) if count else runs
    verdicts.refuse_if_none_can_be(runs)
    return run_with_bar(runs, open_session(scheduler=scheduler), results_root())


def results(which: str | Sequence[Result] | None = None) -> "pandas.DataFrame":
    """Load results as a pandas table with one row per result, or per row that the program of a result reported.

    Args:
        which: Value of run(), or the text that `testbed explain` takes: a path, a manifest, MANIFEST/POINT or the begin
            of a hash. Without it, the table has all results.

    Returns:
        A table of shape (rows, columns). Names of columns end in their units: `time_ps` is virtual time in
        picoseconds, `link_read_bytes` is in bytes. A counter without a unit is a number of events. The axes of the
        matrix are columns under their own names.

    Raises:
        TestbedError: No result matches, or a file is damaged.
        RunFailed: pandas is not installed.
    """
    if which is None:
        return frame.of_results(stored.load_all(results_root()))
    return frame.of_results(lookup.find(results_root(), which) if isinstance(which, str) else which)


def exec(
    *program: str,
    script: str | Path | None = None,
    files: Sequence[str | Path] = (),
    packages: Sequence[str] = (),
    output: Sequence[str] = (),
    own_roi: bool = False,
    media: str | Path | None = None,
    power_cut: str | None = None,
    manifest: str | Path = "kv-ycsb",
    seed: int | None = None,
    **overrides: Any,
) -> Ended:
    """Run a program of this host in a guest with the device at /pmem.

    Args:
        *program: The program and its arguments; with `script`, only the arguments.
        script: Shell script to run in the guest in place of a program.
        files: Files and folders of this host to copy into the guest.
        packages: Packages of Debian 13 to install; they need a script.
        output: Patterns of files in the guest that come back.
        own_roi: The program marks its region of interest. By default the whole program is the region.
        media: Folder that keeps the content of the device.
        power_cut: "at-event=N", or "at-time=T" with T in virtual time, such as "9500ms".
        manifest: Manifest that describes the machine.
        seed: Seed, as for run().
        **overrides: Those of run(), and `module`: one path or a list of paths of kernel modules to load.

    Returns:
        The end of the guest. A program may fail: see `exit_status`.

    Raises:
        TestbedError: An argument is wrong.
        RunFailed: A build fails, or the guest ends without an exit status.
    """
    taken = Taken(
        Path(script) if script else None, [Path(one) for one in files], list(packages) or None, own_roi, stdin=False
    )
    ends = Ends(media=Path(media) if media else None, output=list(output), cut_at=power_cut)
    plan = execution.plan(
        list(program), taken, ends, _machine(bases.find(str(manifest)), seed, overrides, OF_EXEC), warn=False
    )
    outcome = drive(open_session().executor.run(plan.spec))
    if outcome.exit_status is None and outcome.power_cut is None:
        raise execution.lost(plan, outcome)
    return Ended(
        None if outcome.power_cut is not None else outcome.exit_status,
        outcome.stdout.decode(errors="replace"),
        outcome.stderr.decode(errors="replace"),
        [stored.roi_counters(roi) for roi in outcome.rois],
        dict(outcome.files),
        outcome.power_cut,
    )


def crash(
    test: str | Path,
    *,
    jobs: int = 1,
    every: bool = False,
    seed: int | None = None,
    scheduler: str | None = None,
) -> Report:
    """Construct and check every state in which a power cut can leave the data of a crash test.

    Args:
        test: Name of a crash test that ships, or path of a .toml file.
        jobs: Number of guests at a time, 1 or more.
        every: Judge each state, also where recovery reads the same data as in another state.
        seed: Seed of the recorded run, as for run().
        scheduler: Address of a cluster; this host by default.

    Returns:
        The report. Bad states are in its `violations` and raise nothing.

    Raises:
        TestbedError: The test or `jobs` is wrong.
        RunFailed: A build or a guest fails.
    """
    if jobs < 1:
        raise TestbedError(f"jobs={jobs}: it must be 1 or more")
    file = shipped.find(str(test))
    plan = crash_plan.load(file)
    with campaigns.campaign(plan, file, seed, scheduler, jobs, every, open_session) as campaign:
        return drive(campaign.run())


def _machine(manifest: Path, seed: int | None, overrides: Mapping[str, Any], known: Sequence[str]) -> MachineOptions:
    """The options of a machine. TestbedError: an override is not `known`."""
    given = dict(overrides)
    for name in given.keys() - {*known}:
        raise TestbedError(f"unknown override '{name}'; the overrides are {', '.join(known)}")
    device, setting = given.pop("device", None), given.pop("set", {})
    given |= {name: Path(given[name]) for name in ("kernel", "kernel_modules") if given.get(name)}
    if module := given.pop("module", None):
        given["module"] = [Path(one) for one in ([module] if isinstance(module, str | Path) else module)]
    return MachineOptions(
        manifest=str(manifest),
        device=[device] if isinstance(device, str) else device,
        setting=[f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in setting.items()],
        seed=seed,
        **given,
    )
