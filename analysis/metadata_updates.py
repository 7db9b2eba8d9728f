# SPDX-License-Identifier: BSD-3-Clause
"""Metadata updated in place by one store, or logged, on equal code: beside what PMFS states of both."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.manifest import bases, manifest
from testbed.results.results import Result

from . import plotting, published, records, study
from .drawn import Cell, Comparison, Drawn, Gathered

NAME = "metadata-updates"
REFERENCE = "pmfs-pmep"
UNITS = {"off": "#4a5568", "8": "#a0aec0", "16": "#2b6cb0", "64": "#2f855a"}
CALLS = ("append", "append-later", "delete")
BARRIER = "on"  # as PMFS has it
NOTES = (
    "microseconds, the mean of all calls; times: how many times as long a call takes with all updates logged",
    "append: 64 bytes, to blocks that are there; append-later: a second after the last one, so that the times change",
    "delete: unlink() of a file of 4 KiB; of it PMFS's slides say 18 % faster, taken as 1.18 times",
    "barrier off is memory which a fence reaches; on, each fence waits for pm_wbarrier, too",
)
Means = dict[tuple[str, str], dict[str, float]]  # of a barrier and a call, by the size of unit, in us


def measured(results: Sequence[Result]) -> Means:
    """By barrier, on first, then in the order of calls."""
    pattern = manifest.load(bases.find(NAME)).results.pattern
    means: Means = {}
    for row in records.of_results(results, pattern).all:
        means.setdefault((str(row["barrier"]), str(row["call"])), {})[str(row["atomic"])] = float(row["mean_us"])
    return dict(sorted(means.items(), key=lambda m: (m[0][0] != BARRIER, CALLS.index(m[0][1]))))


def is_of(results: Sequence[Result]) -> bool:
    """Whether these are of the study's manifest, or of one that is based on it."""
    return all({"barrier", "atomic"} <= result.point.keys() for result in results)


def times(means: dict[str, float], unit: str) -> float:
    """How many times as long a call takes with all updates logged."""
    return means["off"] / means[unit]


def compared(means: Means) -> list[Comparison]:
    """What is published, beside ours: an append that changes what theirs does is one that changes the times."""
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


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The study as the catalogue has it."""
    means = measured(gathered.results[NAME])
    comparisons = compared(means)
    stated = "; ".join(f"{c.what}: {c.ours:.2f} times, published {c.published:g}" for c in comparisons)
    columns = ["barrier", "call", *UNITS, *(f"times {unit}" for unit in UNITS if unit != "off")]
    rows: list[list[Cell]] = [
        [*place, *(of[unit] for unit in UNITS), *(f"{times(of, unit):.2f}" for unit in UNITS if unit != "off")]
        for place, of in means.items()
    ]
    text = Drawn(
        name=NAME,
        title="Metadata updates of tbfs: logged, or in place by one store of 8, 16 or 64 bytes",
        caption="By fio, on the device profile pmep; one thread.",
        notes=[*NOTES, stated],
        columns=columns,
        rows=rows,
        comparisons=comparisons,
    )
    return study.saved(text, _figure(means), folder)


def _figure(means: Means) -> Figure:
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(5.2, 2.6), layout="constrained")
        width = 0.8 / len(UNITS)
        for n, (unit, colour) in enumerate(UNITS.items()):
            places = [i + (n - 1.5) * width for i in range(len(means))]
            axes.bar(places, [of[unit] for of in means.values()], width, color=colour, label=unit)
        axes.set_xticks(range(len(means)), [f"{call}\nbarrier {barrier}" for barrier, call in means], fontsize=6)
        axes.set_ylabel("us")
        figure.legend(frameon=False, ncols=len(UNITS), loc="outside lower center", fontsize=7, title="atomic")
        return figure
