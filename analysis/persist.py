# SPDX-License-Identifier: BSD-3-Clause
"""Persisting on Optane memory by store + clwb and by non-temporal stores: size of a write by fence interval."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.results.results import Result

from . import plotting, published, ratios
from .drawn import Cell, Comparison, Drawn, Gathered
from .plotting import short

NAME = "persist"
REFERENCE = "ntstore-vs-clwb-pm"
METHODS = {"store_clwb": ("store + clwb", "#2b6cb0"), "ntstore": ("non-temporal store", "#c05621")}
COLUMNS = (
    "bytes",
    "writes_per_fence",
    "store_clwb_ns",
    "ntstore_ns",
    "published_store_clwb_ns",
    "published_ntstore_ns",
)
NOTES = ("mean time of one write; calibration.md says what of the model differs from the real way to the controller",)
Times = dict[tuple[str, int, int], float]  # (method, bytes, writes a fence) -> mean ns of one write


def published_ns() -> Times:
    """What the Snapshot paper measured on Optane memory."""
    return {
        (method, int(row["bytes"]), int(row["writes_per_fence"])): float(row[f"{method}_ns"])
        for row in published.table(REFERENCE)
        for method in METHODS
    }


def measured_ns(result: Result) -> Times:
    rows = [row for row in result.rows if row.get("test") == "persist"]
    return {(r["method"], int(r["bytes"]), int(r["writes_per_fence"])): float(r["mean_ns"]) for r in rows}


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure as the catalogue has it."""
    result = gathered.results[NAME][0]
    ours, theirs = measured_ns(result), published_ns()
    places = list(dict.fromkeys(key[1:] for key in ours))
    rows = [_row(place, ours, theirs) for place in places]
    machine = f"{result.data['identity']['machine']['device']['name']}, {ratios.text(result)}"
    lines = [list(COLUMNS), *([("-" if cell is None else str(cell)) for cell in row] for row in rows)]
    text = "\n".join([machine, *plotting.aligned(lines), *NOTES])
    return Drawn(
        name=NAME,
        title="Optane memory: store + clwb against non-temporal store",
        caption=f"Mean time of a write by its size and by the writes between fences; {machine}.",
        notes=NOTES,
        columns=COLUMNS,
        rows=rows,
        comparisons=comparisons(places, ours, theirs),
        files=plotting.write(_figure(places, ours, theirs, machine), folder / NAME, text, COLUMNS, rows),
    )


def _row(place: tuple[int, int], ours: Times, theirs: Times) -> list[Cell]:
    cells = [short(times.get((method, *place))) for times in (ours, theirs) for method in METHODS]
    return [*place, *cells]


def group(place: Sequence[int]) -> str:
    """What is ordered: the two ways at one size and interval."""
    return f"{place[0]} B, fence every {place[1]}"


def comparisons(places: Sequence[tuple[int, int]], ours: Times, theirs: Times) -> list[Comparison]:
    """Each published mean; which way is the faster is ordered at each size and interval."""
    return [
        Comparison(NAME, group(place), method, "ns", ours[method, *place], theirs[method, *place])
        for place in places
        for method in METHODS
        if (method, *place) in ours and (method, *place) in theirs
    ]


def _figure(places: Sequence[tuple[int, int]], ours: Times, theirs: Times, machine: str) -> Figure:
    intervals = sorted({interval for _, interval in places})
    shown = [intervals[0], intervals[len(intervals) // 2], intervals[-1]]
    with plt.rc_context(plotting.STYLE):
        figure, panels = plt.subplots(1, len(shown), figsize=(7.2, 3.0), layout="constrained", sharey=True)
        for axes, interval in zip(panels, shown, strict=True):
            sizes = sorted({size for size, every in places if every == interval})
            for method, (label, colour) in METHODS.items():
                for times, style, whose in ((ours, "o-", ""), (theirs, "x:", ", published")):
                    here = [size for size in sizes if (method, size, interval) in times]
                    nanoseconds = [times[method, size, interval] for size in here]
                    axes.plot(here, nanoseconds, style, color=colour, ms=3, label=label + whose)
            axes.set(xscale="log", yscale="log", xlabel="bytes a write", title=f"a fence every {interval}")
        panels[0].set_ylabel("ns a write")
        panels[0].legend(frameon=False, fontsize=6)
        figure.suptitle(machine, fontsize=7)
        return figure
