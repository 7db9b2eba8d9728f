# SPDX-License-Identifier: BSD-3-Clause
"""The `testbed` command. Each subcommand reads input, calls the other packages, prints a table and saves it as JSON."""

import errno
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from .. import console, outputs, plugins, version
from ..build import components, images
from ..build import doctor as doctor_module
from ..build.cache import Cache
from ..build.components import COMPONENTS, TESTBED, Product, build
from ..crash import findings
from ..crash import plan as crash_plan
from ..crash import shipped as crash_tests
from ..crash.report import Report
from ..errors import Interrupted, RunFailed, TestbedError
from ..guest.session import open_session
from ..guest.shell import check_terminal, run_shell
from ..guest.top import run_top
from ..manifest import bases, parse, scales
from ..manifest.render import Runs, with_seeds
from ..paths import cache_root, results_root
from ..program import bundle, packages
from ..replay import verdicts
from ..replay.grid import configurations
from ..replay.replayer import open_replayer
from ..run.runner import drive, run_with_bar
from ..studies import sweep as sweep_module
from ..studies.bench import run_bench
from ..studies.crash_cost import run_crash_cost
from ..studies.host_cost import run_host_cost
from . import (
    campaigns,
    execution,
    image_commands,
    kernel_commands,
    machine_options,
    manual,
    module_commands,
    presentation,
    result_commands,
    tables,
)
from .execution import Ends, Shown, Taken, Words
from .machine_options import MachineOptions, ManifestName, Packages
from .options import ByCpu, Cluster, DryRun, Json, Scale, Seed, Seeds, grouped
from .pages import with_page


class Commands(TyperGroup):
    """Corrects Typer, which ends silently at Ctrl-C and parses [program] as markup. SIGTERM counts as Ctrl-C."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        for command in self.commands.values():
            _show_brackets(command)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # else its child processes would go on
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error


def _show_brackets(command: Any) -> None:
    """Escape brackets in the help texts of the command, its options and its subcommands."""
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
    "  testbed latency                       latencies of the device, configured and measured\n\n"
    "  testbed run kv-ycsb                   Snapshot against PMDK, YCSB A-G\n\n"
    "  testbed sweep kv-grid --replay        one capture, a thousand devices\n\n"
    "  testbed exec -- ls -l /pmem           any program of this host, on the device\n\n"
    "  testbed crash records                 every state that a power cut can leave\n\n"
    "  testbed shell                         a guest to look around in",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(version.text())
        raise typer.Exit


@app.callback()
def _of_all_commands(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version and the commit")
    ] = False,
) -> None:
    """Options before the name of a command."""


@app.command()
@grouped
def run(
    manifest: Annotated[str, typer.Argument(help="a .toml file, or the name of one that ships (kv-ycsb, latency)")],
    json: Json = None,
    cluster: Cluster = Cluster(),
    scale: Scale = None,
    seeds: Seeds = None,
    dry_run: DryRun = False,
    by_cpu: ByCpu = False,
) -> None:
    """Run a manifest: every point of its matrix, as many guests at a time as cores and memory allow.

    Existing results are reused, so an interrupted run resumes where it stopped. Without --scale the manifest's own
    scale applies. With --seeds N, each point runs with N seeds: tables show medians, and one more table and the figure
    show the range.

    Examples:

      testbed run kv-ycsb

      testbed run kv-ycsb --scale standard

      testbed run kv-ycsb --seeds 5

      testbed run my.toml --scale 256 --json table.json

      testbed run kv-ycsb --scheduler tls://HOST:8786
    """
    path = bases.find(manifest)
    stated = parse.load(path, scales.divisor(scale, path.stem))
    every = Runs(stated)
    if dry_run:
        shown = with_seeds(list(every), seeds) if seeds else every
        result_commands.show_runs(shown, f"runs of {manifest}", json, bool(cluster.scheduler))
        return
    runs = with_seeds(list(every), seeds) if seeds else list(every)
    verdicts.refuse_if_none_can_be(runs)
    show_results = plugins.view("results")
    session = open_session(scheduler=cluster.scheduler)
    done = run_with_bar(runs, session, results_root())
    show_results(stated, done)
    tables.show_shares_of_results(done, by_cpu)
    tables.show_mapped_files(done)
    tables.show_spread(done)
    tables.save_json(json, tables.data_of_seeds(done) if seeds else [result.data for result in done])


@app.command()
def sweep(
    manifest: Annotated[str, typer.Argument(help="a manifest with a [replay.grid] (kv-grid)")],
    replay: Annotated[bool, typer.Option("--replay", help="run each point once, replay its trace on the grid")] = False,
    trace: Annotated[Path | None, typer.Option(help="replay this trace instead of runs of the manifest")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only list the configurations")] = False,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="PATH", help="also write every replay to PATH")] = None,
    json: Json = None,
) -> None:
    """Replay every point of a manifest on every device configuration of its grid, from one capture per point.

    Finished captures and replays are kept, so an interrupted sweep resumes where it stopped.

    Examples:

      testbed sweep kv-grid --replay --csv grid.csv

      testbed sweep my.toml --replay --trace captured.trace
    """
    if not replay:
        raise TestbedError(
            "testbed sweep works by --replay; a manifest can run a configuration in a guest: testbed run"
        )
    path = bases.find(manifest)
    stated = parse.load(path)
    grid = configurations(stated)
    if dry_run:
        verdicts.check_grid(stated, grid, open_replayer())
        console.show(f"configurations of {path.stem}", ("configuration",), [(c.label,) for c in grid])
        tables.save_json(json, [c.values for c in grid])
        return
    show_replays = plugins.view("replays")
    rows = sweep_module.run_sweep(stated, grid, trace)
    tables.show_sweep(rows, path.stem)
    show_replays(stated, rows)
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
    """Replay one captured trace on its device or another one, by memsys-replay, which is built if it is missing.

    Examples:

      testbed replay -- --help

      testbed replay -- --set device.cache-size=64M --set device.flash-read=3us captured.trace
    """
    raise typer.Exit(open_replayer().pass_through(arguments))


@app.command()
def latency(json: Json = None, manifest: ManifestName = "latency") -> None:
    """Measure loads, flushes and non-temporal stores in a guest and compare them with the profile's closed forms.

    The command fails (status 1) if any value is off by more than 1 %.
    """
    rows = presentation.measure_latency(open_session(), manifest)
    tables.save_json(json, [row.as_data() for row in rows])
    if not all(row.ok for row in rows):
        raise RunFailed("a latency is off by more than 1 % from the model's closed form")


plugins.add_commands(app, "calibrate")


@app.command("exec", context_settings={"ignore_unknown_options": True})
@grouped
def exec_(
    program: Words = None,
    taken: Taken = Taken(),
    ends: Ends = Ends(),
    machine: MachineOptions = MachineOptions(),
    shown: Shown = Shown(),
) -> None:
    """Run a program of this host in a guest, on the device; print its output as it comes, return its exit status.

    The guest also gets the program's libraries and the files that arguments name. The device is mounted (ext4, DAX)
    at /pmem. The whole program is the region of interest, unless it marks its own (testbed_roi.h); the command prints
    the model's counters after it. A script runs as the guest's root, in a folder with its files; the words after --
    are its arguments. A study of more than one run is a manifest with a [program]: docs/tutorial/study.md.

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
    plan = execution.plan(program or [], taken, ends, machine)
    executor = open_session().telling(execution.tell_progress)
    outcome = drive(executor.run(plan.spec))
    raise typer.Exit(execution.report(plan, outcome, shown))


@app.command()
@grouped
def crash(
    test: Annotated[
        str | None, typer.Argument(metavar="TEST", help="the name of a crash test that ships, or a .toml file")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="only print the tests that ship, by subject")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="guests at a time; no result depends on it")] = 1,
    every: Annotated[bool, typer.Option("--every", help="judge also states that recovery reads alike")] = False,
    state: Annotated[str | None, typer.Option(metavar="ID", help="judge only this state, and say all of it")] = None,
    shell: Annotated[bool, typer.Option("--shell", help="open a guest on the --state, before any recovery")] = False,
    seed: Seed = None,
    seeds: Seeds = None,
    cluster: Cluster = Cluster(),
    html: Annotated[Path | None, typer.Option(metavar="PATH", help="also write the report as a page to PATH")] = None,
    update: Annotated[bool, typer.Option("--update", help="record the counts of a test that ships")] = False,
    json: Json = None,
) -> None:
    """Construct every state in which a power cut can leave a program's data, and check each state.

    The program runs once and is recorded. A line of the device that is not sure to be durable may have any of its
    versions: each choice is a state, on which recovery and check run in a copy of one guest. States that recovery and
    check cannot tell apart are judged once. Verdicts are kept, so an interrupted test resumes. The command fails
    (status 1) if a verdict is bad. With --scheduler the workers of a cluster run the copies, as many as they have room
    for. With --seeds N the program is recorded with N seeds, which may change the order in which its threads run.

    Examples:

      testbed crash --list

      testbed crash records

      testbed crash commits-beside --seeds 4

      testbed crash records-no-fence --html build/crash.html

      testbed crash records-no-fence --state 0-6a1f --shell
    """
    if list_:
        tables.show_crash_tests(crash_tests.summaries())
        tables.save_json(json, crash_tests.summaries())
        return
    if test is None:
        raise TestbedError("no crash test is named; give a .toml file, or a name that `testbed crash --list` prints")
    file = crash_tests.find(test)
    _check_shell(shell, state)
    if seeds and (state or html or seed is not None):
        raise TestbedError("--seeds is for the whole test: give --seed N with --state, --shell and --html")
    if update and (seeds or seed is not None or state or file.resolve() not in crash_tests.shipped()):
        raise TestbedError("--update is for a whole test that ships: leave out --state, --seed and --seeds")
    page = plugins.view("crash-page") if html else None
    plan, reports = crash_plan.load(file), dict[int, Report]()
    for number in range(seeds) if seeds else [seed]:
        with campaigns.campaign(plan, file, number, cluster.scheduler, jobs, every, open_session) as campaign:
            used = campaign.guest.cpu.seed
            if state:
                at_shell = partial(run_shell, campaign.session.images, campaign.guest) if shell else None
                detail = presentation.show_state(campaign, state, at_shell)
                raise typer.Exit(0 if detail.outcome == "ok" else 1)
            reports[used] = presentation.run_campaign(campaign, test)
            builds = campaign.session.keys
        tables.show_crash(reports[used], plan.name, test, used)
    if seeds:
        tables.show_crash_seeds(reports, plan.name)
    tables.save_json(json, tables.crash_data(reports) if seeds else reports[used].as_data())
    if update:
        findings.update(findings.name_of(plan.name, every), findings.of_report(reports[used], builds))
    if html and page:
        outputs.write(html, page(plan, Path(test), reports[used]))
        console.out.print(f"written: {html}", soft_wrap=True)
    _raise_violations(test, list(reports.values()))


def _check_shell(shell: bool, state: str | None) -> None:
    if shell:
        check_terminal()
        if not state:
            raise TestbedError("--shell opens a guest on one state; name it with --state ID")


def _raise_violations(test: str, reports: Sequence[Report]) -> None:
    if bad := sum(len(report.violations) for report in reports):
        states = sum(report.counts.states for report in reports)
        raise RunFailed(f"{test}: {bad} of {states} states are not as they must be")


@app.command()
@grouped
def shell(
    media: Annotated[Path | None, typer.Option(help="keep the device's content in this folder")] = None,
    package: Packages = None,
    machine: MachineOptions = MachineOptions(),
) -> None:
    """Open an interactive guest with the device mounted at /pmem. `exit` or Ctrl-A X ends the guest."""
    check_terminal()
    guest = machine.guest()
    named = next(iter(Runs(parse.load(bases.find(machine.manifest))))).job.all_workloads
    guest = replace(guest, workloads=tuple(sorted({*guest.workloads, *named})))
    raise typer.Exit(run_shell(open_session().images, guest, media, machine_options.versions(package)))


@app.command()
def top(
    socket: Annotated[
        Path | None, typer.Argument(help="a guest's watch.qmp; the guest that started last if not given")
    ] = None,
    interval: Annotated[float, typer.Option(min=0.05, max=3600, help="host seconds between two looks")] = 1.0,
    views: Annotated[int, typer.Option(min=0, help="end after this many; 0 is when the guest ends")] = 0,
) -> None:
    """Watch a running guest: hit rate, bandwidth and latency percentiles, in virtual time. Ctrl-C ends the view."""
    run_top(socket, interval, views)


@app.command("build")
def build_(
    component: Annotated[
        list[str] | None,
        typer.Argument(help=f"a workload, or one of {', '.join(COMPONENTS)}; default: the components of `kv`"),
    ] = None,
    manifest: Annotated[
        str | None,
        typer.Option(
            "--manifest",
            "-m",
            metavar="MANIFEST",
            help="also the workloads that it runs and the Debian packages that it adds",
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Build QEMU and the guest into the cache, unless they are there already.

    Examples:

      testbed build

      testbed build --manifest redis
    """
    names = tuple(component or (*TESTBED, "kv"))
    needed = dict.fromkeys(n for name in names for n in (*components.component(name).needs, name))
    products = build(tuple(needed)) | (_of_manifest(bases.find(manifest)) if manifest else {})
    console.show("components", ("component", "path"), [(name, p.path) for name, p in products.items()])
    tables.save_json(json, {name: {"key": p.key, "path": str(p.path)} for name, p in products.items()})


def _of_manifest(manifest: Path) -> dict[str, Product]:
    """Build the workloads that a manifest's runs name, and the Debian packages that it lists as one more component."""
    stated = parse.load(manifest)
    named = {name for run in Runs(stated) for name in run.workloads}
    needed = dict.fromkeys(n for name in sorted(named) for n in (*components.component(name).needs, name))
    program = stated.program
    added = {"packages": packages.build(bundle.versions(program, manifest))} if program and program.packages else {}
    return build(tuple(needed)) | added


@app.command()
def cache(
    prune: Annotated[
        bool, typer.Option("--prune", help="remove components that the present sources do not need")
    ] = False,
    json: Json = None,
) -> None:
    """List the components in the cache with their sizes."""
    store = Cache(cache_root())
    if prune:
        needed = components.keys(components.names()).items()
        store.prune({store.path(name, key) for name, key in needed} | images.paths(store))
    rows = [(e.name, e.key, f"{e.size_bytes / 2**20:,.0f} MiB") for e in store.entries()]
    console.show(f"cache {store.root}", ("component", "key", "size"), rows)
    tables.save_json(json, [{"name": e.name, "key": e.key, "bytes": e.size_bytes} for e in store.entries()])


@app.command()
def doctor(json: Json = None) -> None:
    """Check that this host can build and run the testbed, and print a remedy for each failed check."""
    checks = doctor_module.examine()
    console.show(
        "host", ("check", "state", "remedy"), [(c.name, "ok" if c.ok else "MISSING", c.remedy) for c in checks]
    )
    tables.save_json(json, [vars(c) for c in checks])
    if not all(c.ok for c in checks):
        raise typer.Exit(2)


plugins.add_commands(app, "figures", "report", "verify")


@app.command()
def bench(
    cpus: Annotated[
        str | None,
        typer.Option("--cpus", metavar="N,N,...", help="instead: host time of an instruction by number of CPUs"),
    ] = None,
    crash: Annotated[
        str | None, typer.Option("--crash", metavar="TEST", help="instead: host time of a state of this crash test")
    ] = None,
    json: Json = None,
) -> None:
    """Compare guest speed and CXL access rate of this QEMU with stock QEMU, in one interleaved run.

    Without --json the table is written to build/bench.json, build/bench-cpus.json or build/bench-crash.json.

    Examples:

      testbed bench

      testbed bench --cpus 1,2,4,8,16

      testbed bench --crash records
    """
    if cpus is not None and crash is not None:
        raise TestbedError("bench measures one thing at a time: --cpus or --crash")
    if crash is not None:
        tables.save_json(json or Path("build/bench-crash.json"), run_crash_cost(crash_tests.find(crash)))
    elif cpus is None:
        tables.save_json(json or Path("build/bench.json"), run_bench())
    else:
        tables.save_json(json or Path("build/bench-cpus.json"), run_host_cost(cpus))


plugins.add_commands(app, "demo")


@app.command()
def man() -> None:
    """Print the manual page of this command, for `man`.

    Examples:

      testbed man | man -l -

      testbed man >~/.local/share/man/man1/testbed.1
    """
    print(manual.page(app, version.date()), end="")


result_commands.register(app)
app.add_typer(module_commands.app, name="module")
app.add_typer(image_commands.app, name="image")
app.add_typer(kernel_commands.app, name="kernel")


def main() -> None:
    """The entry point, which prints every failure as one sentence and never as a traceback."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except TestbedError as error:
        print(f"testbed: {with_page(str(error))}", file=sys.stderr)
        sys.exit(error.exit_status)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # the reader, such as `head`, has closed the pipe
            where = error.filename or ("standard output" if error.errno == errno.ENOSPC else "this host")
            print(f"testbed: {where}: {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard buffered output
        sys.exit(1)
