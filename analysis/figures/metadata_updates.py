# SPDX-License-Identifier: BSD-3-Clause
"""Metadata updates in place by one store, or logged, on equal code: beside the ratios that PMFS states."""

from collections.abc import Sequence

from testbed.manifest import bases, parse
from testbed.results.results import Result

from ..data import published, ratios, records
from ..data.chart import Bars, Chart, Group
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.values import by_name

NAME = "metadata-updates"
REFERENCE = "pmfs-pmep"
UNITS = ("off", "8", "16", "64")  # bytes that one store changes atomically; off: every update is logged
CALLS = ("append", "append-later", "delete")
BARRIER = "on"  # as in PMFS
NOTES = (
    "microseconds, the mean of all calls; times: how many times as long a call takes with all updates logged",
    "append: 64 bytes, to blocks that are there; append-later: a second after the last one, so that the times change",
    "delete: unlink() of a file of 4 KiB; of it PMFS's slides say 18 % faster, taken as 1.18 times",
    "barrier off is memory which a fence reaches; on, each fence waits for pm_wbarrier, too",
)
Means = dict[tuple[str, str], dict[str, float]]  # (barrier, call) -> size of the unit -> mean in us


def measured(results: Sequence[Result]) -> Means:
    """Return the means by barrier, `on` first, then in the order of CALLS."""
    pattern = parse.load(bases.find(NAME)).results.pattern
    means: Means = {}
    for row in records.of_results(results, pattern).all:
        means.setdefault((str(row["barrier"]), str(row["call"])), {})[str(row["atomic"])] = float(row["mean_us"])
    return dict(sorted(means.items(), key=lambda m: (m[0][0] != BARRIER, CALLS.index(m[0][1]))))


def is_of(results: Sequence[Result]) -> bool:
    """Whether these results are of the study's manifest, or of one that is based on it."""
    return all({"barrier", "atomic"} <= result.point.keys() for result in results)


def times(means: dict[str, float], unit: str) -> float:
    """How many times as long a call takes with all updates logged as with updates of this unit in place."""
    return means["off"] / means[unit]


def compared(means: Means) -> list[Comparison]:
    """Compare the published ratios with ours. The published append also changes the times, as `append-later` does."""
    calls = {"append": "append-later", "delete": "delete"}
    return [
        Comparison(
            NAME,
            "in place and logged",
            f"{row['what']}, {row['bytes']} bytes",
            "logged / in place",
            times(means[BARRIER, calls[row["what"]]], row["bytes"]),
            float(row["times"]),
        )
        for row in published.table(REFERENCE)
    ]


def drawn(gathered: Gathered) -> Drawn:
    """Draw the study for the catalogue."""
    means = measured(gathered.results[NAME])
    comparisons = compared(means)
    stated = "; ".join(f"{c.what}: {c.ours:.2f} times, published {c.published:g}" for c in comparisons)
    columns = ["barrier", "call", *UNITS, *(f"times {unit}" for unit in UNITS if unit != "off")]
    rows: list[list[Cell]] = [
        [*place, *(of[unit] for unit in UNITS), *(f"{times(of, unit):.2f}" for unit in UNITS if unit != "off")]
        for place, of in means.items()
    ]
    return Drawn(
        name=NAME,
        title="Metadata updates of tbfs: logged, or in place by one store of 8, 16 or 64 bytes",
        caption="By fio, on the device profile pmep; one thread.",
        notes=[*NOTES, stated],
        columns=columns,
        rows=rows,
        comparisons=comparisons,
        chart=_chart(means, ratios.text(gathered.results[NAME][0])),
    )


def _chart(means: Means, setting: str) -> Chart:
    names = {place: f"{place[1]}\nbarrier {place[0]}" for place in means}
    groups = [Group(unit, by_name((names[place], of[unit]) for place, of in means.items())) for unit in UNITS]
    return Chart([[Bars(list(names.values()), groups, "us a call")]], setting, legend_title="atomic")
