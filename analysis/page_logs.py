# SPDX-License-Identifier: BSD-3-Clause
"""What a log for each page of a file costs its readers: after so many overwrites, and by when it is merged."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.errors import RunFailed
from testbed.results.results import Result

from . import plotting, ratios, study
from .drawn import Cell, Drawn, Gathered
from .write_amplification import LINE_BYTES

OVERWRITES, MERGING = "overwrites", "log-merging"
COLOURS = ("#c05621", "#2b6cb0", "#805ad5", "#2f855a", "#a0aec0", "#4a5568", "#d69e2e", "#e53e3e", "#319795", "#97266d")


def label(way: str) -> str:
    """Of mount options, what the data policy is first."""
    return way.removeprefix("data=")


def reported(result: Result) -> list[dict[str, Any]]:
    """What the program says of each file."""
    rows = [row for row in result.rows if "roi_ns" in row]
    if not rows:
        raise RunFailed(f"{result.path}: the program reported no file")
    return rows


def mean_us(row: dict[str, Any], call: str) -> float | None:
    return row[f"{call}_ns"] / row[f"{call}_calls"] / 1e3 if row[f"{call}_calls"] else None


# ---- After so many overwrites ----


def overwrites_drawn(gathered: Gathered, folder: Path) -> Drawn:
    """HDPM's Figure 9, as the catalogue has it."""
    results = gathered.results[OVERWRITES]
    first = reported(results[0])[0]
    rows: list[list[Cell]] = []
    for result in results:
        for row in reported(result):
            means = [mean_us(row, call) for call in ("write", "read", "read_again")]
            rows.append([str(result.point["device"]), label(str(result.point["way"])), row["times"], *means])
    text = Drawn(
        name=OVERWRITES,
        title="Reads of a page after overwrites of a part of it",
        caption=f"{first['pages']} pages, {first['bytes']} bytes an overwrite; {ratios.text(results[0])}.",
        notes=[
            "microseconds, the mean of one call: an overwrite, the first read of each page after all, and the second",
            "hybrid alone has gc_read=4096: a read merges a longer log, so that the second one finds none",
            "published, without numbers: with the scan from the newest entry reads stay as they are, with the other"
            " they rise markedly",
        ],
        columns=["device", "data", "overwrites", "write", "read", "again"],
        rows=rows,
    )
    return study.saved(text, _overwrites_figure(rows, text.caption), folder)


def _overwrites_figure(rows: Sequence[Sequence[Cell]], heading: str) -> Figure:
    panels = list(dict.fromkeys(row[0] for row in rows))
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(
            1, len(panels), figsize=(3.6 * len(panels), 3.0), layout="constrained", squeeze=False
        )
        for axes, panel in zip(grid[0], panels, strict=True):
            ways = dict.fromkeys(str(row[1]) for row in rows if row[0] == panel)
            for way, colour in zip(ways, COLOURS, strict=False):
                shown = [row for row in rows if row[:2] == [panel, way]]
                axes.plot([r[2] for r in shown], [r[4] for r in shown], color=colour, marker=".", label=way)
            axes.set_xscale("symlog", base=2, linthresh=1)
            axes.set(xlabel="overwrites of a page", ylabel="first read, us", ylim=(0, None))
            axes.set_title(str(panel), fontsize=7)
        figure.suptitle(f"{heading} (scaled down)", fontsize=7)
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, ncols=2, loc="outside lower center", fontsize=7)
        return figure


# ---- When to merge ----


def merging_drawn(gathered: Gathered, folder: Path) -> Drawn:
    """What neither paper could ask, as the catalogue has it."""
    results = gathered.results[MERGING]
    row = reported(results[0])[0]
    rows = [_merging_row(result) for result in results]
    text = Drawn(
        name=MERGING,
        title="When to merge a page's log, by the device's cache",
        caption=f"{row['pages']} pages, {row['mixed']} calls; {ratios.text(results[0])}; cache: at full size.",
        notes=[
            f"any page, as often read whole as {row['bytes']} bytes of it overwritten; us, the mean and 99 %",
            "to device, to flash: bytes written there for each byte that the program wrote, while it was measured",
            "what is dirty in the device's cache at the end is not in flash yet, and not counted",
        ],
        columns=["cache", "data", "ms", "read", "99 %", "write", "99 %", "flash reads a call", "to device", "to flash"],
        rows=rows,
    )
    return study.saved(text, _merging_figure(rows, text.caption), folder)


def _merging_row(result: Result) -> list[Cell]:
    whole, counters = reported(result)[0], result.counters
    late = {row["operation"]: row["p99_ns"] / 1e3 for row in result.rows if "operation" in row}
    written_bytes = whole["writes"] * whole["bytes"]
    page_bytes = int(result.data["identity"]["machine"]["device"]["cache_page_size"])
    return [
        str(result.point["cache"]),
        label(str(result.point["way"])),
        whole["roi_ns"] / 1e6,
        *(cell for call in ("read", "write") for cell in (mean_us(whole, call), late[call])),
        counters.get("flash-reads", 0) / whole["mixed"],
        counters["cxl-writes"] * LINE_BYTES / written_bytes,
        counters.get("flash-programs", 0) * page_bytes / written_bytes,
    ]


def _merging_figure(rows: Sequence[Sequence[Cell]], heading: str) -> Figure:
    caches = list(dict.fromkeys(str(row[0]) for row in rows))
    ways = list(dict.fromkeys(str(row[1]) for row in rows))
    panels = ((3, "read, us"), (5, "write, us"), (9, "bytes into flash a byte"))
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(1, len(panels), figsize=(10.2, 3.6), layout="constrained")
        for axes, (column, ylabel) in zip(grid, panels, strict=True):
            for n, (way, colour) in enumerate(zip(ways, COLOURS, strict=False)):
                heights = [row[column] for row in rows if row[1] == way]
                places = [x + 0.085 * (n - (len(ways) - 1) / 2) for x in range(len(caches))]
                axes.bar(places, heights, 0.08, color=colour, label=way)
            axes.set_xticks(range(len(caches)), caches)
            axes.set(xlabel="device cache at full size", ylabel=ylabel)
        figure.suptitle(f"{heading} (scaled down)", fontsize=7)
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, ncols=4, loc="outside lower center", fontsize=7)
        return figure
