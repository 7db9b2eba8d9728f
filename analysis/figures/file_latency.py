# SPDX-License-Identifier: BSD-3-Clause
"""One read or write of a file by its size and alignment: tbfs with each data policy, beside ext4 and XFS with DAX."""

from collections.abc import Sequence

from testbed.manifest import bases, parse
from testbed.results.results import Result

from ..data import published, ratios, records
from ..data.chart import Axis, Chart, Line, Lines
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.values import points

NAME = "file-latency"
REFERENCE = "hdpm-pm"
POLICIES = ("ext4-dax", "xfs-dax", "inplace", "cow", "hybrid")
CALLS = {"randwrite": "write", "randread": "read"}
SMALL_BYTES, UNALIGNED = 1024, 13
NOTES = (
    "microseconds, the mean of 500 calls at multiples of the size, and at bytes 13 behind them",
    "less_percent: by how much less time hybrid takes than cow",
    "cow is tbfs's own, not NOVA: what is compared is two ways to keep data, on equal code",
    "no sizes were published: ours is the best of the writes of up to 1 KiB that are not aligned, on Optane memory",
)
Place = tuple[str, str, int, int]  # device, rw, bytes, begin
Means = dict[Place, dict[str, float]]  # policy -> mean in us


def measured(results: Sequence[Result]) -> Means:
    """Return the means in the manifest's order of devices, writes first, then by size and begin."""
    pattern = parse.load(bases.find(NAME)).results.pattern
    means: Means = {}
    for row in records.of_results(results, pattern).all:
        place = (str(row["device"]), str(row["rw"]), int(row["bytes"]), int(row["begin"]))
        means.setdefault(place, {})[str(row["policy"])] = float(row["mean_us"])
    devices = list(dict.fromkeys(place[0] for place in means))
    return dict(sorted(means.items(), key=lambda m: (devices.index(m[0][0]), list(CALLS).index(m[0][1]), m[0][2:])))


def less_percent(means: dict[str, float]) -> float:
    """By how many percent `hybrid` takes less time than `cow`."""
    return 100 * (1 - means["hybrid"] / means["cow"])


def best_of_small(means: Means, device: str) -> float:
    """Return the largest ratio of `cow` to `hybrid` among the unaligned writes of up to SMALL_BYTES."""
    return max(
        of["cow"] / of["hybrid"]
        for (where, rw, size, begin), of in means.items()
        if (where, rw, begin) == (device, "randwrite", UNALIGNED) and size <= SMALL_BYTES
    )


def drawn(gathered: Gathered) -> Drawn:
    """Draw the study for the catalogue."""
    results = gathered.results[NAME]
    means = measured(results)
    (stated,) = published.table(REFERENCE)
    theirs, ours = 1 / (1 - float(stated["less_pct"]) / 100), best_of_small(means, "optane-dcpmm")
    compared = f"{stated['what']}: {100 * (1 - 1 / ours):.0f} % less time; published {stated['less_pct']} %"
    return Drawn(
        name=NAME,
        title="Reads and writes of a file by size and alignment",
        caption=f"By pread and pwrite at random places; {ratios.text(results[0])}.",
        notes=[*NOTES, compared],
        columns=[
            "device",
            "call",
            "bytes",
            *(c for policy in POLICIES for c in (policy, "+13")),
            "less_percent",
            "+13",
        ],
        rows=_rows(means),
        comparisons=[Comparison(NAME, "writes, not aligned", stated["what"], "cow / hybrid", ours, theirs)],
        chart=_chart(means, ratios.text(results[0])),
    )


def _rows(means: Means) -> list[list[Cell]]:
    """Make a row for each size. Its cells are pairs: calls at multiples of the size, and 13 bytes behind them."""
    rows: dict[tuple[str, str, int], list[Cell]] = {}
    for device, rw, size in dict.fromkeys(place[:3] for place in means):
        pair = [means[device, rw, size, begin] for begin in (0, UNALIGNED)]
        less = [f"{less_percent(of):.0f}" for of in pair]
        rows[device, rw, size] = [*(of[policy] for policy in POLICIES for of in pair), *less]
    return [[device, CALLS[rw], size, *cells] for (device, rw, size), cells in rows.items()]


def _chart(means: Means, setting: str) -> Chart:
    return Chart([[_panel(means, *place) for place in dict.fromkeys(place[:2] for place in means)]], setting)


def _panel(means: Means, device: str, rw: str) -> Lines:
    shown = [place for place in means if place[:2] == (device, rw) and place[3] == UNALIGNED]
    sizes = [place[2] for place in shown]
    lines = [Line(policy, points(sizes, [means[place][policy] for place in shown])) for policy in POLICIES]
    x, y = Axis("bytes, from byte 13 on", "log"), Axis("us", "log")
    return Lines(x, y, lines, title=f"{CALLS[rw]}, {device}")
