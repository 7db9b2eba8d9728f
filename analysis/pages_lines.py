# SPDX-License-Identifier: BSD-3-Clause
"""Commits by dirty lines of a page and pages: where lines take less than pages, and where pages less than lines."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from testbed.results.results import Result

from . import plotting, ratios, study
from .drawn import Drawn, Gathered

MAP = ("pages-lines", "pages-lines-nand")
LINES, PAGES = "snapshot", ("fams-uffd", "msync-4k")
Place = tuple[str, int, int]  # device, pages of a transaction, lines of each
Times = dict[Place, dict[str, float]]  # engine -> microseconds


def times_of(results: Sequence[Result]) -> Times:
    """By device in the order of the results, pages and lines."""
    found: Times = {}
    for result in results:
        for row in result.rows:
            place = (str(result.point["device"]), int(row["pages"]), int(row["lines"]))
            found.setdefault(place, {})[str(result.point["engine"])] = row["update_ns"] / row["transactions"] / 1000
    devices = list(dict.fromkeys(place[0] for place in found))
    return dict(sorted(found.items(), key=lambda f: (devices.index(f[0][0]), f[0][1:])))


def crossing(ratio_of: Mapping[int, float]) -> float | None:
    """From how many lines of a page on pages take less than lines, by their ratio at some; between two of them by a
    straight line over the logarithms. 0: always, None: never."""
    places = sorted(ratio_of.items())
    if places[-1][1] >= 1:
        return None
    for (lines, one), (more, other) in reversed(list(pairwise(places))):
        if one >= 1 > other:
            return float(lines * (more / lines) ** (math.log(one) / math.log(one / other)))
    return 0.0


def crossings(found: Times, engine: str) -> dict[tuple[str, int], float | None]:
    """Of each device and number of pages."""
    ratio_of: dict[tuple[str, int], dict[int, float]] = {}
    for (device, pages, lines), times in found.items():
        ratio_of.setdefault((device, pages), {})[lines] = times[engine] / times[LINES]
    return {place: crossing(at) for place, at in ratio_of.items()}


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The study as the catalogue has it."""
    results = [result for name in MAP for result in gathered.results[name]]
    found = times_of(results)
    engines = list(dict.fromkeys(engine for times in found.values() for engine in times))
    setting = ratios.text(results[0])
    text = Drawn(
        name=MAP[0],
        title="Commits in lines and commits in pages, by dirty lines of a page and pages",
        caption=f"Microseconds of a transaction by device, pages and lines of each; {setting}.",
        notes=[
            f"pages / lines: {PAGES[0]} over {LINES}; below 1 pages are faster. Same journal, same fences",
            "us from the first store to the end of the commit, page faults included; a mean without the first two",
            *(_said(found, engine, device) for engine in PAGES for device in dict.fromkeys(p[0] for p in found)),
        ],
        columns=["device", "pages", "lines", *engines, "pages / lines"],
        rows=[[*place, *(times[e] for e in engines), times[PAGES[0]] / times[LINES]] for place, times in found.items()],
    )
    return study.saved(text, _figure(found, setting), folder)


def _said(found: Times, engine: str, device: str) -> str:
    at = {pages: lines for (its, pages), lines in crossings(found, engine).items() if its == device}
    words = {None: "never", 0.0: "always"}
    shown = ", ".join(f"{pages}: {words.get(lines) or f'{lines:.2g}'}" for pages, lines in at.items())
    return f"{device}: {engine} is faster than {LINES} from so many lines of a page on, by pages: {shown}"


def _figure(found: Times, setting: str) -> Figure:
    devices = list(dict.fromkeys(place[0] for place in found))
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(
            len(PAGES), len(devices), figsize=(2.5 * len(devices), 2.3 * len(PAGES) + 0.5), layout="constrained",
            squeeze=False, sharex=True, sharey=True,
        )  # fmt: skip
        for row, engine in zip(grid, PAGES, strict=True):
            for axes, device in zip(row, devices, strict=True):
                mine = {place[1:]: times[engine] / times[LINES] for place, times in found.items() if place[0] == device}
                shown = _panel(axes, mine)
                axes.set_title(f"{engine} over {LINES},\n{device}", fontsize=7)
        for axes in grid[-1]:
            axes.set_xlabel("dirty lines of a page")
        for axes in grid[:, 0]:
            axes.set_ylabel("pages of a commit")
        bar = figure.colorbar(shown, ax=grid, shrink=0.7, ticks=[-4, -2, 0, 2, 4])
        bar.ax.set_yticklabels(["1/16", "1/4", "1", "4", "16"], fontsize=7)
        figure.suptitle(f"times as long as {LINES}; the black line is where both take the same. {setting}", fontsize=7)
        return figure


def _panel(axes: Axes, ratio_at: Mapping[tuple[int, int], float]) -> QuadMesh:
    """The ratios as colours over the logarithms, and the line where they are 1."""
    pages, lines = (sorted({place[axis] for place in ratio_at}) for axis in (0, 1))
    logs = [[math.log2(ratio_at[p, n]) for n in lines] for p in pages]
    across, up = ([math.log2(value) for value in values] for values in (lines, pages))
    shown = axes.pcolormesh(across, up, logs, cmap="RdBu_r", vmin=-5, vmax=5, shading="nearest")
    for row, y in zip(logs, up, strict=True):
        for x, log in zip(across, row, strict=True):
            axes.text(x, y, f"{2**log:.2g}", ha="center", va="center", fontsize=4.5)
    if min(map(min, logs)) < 0 < max(map(max, logs)):
        axes.contour(across, up, logs, levels=[0], colors="black", linewidths=1.5)
    axes.set_xticks(across, [str(n) for n in lines], fontsize=6)
    axes.set_yticks(up, [str(p) for p in pages], fontsize=6)
    return shown
