# SPDX-License-Identifier: BSD-3-Clause
"""What commands show of their results: the table or figure that fits them. `make testbed` shows three of these."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import Progress

from analysis import by_cores, records

from .. import console
from ..build.components import console as progress_console
from ..crash.campaign import Campaign, Found
from ..crash.report import Detail, Report
from ..errors import RunFailed
from ..guest.session import Session
from ..manifest import bases, manifest
from ..paths import FIGURES, FIGURES_INDEX, results_root
from ..replay.grid import capture_runs, configurations
from ..results.results import Result
from ..run.runner import drive, run_with_bar
from ..studies import calibrate, latency
from ..studies.sweep import Replayed
from . import tables

PROGRESS_S = 10.0  # between two lines of how far a crash test is

# What draws is slow to load: each function here loads what it needs.
if TYPE_CHECKING:
    from analysis import figures, sweep_plot


def show_manifest(stated: manifest.Manifest, origin: Path, results: Sequence[Result]) -> None:
    """The table that fits the results: engines are compared, programs of users drawn, other results listed."""
    from analysis import engines, sweep_plot

    if stated.plot or stated.program:
        show_study(sweep_plot.of_results(stated, origin, results), origin)
    elif engines.is_engines(results):
        for table in engines.tables_of(results):
            console.out.print(table.text(), soft_wrap=True)
    else:
        tables.show_results(results)


def show_replays(path: Path, replays: Sequence[Replayed]) -> None:
    """The figure of a sweep, as far as what it plots is in a replay: a line for what else differs."""
    from analysis import sweep_plot

    stated = manifest.load(path)
    if not stated.plot:
        return
    points = {run.label: run.point for run in capture_runs(path)}
    grid = configurations(path)
    machines = [replace(manifest.guest_config(stated, path), device=c.device) for c in grid]
    lines = [key for key in (stated.plot.series, *grid[0].values) if key not in ("", stated.plot.x)]
    found = records.with_line(records.of_replays(replays, points), "line", lines)
    y = [name for name in stated.plot.y if any(name in record for record in found.all)] or [records.TIME]
    plot = stated.plot.model_copy(update={"y": y, "series": "line"})
    show_study(sweep_plot.Study(stated.model_copy(update={"plot": plot}), machines, found, "replay"), path)


def show_study(study: "sweep_plot.Study", origin: Path) -> None:
    """Its table, and its figure if one is asked for."""
    from analysis import sweep_plot

    if study.manifest.plot:
        sweep_plot.check(study, origin)
    if not study.kind:
        console.out.print(sweep_plot.table_text(study), soft_wrap=True, highlight=False)
    for path in sweep_plot.write(study, FIGURES) if study.manifest.plot else ():
        console.out.print(f"written: {path}", soft_wrap=True)


def measure_latency(session: Session, name: str = "latency") -> list[latency.Row]:
    """The latency table of a manifest whose workload is the `latency` program, printed."""
    path = bases.find(name)
    manifest.check_one_device(manifest.load(path), path, "a table of latencies")
    runs = manifest.runs(path)
    result = run_with_bar(runs, session, results_root())[0]
    rows = latency.table(result, runs[0].guest)
    machine = f"{runs[0].guest.device.name}, {runs[0].guest.cpu.name}, caches at 1/{runs[0].scale}"
    tables.show_latency(rows, f"latency in the guest ({machine})")
    return rows


def draw_figures(session: Session, names: Sequence[str], scale: str | None) -> "figures.Index":
    """The figures, from results that exist or are made now; what they say of the published numbers, printed."""
    from analysis import figures

    index = figures.make(session, names, scale)
    for figure in index.figures if names else ():
        for name in figure["files"]:
            if name.endswith(".txt"):
                console.out.print((FIGURES / name).read_text().rstrip(), soft_wrap=True)
    tables.show_figures(index)
    console.out.print(f"written: {FIGURES / FIGURES_INDEX}", soft_wrap=True)
    return index


def show_calibration(session: Session, devices: Sequence[str], quick: bool) -> list[calibrate.Verdict]:
    """The studies of these device profiles, measured, judged, printed and drawn."""
    from analysis import calibration as calibration_figures

    calibration = calibrate.load()
    studies = calibrate.with_programs(calibrate.runs(calibration, devices, quick))
    results = run_with_bar([run for _, run in studies], session, results_root())
    measured = [calibrate.Measured(*study, result) for study, result in zip(studies, results, strict=True)]
    verdicts = calibrate.verdicts(calibration, measured)
    console.show("model against published figures", calibrate.COLUMNS, [calibrate.cells(v) for v in verdicts])
    for verdict in verdicts:
        if verdict.word == "disagrees":
            console.out.print(f"{verdict.judged.what}: {verdict.judged.why}", soft_wrap=True)
    if pairs := by_cores.pairs(verdicts):
        console.show("one CPU and real cores", by_cores.COLUMNS, [by_cores.cells(pair) for pair in pairs])
        console.out.print("\n".join(by_cores.counts(pairs)), soft_wrap=True)
    if loaded := calibrate.loaded_cells(measured):
        console.show("a load of one core while others stream", calibrate.LOADED_COLUMNS, loaded)
    console.out.print(calibrate.scale_text(measured), soft_wrap=True)
    written = calibration_figures.write(measured, verdicts, FIGURES / "calibration")
    if not devices and not quick:  # a part of them would replace the whole
        made = calibration_figures.tables(measured, verdicts)
        written += calibration_figures.write_tables(made, FIGURES / "calibration")
    for path in written:
        console.out.print(f"written: {path}", soft_wrap=True)
    return verdicts


def run_campaign(campaign: Campaign) -> Report:
    """With a bar on a terminal, and elsewhere a line every few seconds; what is known is shown at Ctrl-C."""
    name = campaign.plan.name
    with Progress(console=progress_console, disable=not progress_console.is_terminal) as bar:
        task, said_s, latest = bar.add_task(name, total=None), time.monotonic(), ""

        def show(done: int, points: int, judged: int, violations: int) -> None:
            nonlocal said_s, latest
            latest = f"{done} of {points} points, {judged} states judged, {violations} violations"
            bar.update(task, total=points, completed=done, description=f"{name}: {latest}")
            if not progress_console.is_terminal and (done == points or time.monotonic() >= said_s + PROGRESS_S):
                said_s = time.monotonic()
                progress_console.print(latest, soft_wrap=True)

        def tell(text: str) -> None:
            progress_console.print(text, soft_wrap=True, highlight=False)

        def interrupted(report: Report) -> None:
            bar.stop()
            tables.show_crash(report, f"{name} (interrupted)", campaign.origin)
            tell(f"interrupted: {latest or 'no state judged yet'}; the same command goes on from there")

        return drive(replace(campaign, tell=tell, interrupted=interrupted).run(show))


def show_state(campaign: Campaign, wanted: str, at_shell: Callable[[Path], int] | None) -> Detail:
    """One state of it, judged again; or a shell on what the power cut left."""
    judged: list[Detail] = []

    def use(found: Found, media: Path) -> None:
        tables.show_state(found, campaign.plan.name)
        if at_shell:
            at_shell(media)
        judged.append(found.detail)

    drive(campaign.one(wanted, use))
    return judged[0]


def run_demo(session: Session) -> dict[str, Any]:
    """All of it, in the order of the README."""
    rows = measure_latency(session)
    index = draw_figures(session, ["kv-ycsb"], None)
    off = [row.metric for row in rows if not row.ok]
    if off:
        raise RunFailed(f"off by more than 1 % from the model's closed form: {', '.join(off)}")
    return {"latency": [row.as_data() for row in rows], **index.as_data()}
