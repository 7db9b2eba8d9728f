# SPDX-License-Identifier: BSD-3-Clause
"""Tables for people, and the same rows as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from analysis.drawn import Comparison
from analysis.scorecard import score

from . import canonical, outputs
from .figures import Index
from .latency import Row
from .results import Result
from .sweep import Replayed, summary
from .units import show_time

if TYPE_CHECKING:
    from analysis.report.build import Written

out = Console()


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], console: Console = out) -> None:
    """One table; numbers to the right, the first column to the left."""
    table = Table(title=title, title_justify="left", show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    console.print(table)


def save_json(path: Path | None, value: Any) -> None:
    """What `--json PATH` does."""
    if path:
        outputs.write(path, canonical.dumps(value))


def show_latency(rows: Sequence[Row], title: str) -> None:
    cells = [
        (
            row.what,
            show_time(row.expected_ps),
            show_time(row.measured_ps),
            f"{100 * row.deviation:+.2f} %",
            "ok" if row.ok else "OFF",
        )
        for row in rows
    ]
    show(title, ("primitive", "configured", "measured", "deviation", ""), cells)


def show_counters(counters: dict[str, int], console: Console = out) -> None:
    """The device's counters of one region of interest, without those that are 0."""
    cells = []
    for name, value in counters.items():
        if value:
            cells.append((name, show_time(value) if name.endswith("-ps") else f"{value:,}"))
    show("counters of the region of interest", ("counter", "value"), cells or [("(all are 0)", "")], console)


def show_results(results: Sequence[Result]) -> None:
    """One line a result: its point and what its program reported."""
    cells = []
    for result in results:
        point = " ".join(f"{k}={v}" for k, v in result.point.items()) or "-"
        cells.append((result.data["manifest"], point, f"1/{result.data['scale']}", result.outcome, result.path.name))
    show("results", ("manifest", "point", "scale", "outcome", "file"), cells)


def show_figures(index: Index) -> None:
    """One line a figure: where it is, and how far its published numbers are from ours."""
    cells = []
    for figure in index.figures:
        card = score([Comparison(**c) for c in figure["comparisons"]])
        cells.append((figure["name"], figure["svg"] or "-", *card.counts))
    columns = ("figure", "file", "published", "within 10 %", "25 %", "2x", "orders")
    show(f"figures at scale {index.scale}", columns, cells)
    out.print(index.scorecard.text, soft_wrap=True)


def show_sweep(rows: Sequence[Replayed], title: str) -> None:
    """The fastest, the middle and the slowest configuration of each point, and where they are in the grid."""
    cells = []
    for point, which, row in summary(rows):
        where = " ".join(f"{key}={value}" for key, value in row.values.items())
        speed = f"{row.captured_ps / row.roi_ps:.3g}x" if row.roi_ps else "-"
        cells.append((point, which, show_time(row.roi_ps), speed, f"{100 * row.hit_rate:.2f} %", where))
    count = len(rows) // max(len({row.point for row in rows}), 1)
    columns = ("point", "", "time", "speed", "hits", "where")
    show(f"{title}: {count} configurations a point; speed is against the captured device", columns, cells)


def show_report(written: "Written") -> None:
    """The files of a report, and what it says in one line."""
    cells = [(path, f"{path.stat().st_size / 1024:,.0f} KiB") for path in written.files]
    show(f"report of {len(written.index.figures)} figures from {written.runs} runs", ("file", "size"), cells)
    out.print(written.index.scorecard.text, soft_wrap=True)
