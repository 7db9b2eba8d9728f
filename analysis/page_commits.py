# SPDX-License-Identifier: BSD-3-Clause
"""One msync() by the number of pages stored to: failure-atomic and conventional, without and with think time."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.results.results import Result

from . import plotting, published, ratios, study
from .drawn import Comparison, Drawn, Gathered

SIZES = ("msync-pages", "msync-pages-nand", "msync-pages-fams", "msync-pages-fams-nand")
CONVENTIONAL, LATER, AT_ONCE = "msync-cached", "fams, later", "fams, at once"
COLOURS = {
    CONVENTIONAL: "#1a202c",
    "msync-4k": "#a0aec0",
    "fams-exchange": "#b7791f",
    "fams-uffd": "#2f855a",
    AT_ONCE: "#805ad5",
    LATER: "#d53f8c",
    "snapshot": "#2b6cb0",
}
LOADS = {False: "heavy", True: "light"}
CAUSE = "a request to a block device for each page there, stores past the caches here"

Line = tuple[str, int, str]  # device, microseconds of thinking, engine
Sizes = dict[Line, dict[int, float]]  # pages -> microseconds of a transaction


def name_of(result: Result) -> str:
    """The engine; of the kernel module with its policy."""
    point = result.point
    return (LATER if point["apply_ms"] else AT_ONCE) if "apply_ms" in point else str(point["engine"])


def sizes(results: Sequence[Result]) -> Sizes:
    """By device and load in the order of the results, engines in that of COLOURS."""
    found: Sizes = {}
    for result in results:
        line = (str(result.point["device"]), int(result.point["think"]), name_of(result))
        rows = [row for row in result.rows if "update_ns" in row]
        found[line] = {row["pages"]: row["update_ns"] / row["transactions"] / 1000 for row in rows}
    devices = list(dict.fromkeys(line[0] for line in found))
    return dict(sorted(found.items(), key=lambda f: (devices.index(f[0][0]), f[0][1], list(COLOURS).index(f[0][2]))))


def faster_from(one: Mapping[int, float], other: Mapping[int, float]) -> int | None:
    """The fewest pages from which on `one` takes less time than `other`; None: it does not at the most."""
    slower = [pages for pages in one if one[pages] >= other[pages]]
    return next((pages for pages in one if not slower or pages > slower[-1]), None)


def crossings(found: Sizes) -> list[Comparison]:
    """Under light load, where applying later comes to be faster than the conventional call; on each device."""
    (theirs,) = (int(row["pages"]) for row in published.table("fams") if row["what"] == "fast SSD")
    made = []
    for device, think, engine in found:
        if engine == LATER and think:
            pages = faster_from(found[device, think, LATER], found[device, think, CONVENTIONAL])
            if pages is not None:
                what = f"{LATER}, faster than {CONVENTIONAL} from"
                made.append(Comparison(SIZES[0], device, what, "pages", pages, theirs, comparable=False, cause=CAUSE))
    return made


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The study as the catalogue has it."""
    results = [result for name in SIZES for result in gathered.results.get(name, ())]
    found = sizes(results)
    pages = list(next(iter(found.values())))
    setting = ratios.text(results[0])
    text = Drawn(
        name=SIZES[0],
        title="One msync() by the number of pages that were stored to",
        caption=f"Microseconds by device, load, engine and pages; {setting}.",
        notes=[
            "us from the first store to the end of msync(), page faults included; a mean without the first two",
            "all lines of a page are stored to; heavy load: no time between transactions; light: 10 ms of sleep",
            "msync-cached is the conventional call through the page cache, msync-4k that with DAX; neither is atomic",
            *(_said(found, line) for line in found if line[2] == LATER),
        ],
        columns=["device", "load", "engine", *map(str, pages)],
        rows=[[device, LOADS[think > 0], engine, *times.values()] for (device, think, engine), times in found.items()],
        comparisons=crossings(found),
    )
    return study.saved(text, _figure(found, setting), folder)


def _said(found: Sizes, line: Line) -> str:
    device, think, engine = line
    shown = []
    for other in (CONVENTIONAL, "msync-4k", AT_ONCE):
        pages = faster_from(found[line], found[device, think, other])
        shown.append(f"{other} {'never' if pages is None else f'from {pages} pages on'}")
    return f"{device}, {LOADS[think > 0]} load: {engine} is faster than {'; than '.join(shown)}"


def _figure(found: Sizes, setting: str) -> Figure:
    devices = list(dict.fromkeys(line[0] for line in found))
    loads = sorted({line[1] for line in found})
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(
            len(loads), len(devices), figsize=(2.7 * len(devices), 2.5 * len(loads) + 0.8), layout="constrained",
            squeeze=False, sharex=True, sharey=True,
        )  # fmt: skip
        for axes, (think, device) in zip(grid.flat, [(t, d) for t in loads for d in devices], strict=True):
            for (its, load, engine), times in found.items():
                if (its, load) == (device, think):
                    axes.plot(list(times), list(times.values()), marker=".", color=COLOURS[engine], label=engine)
            axes.set(xscale="log", yscale="log")
            axes.set_title(f"{device}, {LOADS[think > 0]} load", fontsize=8)
            axes.grid(alpha=0.3, linewidth=0.5)
        for axes in grid[-1]:
            axes.set_xlabel("pages")
        for axes in grid[:, 0]:
            axes.set_ylabel("us")
        figure.suptitle(setting, fontsize=7)
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, ncols=4, fontsize=7, loc="outside lower center")
        return figure
