# SPDX-License-Identifier: BSD-3-Clause
"""Commits by pages and dirty lines per page: where commits in lines are faster, and where commits in pages are."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from testbed.results.results import Result

from ..data import ratios
from ..data.chart import Chart, Map
from ..data.drawn import Drawn, Gathered

MAP = ("pages-lines", "pages-lines-nand")
LINES, PAGES = "snapshot", ("fams-uffd", "msync-4k")
Place = tuple[str, int, int]  # device, pages of a transaction, dirty lines of each page
Times = dict[Place, dict[str, float]]  # engine -> microseconds
MOST = 32  # this ratio and its inverse have the full colours


def times_of(results: Sequence[Result]) -> Times:
    """Return the times by device in the order of the results, then by pages and lines."""
    found: Times = {}
    for result in results:
        for row in result.rows:
            place = (str(result.point["device"]), int(row["pages"]), int(row["lines"]))
            found.setdefault(place, {})[str(result.point["engine"])] = row["update_ns"] / row["transactions"] / 1000
    devices = list(dict.fromkeys(place[0] for place in found))
    return dict(sorted(found.items(), key=lambda f: (devices.index(f[0][0]), f[0][1:])))


def crossing(ratio_of: Mapping[int, float]) -> float | None:
    """Return the number of lines per page from which on commits in pages are faster than commits in lines.

    `ratio_of` has the ratio of their times at some numbers of lines. Between two of these, the function interpolates
    linearly over the logarithms. 0: always faster, None: never.
    """
    places = sorted(ratio_of.items())
    if places[-1][1] >= 1:
        return None
    for (lines, one), (more, other) in reversed(list(pairwise(places))):
        if one >= 1 > other:
            return float(lines * (more / lines) ** (math.log(one) / math.log(one / other)))
    return 0.0


def crossings(found: Times, engine: str) -> dict[tuple[str, int], float | None]:
    """Return the crossing for each device and number of pages."""
    ratio_of: dict[tuple[str, int], dict[int, float]] = {}
    for (device, pages, lines), times in found.items():
        ratio_of.setdefault((device, pages), {})[lines] = times[engine] / times[LINES]
    return {place: crossing(at) for place, at in ratio_of.items()}


def drawn(gathered: Gathered) -> Drawn:
    """Draw the study for the catalogue."""
    results = [result for name in MAP for result in gathered.results[name]]
    found = times_of(results)
    engines = list(dict.fromkeys(engine for times in found.values() for engine in times))
    setting = ratios.text(results[0])
    return Drawn(
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
        chart=_chart(found, setting),
    )


def _said(found: Times, engine: str, device: str) -> str:
    at = {pages: lines for (its, pages), lines in crossings(found, engine).items() if its == device}
    words = {None: "never", 0.0: "always"}
    shown = ", ".join(f"{pages}: {words.get(lines) or f'{lines:.2g}'}" for pages, lines in at.items())
    return f"{device}: {engine} is faster than {LINES} from so many lines of a page on, by pages: {shown}"


def _chart(found: Times, setting: str) -> Chart:
    devices = list(dict.fromkeys(place[0] for place in found))
    heading = f"times as long as {LINES}; the green line is where both take the same. {setting}"
    rows = [[_panel(found, engine, device) for device in devices] for engine in PAGES]
    return Chart(rows, heading, share_x=True, share_y="all")


def _panel(found: Times, engine: str, device: str) -> Map:
    """Make a map over the logarithms of lines and pages, which also shows each ratio as a number."""
    ratio_at = {place[1:]: times[engine] / times[LINES] for place, times in found.items() if place[0] == device}
    pages, lines = (sorted({place[axis] for place in ratio_at}) for axis in (0, 1))
    return Map(
        across={math.log2(n): str(n) for n in lines},
        up={math.log2(p): str(p) for p in pages},
        ratios=[[ratio_at[p, n] for n in lines] for p in pages],
        limit=MOST,
        good="low",
        title=f"{engine} over {LINES},\n{device}",
        x_label="dirty lines of a page",
        y_label="pages of a commit",
    )
