# SPDX-License-Identifier: BSD-3-Clause
"""The `testbed` command. Each command: read the input, do the work elsewhere, print a table, save it as JSON."""

import errno
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from .. import console, outputs, scratch
from ..build import doctor as doctor_module
from ..build import images
from ..build.cache import Cache
from ..build.components import COMPONENTS, TESTBED, Product, build
from ..crash import plan as crash_plan
from ..crash.campaign import Campaign
from ..errors import Interrupted, RunFailed, TestbedError
from ..guest.executor import GuestOutcome, GuestSpec
from ..guest.kernel_images import check_is_here
from ..guest.session import open_session
from ..guest.shell import check_terminal, run_shell
from ..guest.streams import FILES_PORT
from ..guest.top import run_top
from ..manifest import bases, scales
from ..manifest import manifest as manifests
from ..paths import FIGURES, REPO, cache_root, results_root
from ..program import bundle, files_back, packages, standard_input, streamed
from ..program.guest_script import guest_script_job
from ..program.host_program import program_job
from ..program.job_archive import Job
from ..replay import verdicts
from ..replay.grid import configurations
from ..replay.replayer import open_replayer
from ..results import results as results_module
from ..results import time_shares
from ..run.runner import drive, keep_failure, run_with_bar
from ..studies import sweep as sweep_module
from ..studies.bench import run_bench
from ..studies.crash_cost import run_crash_cost
from ..studies.host_cost import run_host_cost
from . import image_commands, kernel_commands, machine_options, module_commands, presentation, result_commands, tables
from .machine_options import (
    Cpus,
    CutAt,
    Devices,
    FileSystem,
    Kernel,
    KernelArguments,
    KernelModules,
    Memory,
    MountOptions,
    Packages,
    Settings,
)
from .module_commands import Modules, with_modules
from .options import ByCpu, Json, Scale, Scheduler, Tls, TrustNetwork
from .pages import with_page


class Commands(TyperGroup):
    """Typer ends silently at Ctrl-C, and takes a table's name, as [program], for markup. SIGTERM counts as Ctrl-C."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        for command in self.commands.values():
            _show_brackets(command)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # else what it has started goes on
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error


def _show_brackets(command: Any) -> None:
    """Those in what the command and its options say of themselves, and in its own commands if it has any."""
    for said in (command, *command.params):
        if getattr(said, "help", None):
            said.help = escape(said.help)
    for inner in getattr(command, "commands", {}).values():
        _show_brackets(inner)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="How software behaves on a CXL memory-semantic SSD, without having one.\n\n"
    "A first look:\n\n"
    "  testbed latency                       what the device costs, configured and measured\n\n"
    "  testbed run kv-ycsb                   Snapshot against PMDK, YCSB A-G\n\n"
    "  testbed sweep kv-grid --replay        one capture, a thousand devices\n\n"
    "  testbed exec -- ls -l /pmem           any program of this host, on the device\n\n"
    "  testbed crash FILE                    every state that a power cut can leave\n\n"
    "  testbed shell                         a guest to look around in",
)
ManifestName = Annotated[
    str, typer.Option("--manifest", "-m", metavar="MANIFEST", help="take the machine (CPU, device, memory) from this")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="only say what is there and what would run")]


@app.command()
def run(
    manifest: Annotated[str, typer.Argument(help="a .toml file, or the name of one that ships (kv-ycsb, latency)")],
    json: Json = None,
    scheduler: Scheduler = None,
    tls: Tls = None,  # noqa: ARG001
    trust_network: TrustNetwork = False,  # noqa: ARG001
    scale: Scale = None,
    dry_run: DryRun = False,
    by_cpu: ByCpu = False,
) -> None:
    """Run a manifest: every point of its matrix, as many guests at a time as there are cores and memory for.

    Results that exist are not made again, so an interrupted run goes on where it stopped. Without --scale the
    manifest's own holds.

    Examples:

      testbed run kv-ycsb

      testbed run kv-ycsb --scale standard

      testbed run my.toml --scale 256 --json table.json

      testbed run kv-ycsb --scheduler tls://HOST:8786
    """
    path = bases.find(manifest)
    divisor = scales.divisor(scale, path.stem)
    if dry_run:
        every = manifests.runs_one_by_one(path, divisor)
        result_commands.show_runs(every, f"runs of {manifest}", json, bool(scheduler))
        return
    runs = manifests.runs(path, divisor)
    verdicts.refuse_if_none_can_be(runs)
    session = open_session(scheduler=scheduler)
    done = run_with_bar(runs, session, results_root())
    presentation.show_manifest(manifests.load(path, divisor), path, done)
    tables.show_shares_of_results(done, by_cpu)
    tables.show_mapped_files(done)
    tables.save_json(json, [result.data for result in done])


@app.command()
def sweep(
    manifest: Annotated[str, typer.Argument(help="a manifest with a [replay.grid] (kv-grid)")],
    replay: Annotated[bool, typer.Option("--replay", help="run each point once, replay its trace on the grid")] = False,
    trace: Annotated[Path | None, typer.Option(help="replay this trace instead of runs of the manifest")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only list the configurations")] = False,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="PATH", help="also write every replay to PATH")] = None,
    json: Json = None,
) -> None:
    """Every point of a manifest on every device configuration of its grid, from one capture a point.

    Finished captures and replays are kept, so an interrupted sweep goes on where it stopped.

    Examples:

      testbed sweep kv-grid --replay --csv grid.csv

      testbed sweep my.toml --replay --trace captured.trace
    """
    if not replay:
        raise TestbedError(
            "testbed sweep works by --replay; a manifest can run a configuration in a guest: testbed run"
        )
    path = bases.find(manifest)
    grid = configurations(path)
    if dry_run:
        verdicts.check_grid(path, manifests.guest_config(manifests.load(path), path), grid, open_replayer())
        console.show(f"configurations of {path.stem}", ("configuration",), [(c.label,) for c in grid])
        tables.save_json(json, [c.values for c in grid])
        return
    rows = sweep_module.run_sweep(path, grid, trace)
    tables.show_sweep(rows, path.stem)
    presentation.show_replays(path, rows)
    tables.save_json(json, [row.row() for row in rows])
    if csv:
        outputs.write(csv, sweep_module.csv_text(rows))
        console.out.print(f"written: {csv}", soft_wrap=True)


@app.command("replay", context_settings={"ignore_unknown_options": True})
def replay_(
    arguments: Annotated[
        list[str], typer.Argument(metavar="-- [OPTION]... TRACE", help="as memsys-replay --help says")
    ],
) -> None:
    """Replay one captured trace on its device or another one: memsys-replay, built if need be.

    Examples:

      testbed replay -- --help

      testbed replay -- --set device.cache-size=64M --set device.flash-read=3us captured.trace
    """
    raise typer.Exit(open_replayer().pass_through(arguments))


@app.command()
def latency(json: Json = None, manifest: ManifestName = "latency") -> None:
    """Measure loads, flushes and non-temporal stores in a guest and compare them with the profile's closed forms.

    Fails (status 1) if any is off by more than 1 %.
    """
    rows = presentation.measure_latency(open_session(), manifest)
    tables.save_json(json, [row.as_data() for row in rows])
    if not all(row.ok for row in rows):
        raise RunFailed("a latency is off by more than 1 % from the model's closed form")


@app.command()
def calibrate(
    devices: Annotated[
        list[str] | None, typer.Argument(metavar="[DEVICE]...", help="device profiles; all that have a calibration")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="fewer samples: a look in a quarter of the time")] = False,
    scheduler: Scheduler = None,
    tls: Tls = None,  # noqa: ARG001
    trust_network: TrustNetwork = False,  # noqa: ARG001
    json: Json = None,
) -> None:
    """Measure the device profiles in guests and compare them with published figures.

    Prints model against reference with the error, its bound and what the number depends on, and draws a figure a
    profile. Fails (status 1) if a number that is said to agree is beyond its bound. Runs that were made are not
    made again.

    Examples:

      testbed calibrate cxl-dram

      testbed calibrate --quick --json calibration.json
    """
    verdicts = presentation.show_calibration(open_session(scheduler=scheduler), devices or [], quick)
    tables.save_json(json, [verdict.as_data() for verdict in verdicts])
    broken = [verdict.judged.what for verdict in verdicts if verdict.broken]
    if broken:
        raise RunFailed(f"beyond the bound: {'; '.join(broken)}")


Script = Annotated[
    Path | None,
    typer.Option("--script", metavar="FILE", help="instead: a shell script, among the guest's own programs"),
]
Output = Annotated[
    list[str] | None,
    typer.Option("--output", "-o", metavar="PATTERN", help="files to bring back, as '/pmem/*.log'; repeatable"),
]


@app.command("exec", context_settings={"ignore_unknown_options": True})
def exec_(
    program: Annotated[
        list[str] | None, typer.Argument(metavar="-- PROGRAM [ARGS]...", help="a program of this host")
    ] = None,
    script: Script = None,
    file: Annotated[list[Path] | None, typer.Option("--file", "-f", help="a file or folder to take along")] = None,
    package: Packages = None,
    media: Annotated[Path | None, typer.Option(help="keep the device's content in this folder")] = None,
    output: Output = None,
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="where these are put")] = Path(),
    own_roi: Annotated[bool, typer.Option("--own-roi", help="the program marks its region of interest")] = False,
    stdin: Annotated[
        bool, typer.Option("--stdin", "-i", help="the program reads what this command's input has")
    ] = False,
    module: Modules = None,
    manifest: ManifestName = "kv-ycsb",
    cpus: Cpus = None,
    memory: Memory = None,
    file_system: FileSystem = None,
    mount_options: MountOptions = None,
    device: Devices = None,
    setting: Settings = None,
    kernel: Kernel = None,
    kernel_modules: KernelModules = None,
    kernel_arguments: KernelArguments = None,
    cut_at: CutAt = None,
    by_cpu: ByCpu = False,
    json: Json = None,
) -> None:
    """Run a program of this host in a guest, on the device, with its output as it comes and its exit status.

    Its libraries go along, and so do arguments that name files here. The device is mounted (ext4, DAX) at /pmem.
    The whole program is the region of interest, unless it marks its own (testbed_roi.h); the model's counters are
    printed after it. A script runs as the guest's root, with what follows -- as its arguments, and beside its files.
    A study of more than one run is a manifest with a [program]: docs/tutorial.md.

    Examples:

      testbed exec -- dd if=/dev/zero of=/pmem/x bs=1M count=8

      testbed exec --file data.csv -- ./my-program data.csv /pmem/out

      testbed exec --cpus 4 --by-cpu -- ./my-program

      testbed exec --stdin -- wc -l <data.csv

      testbed exec --kernel linux/arch/x86/boot/bzImage --script test.sh

      testbed exec --script test.sh --packages fio --set device.flash-read=3us -- 4

      testbed exec --output '/pmem/*.csv' --into out -- ./my-program

      testbed exec -m four-and-one --set region.0.granularity=256B -- ls -l /pmem /alone

      testbed exec --media disk --power-cut at-time=7500ms -- ./my-program
    """
    script, file = _given(script, file or [], stdin)
    job = _job(program or [], script, file, package, own_roi, _patterns(output))
    job = _with_input(job, stdin, [path for path in (script, *file) if path])
    cut = machine_options.power_cut(cut_at)
    own = machine_options.changes(cpus, memory, file_system, mount_options, device, setting)
    own = machine_options.with_kernel(own, kernel, kernel_modules, kernel_arguments)
    guest = with_modules(verdicts.machine_of(bases.find(manifest), own), module)
    spec = GuestSpec(guest, job, cut, media_folder=media, helper_thread=guest.cpu.cores == 1)
    executor = open_session().telling(lambda line: print(f"testbed: {line}", file=sys.stderr))
    outcome = drive(executor.run(spec))
    status = told(outcome, (script or Path((program or [""])[0])).name, cut_at, json, by_cpu)
    bring_back(outcome, output or [], into)
    raise typer.Exit(status)


def _given(script: Path | None, files: list[Path], stdin: bool) -> tuple[Path | None, list[Path]]:
    """The script and the files to take along, of which some may be streams; only one reader of standard input."""
    if stdin and streamed.STDIN in (script, *files):
        raise TestbedError(f"--stdin and {streamed.STDIN} both read standard input; give the file by its name")
    return script and streamed.file_of("--script", script), [streamed.file_of("--file", one) for one in files]


def told(outcome: GuestOutcome, name: str, cut_at: str | None, json: Json, by_cpu: bool = False) -> int:
    """Say how a guest ended that `exec` has run, and what its device did; its program's status."""
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
        tail = "\n  ".join(filter(None, (outcome.error, *outcome.console.strip().splitlines()[-5:])))
        kept = keep_failure(outputs.within(results_root(), "exec", name, ".json"), outcome)
        raise RunFailed(f"the guest ended without an exit status ({outcome.outcome}, see {kept}); it says:\n  {tail}")
    tables.show_regions(outcome.rois, Console(stderr=True), by_cpu)
    tables.show_devices(devices, Console(stderr=True))
    if cut_at:
        print(f"testbed: the power was not cut: the program had ended before {cut_at}", file=sys.stderr)
    return outcome.exit_status


def _with_input(job: Job, wanted: bool, files: list[Path]) -> Job:
    """The same job with this command's standard input, if that is `wanted`; if not and there is some, that is said,
    unless it was given as one of the files."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError):  # it has none
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
    """Put what came back into the folder, and say what it is; nothing is there of a guest that ended without a word."""
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
    """What `exec` runs."""
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


@app.command()
def crash(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the manifest of a crash test: docs/crash.md")],
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="guests at a time; no result depends on it")] = 1,
    every: Annotated[
        bool, typer.Option("--every", help="judge each state, also where recovery reads the same")
    ] = False,
    state: Annotated[str | None, typer.Option(metavar="ID", help="judge only this state, and say all of it")] = None,
    shell: Annotated[bool, typer.Option("--shell", help="open a guest on the --state, before any recovery")] = False,
    scheduler: Scheduler = None,
    tls: Tls = None,  # noqa: ARG001
    trust_network: TrustNetwork = False,  # noqa: ARG001
    html: Annotated[Path | None, typer.Option(metavar="PATH", help="also write the report as a page to PATH")] = None,
    json: Json = None,
) -> None:
    """Make every state that a power cut can leave of a program's data, and check each.

    The program runs once and is recorded. A line of the device that is not sure to be durable may have any of its
    versions: each choice is a state, on which recovery and check run in a copy of one guest. States that these cannot
    tell apart are judged once. Verdicts are kept: an interrupted test goes on. Fails (status 1) if one of them is bad.
    With --scheduler the copies are made by the workers of a cluster, as many as there is room for.

    Examples:

      testbed crash experiments/crash/records.toml

      testbed crash experiments/crash/records-no-fence.toml --html build/crash.html

      testbed crash experiments/crash/records-no-fence.toml --state 0-6a1f --shell
    """
    if shell:
        check_terminal()
        if not state:
            raise TestbedError("--shell opens a guest on one state; name it with --state ID")
    plan = crash_plan.load(file)
    guest = plan.guest(verdicts.machine_of(bases.find(plan.machine)), file)
    with scratch.folder("programs") as folder:
        check_is_here(guest.kernel, scheduler)
        programs = crash_plan.programs(plan, file, folder)
        session = open_session(scheduler=scheduler)
        campaign = Campaign(plan, file, guest, programs, session, jobs, every, results_root())
        if state:
            at_shell = partial(run_shell, session.images, guest) if shell else None
            detail = presentation.show_state(campaign, state, at_shell)
            raise typer.Exit(0 if detail.outcome == "ok" else 1)
        report = presentation.run_campaign(campaign)
    tables.show_crash(report, plan.name, file)
    tables.save_json(json, report.as_data())
    if html:
        from analysis import crash_page  # as all of analysis slow to load, which other commands need not wait for

        outputs.write(html, crash_page.page(plan, file, report))
        console.out.print(f"written: {html}", soft_wrap=True)
    if report.violations:
        raise RunFailed(f"{file}: {len(report.violations)} of {report.counts.states} states are not as they must be")


@app.command()
def shell(
    media: Annotated[Path | None, typer.Option(help="keep the device's content in this folder")] = None,
    package: Packages = None,
    module: Modules = None,
    manifest: ManifestName = "kv-ycsb",
    cpus: Cpus = None,
    memory: Memory = None,
    file_system: FileSystem = None,
    mount_options: MountOptions = None,
    device: Devices = None,
    setting: Settings = None,
    kernel: Kernel = None,
    kernel_modules: KernelModules = None,
    kernel_arguments: KernelArguments = None,
) -> None:
    """An interactive guest with the device mounted at /pmem. `exit` or Ctrl-A X ends it."""
    check_terminal()
    own = machine_options.changes(cpus, memory, file_system, mount_options, device, setting)
    own = machine_options.with_kernel(own, kernel, kernel_modules, kernel_arguments)
    guest = with_modules(verdicts.machine_of(bases.find(manifest), own), module)
    raise typer.Exit(run_shell(open_session().images, guest, media, machine_options.versions(package)))


@app.command()
def top(
    socket: Annotated[
        Path | None, typer.Argument(help="a guest's watch.qmp; the guest that started last if not given")
    ] = None,
    interval: Annotated[float, typer.Option(min=0.05, max=3600, help="host seconds between two looks")] = 1.0,
    views: Annotated[int, typer.Option(min=0, help="end after this many; 0 is when the guest ends")] = 0,
) -> None:
    """Watch a running guest: hit rate, bandwidth and latency percentiles, in virtual time. Ctrl-C ends it."""
    run_top(socket, interval, views)


@app.command("build")
def build_(
    component: Annotated[list[str] | None, typer.Argument(help=f"one of {', '.join(COMPONENTS)}")] = None,
    manifest: Annotated[
        str | None, typer.Option("--manifest", "-m", metavar="MANIFEST", help="also the Debian packages that it adds")
    ] = None,
    json: Json = None,
) -> None:
    """Build QEMU and the guest into the cache; nothing to do if they are there.

    Examples:

      testbed build

      testbed build --manifest redis
    """
    names = tuple(component or TESTBED)
    for name in names:
        if name not in COMPONENTS:
            raise TestbedError(f"no component '{name}'; there are: {', '.join(COMPONENTS)}")
    needed = dict.fromkeys(n for name in names for n in (*COMPONENTS[name].needs, name))
    products = build(tuple(needed)) | (_packages_of(bases.find(manifest)) if manifest else {})
    console.show("components", ("component", "path"), [(name, p.path) for name, p in products.items()])
    tables.save_json(json, {name: {"key": p.key, "path": str(p.path)} for name, p in products.items()})


def _packages_of(manifest: Path) -> dict[str, Product]:
    """The Debian packages of a manifest as one more component, if it asks for any."""
    program = manifests.load(manifest).program
    return {"packages": packages.build(bundle.versions(program, manifest))} if program and program.packages else {}


@app.command()
def cache(
    prune: Annotated[bool, typer.Option("--prune", help="remove what the present sources do not need")] = False,
    json: Json = None,
) -> None:
    """Show what is in the cache, and how large it is."""
    store = Cache(cache_root())
    if prune:
        store.prune({product.path for product in build().values()} | images.paths(store))
    rows = [(e.name, e.key, f"{e.size_bytes / 2**20:,.0f} MiB") for e in store.entries()]
    console.show(f"cache {store.root}", ("component", "key", "size"), rows)
    tables.save_json(json, [{"name": e.name, "key": e.key, "bytes": e.size_bytes} for e in store.entries()])


@app.command()
def doctor(json: Json = None) -> None:
    """Check that this host can build and run the testbed, and say what to do where it cannot."""
    checks = doctor_module.examine()
    console.show(
        "host", ("check", "state", "remedy"), [(c.name, "ok" if c.ok else "MISSING", c.remedy) for c in checks]
    )
    tables.save_json(json, [vars(c) for c in checks])
    if not all(c.ok for c in checks):
        raise typer.Exit(2)


@app.command()
def figures(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="all figures if none is named; 'studies' names all studies"),
    ] = None,
    scale: Scale = "quick",
    scheduler: Scheduler = None,
    tls: Tls = None,  # noqa: ARG001
    trust_network: TrustNetwork = False,  # noqa: ARG001
    json: Json = None,
    dry_run: DryRun = False,
) -> None:
    """Draw figures and tables beside the published values, and studies that have none, running what is missing.

    They go to build/figures, with an index of all numbers. Ctrl-C loses nothing that is finished.
    Of named figures the tables are printed, too.

    Examples:

      testbed figures

      testbed figures kv-ycsb --scale standard

      testbed figures studies

      testbed figures --scale standard --dry-run
    """
    from analysis import figures as figures_module  # slow to load, with its library for drawing

    if dry_run:
        runs = figures_module.needed(names or [], scale)
        result_commands.show_many_runs(runs, f"runs at scale {scale}", json, bool(scheduler))
        return
    tables.save_json(json, presentation.draw_figures(open_session(scheduler=scheduler), names or [], scale).as_data())


@app.command()
def report(
    figures: Annotated[Path, typer.Option(metavar="DIR", help="where testbed figures has drawn")] = FIGURES,
    out: Annotated[Path, typer.Option(metavar="DIR", help="where report.html and report.pdf go")] = REPO
    / "build"
    / "report",
    json: Json = None,
) -> None:
    """Write the figures, the scorecard and the configuration of every run as one HTML page and one PDF.

    Runs nothing and fetches nothing: it reads what testbed figures has drawn, and the results that it drew from. The
    page is one file that works without a network; equal figures and results give equal bytes.

    Examples:

      testbed report

      testbed report --out /tmp/report --json summary.json
    """
    from analysis.report import build as report_module  # what it needs is slow to load, and no other command needs it

    written = report_module.write(figures, results_root(), out)
    tables.show_report(written)
    tables.save_json(json, written.as_data())


@app.command()
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="figures, or runs as 'kv-ycsb/A-*'; all if none")
    ] = None,
    scale: Annotated[str, typer.Option("--scale", metavar="quick|standard|full")] = "quick",
    update: Annotated[bool, typer.Option("--update", help="write the file from the results instead")] = False,
    scheduler: Scheduler = None,
    tls: Tls = None,  # noqa: ARG001
    trust_network: TrustNetwork = False,  # noqa: ARG001
    json: Json = None,
) -> None:
    """Make the runs of the figures again and compare what they measure with experiments/SCALE.sha256, bit for bit.

    Names what differs, and fails (status 1) then. Results that exist are neither used nor changed. After a change that
    is meant to alter measurements, --update writes the file. Measurements may also change with the builds of QEMU and
    the guest. The command then lists the packages and sources that changed since experiments/SCALE.builds was written.

    Examples:

      testbed verify 'list/*-snapshot'

      testbed verify --update
    """
    from analysis import verify as verify_module  # slow to load

    if scale not in scales.NAMES:
        raise TestbedError(f"--scale '{scale}' is none of {', '.join(scales.NAMES)}")
    path, runs = verify_module.file_of(scale), verify_module.pick(names or [], scale)
    if update:
        made = verify_module.update(open_session(scheduler=scheduler), runs, path)
        console.out.print(f"written: {path}, {made} runs", soft_wrap=True)
        return
    committed = verify_module.load(path)
    verdicts = verify_module.compare(open_session(scheduler=scheduler), runs, committed)
    off = [(v.name, v.word) for v in verdicts if v.word != "same"]
    console.out.print(f"{len(verdicts) - len(off)} of {len(verdicts)} runs as in {path.name}", soft_wrap=True)
    if off:
        console.show("others", ("run", ""), off)
    tables.save_json(json, [verdict.as_data() for verdict in verdicts])
    if off:
        changed = verify_module.other_builds(path)
        if changed:
            console.show("builds", ("then -> now",), [(line,) for line in changed])
        why = " QEMU or the guest was built from other packages or sources: see the table." if changed else ""
        raise RunFailed(
            f"{len(off)} of {len(verdicts)} runs are not as in {path}; if that is meant: testbed verify --update.{why}"
        )


@app.command()
def bench(
    cpus: Annotated[
        str | None,
        typer.Option("--cpus", metavar="N,N,...", help="instead: host time of an instruction by number of CPUs"),
    ] = None,
    crash: Annotated[
        Path | None, typer.Option("--crash", metavar="FILE", help="instead: host time of a state of this crash test")
    ] = None,
    json: Json = None,
) -> None:
    """Guest speed and CXL access rate of this QEMU against stock, in one interleaved run.

    Without --json it is build/bench.json, build/bench-cpus.json or build/bench-crash.json that has the table.

    Examples:

      testbed bench

      testbed bench --cpus 1,2,4,8,16

      testbed bench --crash experiments/crash/records.toml
    """
    if cpus is not None and crash is not None:
        raise TestbedError("bench measures one thing at a time: --cpus or --crash")
    if crash is not None:
        tables.save_json(json or Path("build/bench-crash.json"), run_crash_cost(crash))
    elif cpus is None:
        tables.save_json(json or Path("build/bench.json"), run_bench())
    else:
        tables.save_json(json or Path("build/bench-cpus.json"), run_host_cost(cpus))


@app.command()
def demo(json: Json = None) -> None:
    """What `make testbed` ends with: the latency table, the KV table and the figure."""
    tables.save_json(json, presentation.run_demo(open_session()))


result_commands.register(app)
app.add_typer(module_commands.app, name="module")
app.add_typer(image_commands.app, name="image")
app.add_typer(kernel_commands.app, name="kernel")


def main() -> None:
    """The entry point: every failure is one sentence, and none is a traceback."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except TestbedError as error:
        print(f"testbed: {with_page(str(error))}", file=sys.stderr)
        sys.exit(error.exit_status)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # of whoever reads, as `head`, that has enough
            where = error.filename or ("standard output" if error.errno == errno.ENOSPC else "this host")
            print(f"testbed: {where}: {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to be written goes nowhere
        sys.exit(1)
