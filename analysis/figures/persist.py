# SPDX-License-Identifier: BSD-3-Clause
"""Persisting on Optane memory by store + clwb and by non-temporal stores, by size of a write and interval of fences."""

from collections.abc import Sequence

from testbed.results.results import Result

from ..data import published, ratios, tables
from ..data.chart import Axis, Chart, Line, Lines
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.tables import short
from ..data.values import Value, points

NAME = "persist"
REFERENCE = "ntstore-vs-clwb-pm"
METHODS = {"store_clwb": "store + clwb", "ntstore": "non-temporal store"}
COLUMNS = (
    "bytes",
    "writes_per_fence",
    "store_clwb_ns",
    "ntstore_ns",
    "published_store_clwb_ns",
    "published_ntstore_ns",
)
NOTES = ("mean time of one write; calibration.md says what of the model differs from the real way to the controller",)
Times = dict[tuple[str, int, int], float]  # (method, bytes, writes per fence) -> mean ns of one write


def published_ns() -> Times:
    """Return the times that the Snapshot paper measured on Optane memory."""
    return {
        (method, int(row["bytes"]), int(row["writes_per_fence"])): float(row[f"{method}_ns"])
        for row in published.table(REFERENCE)
        for method in METHODS
    }


def measured_ns(result: Result) -> Times:
    rows = [row for row in result.rows if row.get("test") == "persist"]
    return {(r["method"], int(r["bytes"]), int(r["writes_per_fence"])): float(r["mean_ns"]) for r in rows}


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure for the catalogue."""
    result = gathered.results[NAME][0]
    ours, theirs = measured_ns(result), published_ns()
    places = list(dict.fromkeys(key[1:] for key in ours))
    rows = [_row(place, ours, theirs) for place in places]
    machine = f"{result.data['identity']['machine']['device']['name']}, {ratios.text(result)}"
    lines = [list(COLUMNS), *([("-" if cell is None else str(cell)) for cell in row] for row in rows)]
    text = "\n".join([machine, *tables.aligned(lines), *NOTES])
    return Drawn(
        name=NAME,
        title="Optane memory: store + clwb against non-temporal store",
        caption=f"Mean time of a write by its size and by the writes between fences; {machine}.",
        notes=NOTES,
        columns=COLUMNS,
        rows=rows,
        comparisons=comparisons(places, ours, theirs),
        chart=_chart(places, ours, theirs, machine),
        text=text,
    )


def _row(place: tuple[int, int], ours: Times, theirs: Times) -> list[Cell]:
    cells = [short(times.get((method, *place))) for times in (ours, theirs) for method in METHODS]
    return [*place, *cells]


def group(place: Sequence[int]) -> str:
    """Name the group of a size and interval, within which the scorecard checks the order of the two methods."""
    return f"{place[0]} B, fence every {place[1]}"


def comparisons(places: Sequence[tuple[int, int]], ours: Times, theirs: Times) -> list[Comparison]:
    """Compare each published mean; each size and interval is a group with an order of the two methods."""
    return [
        Comparison(NAME, group(place), method, "ns", ours[method, *place], theirs[method, *place])
        for place in places
        for method in METHODS
        if (method, *place) in ours and (method, *place) in theirs
    ]


def _chart(places: Sequence[tuple[int, int]], ours: Times, theirs: Times, machine: str) -> Chart:
    """Make panels for the least, the middle and the most writes between two fences."""
    intervals = sorted({interval for _, interval in places})
    shown = [intervals[0], intervals[len(intervals) // 2], intervals[-1]]
    panels = []
    for interval in shown:
        sizes = sorted({size for size, every in places if every == interval})
        lines = [
            Line(label, _line(times, method, sizes, interval), method, published=times is theirs)
            for method, label in METHODS.items()
            for times in (ours, theirs)
        ]
        x, y = Axis("bytes a write", "log"), Axis("ns a write", "log")
        panels.append(Lines(x, y, lines, title=f"a fence every {interval}"))
    return Chart([panels], heading=machine, share_y="row")


def _line(times: Times, method: str, sizes: Sequence[int], interval: int) -> list[tuple[float, Value]]:
    there = [size for size in sizes if (method, size, interval) in times]
    return points(there, [times[method, size, interval] for size in there])
