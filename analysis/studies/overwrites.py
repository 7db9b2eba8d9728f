# SPDX-License-Identifier: BSD-3-Clause
"""The cost to readers of a log for each page of a file, by the number of overwrites."""

from collections.abc import Sequence
from typing import Any

from testbed.errors import RunFailed
from testbed.results.results import Result

from ..data import ratios
from ..data.chart import Axis, Chart, Line, Lines
from ..data.drawn import Cell, Drawn, Gathered
from ..data.values import Value

NAME = "overwrites"


def label(way: str) -> str:
    """Remove `data=` from mount options, which begin with the data policy."""
    return way.removeprefix("data=")


def reported(result: Result) -> list[dict[str, Any]]:
    """Return the row that the program reports for each file; RunFailed if it reports no file."""
    rows = [row for row in result.rows if "roi_ns" in row]
    if not rows:
        raise RunFailed(f"{result.path}: the program reported no file")
    return rows


def mean_us(row: dict[str, Any], call: str) -> float | None:
    return row[f"{call}_ns"] / row[f"{call}_calls"] / 1e3 if row[f"{call}_calls"] else None


def drawn(gathered: Gathered) -> Drawn:
    """Draw HDPM's Figure 9 for the catalogue."""
    results = gathered.results[NAME]
    first = reported(results[0])[0]
    rows: list[list[Cell]] = []
    for result in results:
        for row in reported(result):
            means = [mean_us(row, call) for call in ("write", "read", "read_again")]
            rows.append([str(result.point["device"]), label(str(result.point["way"])), row["times"], *means])
    caption = f"{first['pages']} pages, {first['bytes']} bytes an overwrite; {ratios.text(results[0])}."
    return Drawn(
        name=NAME,
        title="Reads of a page after overwrites of a part of it",
        caption=caption,
        notes=[
            "microseconds, the mean of one call: an overwrite, the first read of each page after all, and the second",
            "hybrid alone has gc_read=4096: a read merges a longer log, so that the second one finds none",
            "published, without numbers: with the scan from the newest entry reads stay as they are, with the other"
            " they rise markedly",
        ],
        columns=["device", "data", "overwrites", "write", "read", "again"],
        rows=rows,
        chart=_chart(rows, caption),
    )


def _chart(rows: Sequence[Sequence[Cell]], heading: str) -> Chart:
    panels = [_panel(rows, str(device)) for device in dict.fromkeys(row[0] for row in rows)]
    return Chart([panels], heading, scaled_down=True)


def _panel(rows: Sequence[Sequence[Cell]], device: str) -> Lines:
    lines = []
    for way in dict.fromkeys(str(row[1]) for row in rows if row[0] == device):
        shown = [(float(row[2] or 0), row[4]) for row in rows if row[:2] == [device, way]]
        lines.append(Line(way, [(times, Value(float(us))) for times, us in shown if us is not None]))
    x, y = Axis("overwrites of a page", "counts"), Axis("first read, us", from_zero=True)
    return Lines(x, y, lines, device)
