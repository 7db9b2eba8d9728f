# SPDX-License-Identifier: BSD-3-Clause
"""The views that `testbed run`, `sweep` and `diff` show: the table or figure that fits the results."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from testbed import console
from testbed.cli import tables
from testbed.errors import TestbedError
from testbed.manifest.parse import Manifest
from testbed.manifest.scale import guest_config
from testbed.paths import FIGURES
from testbed.replay.grid import capture_runs, configurations
from testbed.results import spread
from testbed.results.results import Result
from testbed.studies.sweep import Replayed

from ..charts import files
from ..data import records
from ..figures import engines
from ..report import index
from ..scorecard import moved
from ..studies import sweep_plot


def show_results(stated: Manifest, results: Sequence[Result]) -> None:
    """Show the table that fits the results: compare engines, draw manifests with a [plot] or [program], list others."""
    if stated.plot or stated.program:
        _show_study(sweep_plot.of_results(stated, results))
    elif engines.is_engines(results):
        for table in engines.tables_of(spread.medians(results)):
            console.out.print(table.text(), soft_wrap=True)
    else:
        tables.show_results(results)


def show_replays(stated: Manifest, replays: Sequence[Replayed]) -> None:
    """Draw the figure of a sweep, as far as replays contain its values. Each combination of other values is a line."""
    if not stated.plot:
        return
    points = {run.label: run.point for run in capture_runs(stated)}
    grid, machine = configurations(stated), guest_config(stated)
    machines = [replace(machine, device=configuration.device) for configuration in grid]
    lines = [key for key in (stated.plot.series, *grid[0].values) if key not in ("", stated.plot.x)]
    found = records.with_line(records.of_replays(replays, points), "line", lines)
    y = [name for name in stated.plot.y if any(name in record for record in found.all)] or [records.TIME]
    plot = stated.plot.model_copy(update={"y": y, "series": "line"})
    _show_study(sweep_plot.Study(stated.model_copy(update={"plot": plot}), machines, found, "replay"))


def _show_study(study: sweep_plot.Study) -> None:
    """Print the study's table unless it is of replays, and draw its figure if the manifest has a [plot]."""
    if study.manifest.plot:
        sweep_plot.check(study)
    if not study.kind:
        console.out.print(sweep_plot.table_text(study), soft_wrap=True, highlight=False)
    for path in files.write(sweep_plot.figure(study), FIGURES) if study.manifest.plot else ():
        console.out.print(f"written: {path}", soft_wrap=True)


def show_moved_numbers(a: Path, b: Path, json: Path | None) -> str:
    """Show how far the numbers of two folders of figures are apart. Return "N of M numbers" if any differ, else ""."""
    one, two = index.load(a), index.load(b)
    found = moved.between(one.comparisons, two.comparisons)
    if not found:
        raise TestbedError(
            f"the figures in {a} and {b} have no number in common; draw the same ones by testbed figures"
        )
    differing = [number for number in found if number.a != number.b]
    if differing:
        console.show(f"A {a}, {one.scale}; B {b}, {two.scale}", moved.COLUMNS, [number.cells() for number in differing])
    console.show("by figure", moved.SUMMARY_COLUMNS, moved.by_figure(found))
    tables.save_json(json, [number.as_data() for number in found])
    return f"{len(differing)} of {len(found)} numbers" if differing else ""
