# SPDX-License-Identifier: BSD-3-Clause
"""One msync() by the number of pages stored to: failure-atomic and conventional, without and with think time."""

from collections.abc import Mapping, Sequence

from testbed.results.results import Result

from ..data import published, ratios
from ..data.chart import Axis, Chart, Line, Lines
from ..data.drawn import Comparison, Drawn, Gathered
from ..data.values import points

SIZES = ("msync-pages", "msync-pages-nand", "msync-pages-fams", "msync-pages-fams-nand")
CONVENTIONAL, LATER, AT_ONCE = "msync-cached", "fams, later", "fams, at once"
ENGINES = (CONVENTIONAL, "msync-4k", "fams-exchange", "fams-uffd", AT_ONCE, LATER, "snapshot")
LOADS = {False: "heavy", True: "light"}
CAUSE = "a request to a block device for each page there, stores past the caches here"

Case = tuple[str, int, str]  # device, think time in microseconds, engine
Sizes = dict[Case, dict[int, float]]  # pages -> microseconds per transaction


def name_of(result: Result) -> str:
    """Name the engine; for the kernel module, name its policy."""
    point = result.point
    return (LATER if point["apply_ms"] else AT_ONCE) if "apply_ms" in point else str(point["engine"])


def sizes(results: Sequence[Result]) -> Sizes:
    """Return the times by device in the order of the results, then by think time and in the order of ENGINES."""
    found: Sizes = {}
    for result in results:
        line = (str(result.point["device"]), int(result.point["think"]), name_of(result))
        rows = [row for row in result.rows if "update_ns" in row]
        found[line] = {row["pages"]: row["update_ns"] / row["transactions"] / 1000 for row in rows}
    devices = list(dict.fromkeys(line[0] for line in found))
    return dict(sorted(found.items(), key=lambda f: (devices.index(f[0][0]), f[0][1], ENGINES.index(f[0][2]))))


def faster_from(one: Mapping[int, float], other: Mapping[int, float]) -> int | None:
    """Return the fewest pages from which on `one` takes less time than `other`; None if not even the most suffice."""
    slower = [pages for pages in one if one[pages] >= other[pages]]
    return next((pages for pages in one if not slower or pages > slower[-1]), None)


def crossings(found: Sizes) -> list[Comparison]:
    """Compare, for each device under light load, the pages from which on LATER is faster than CONVENTIONAL."""
    (theirs,) = (int(row["pages"]) for row in published.table("fams") if row["what"] == "fast SSD")
    made = []
    for device, think, engine in found:
        if engine == LATER and think:
            pages = faster_from(found[device, think, LATER], found[device, think, CONVENTIONAL])
            if pages is not None:
                what = f"{LATER}, faster than {CONVENTIONAL} from"
                made.append(Comparison(SIZES[0], device, what, "pages", pages, theirs, comparable=False, cause=CAUSE))
    return made


def drawn(gathered: Gathered) -> Drawn:
    """Draw the study for the catalogue."""
    results = [result for name in SIZES for result in gathered.results.get(name, ())]
    found = sizes(results)
    pages = list(next(iter(found.values())))
    setting = ratios.text(results[0])
    return Drawn(
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
        chart=_chart(found, setting),
    )


def _said(found: Sizes, case: Case) -> str:
    device, think, engine = case
    shown = []
    for other in (CONVENTIONAL, "msync-4k", AT_ONCE):
        pages = faster_from(found[case], found[device, think, other])
        shown.append(f"{other} {'never' if pages is None else f'from {pages} pages on'}")
    return f"{device}, {LOADS[think > 0]} load: {engine} is faster than {'; than '.join(shown)}"


def _chart(found: Sizes, setting: str) -> Chart:
    devices = list(dict.fromkeys(line[0] for line in found))
    rows = [[_panel(found, device, think) for device in devices] for think in sorted({line[1] for line in found})]
    return Chart(rows, heading=setting, share_x=True, share_y="all")


def _panel(found: Sizes, device: str, think: int) -> Lines:
    mine = {engine: times for (its, load, engine), times in found.items() if (its, load) == (device, think)}
    lines = [Line(engine, points(times, times.values())) for engine, times in mine.items()]
    return Lines(Axis("pages", "log"), Axis("us", "log"), lines, title=f"{device}, {LOADS[think > 0]} load")
