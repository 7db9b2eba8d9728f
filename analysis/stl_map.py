# SPDX-License-Identifier: BSD-3-Clause
"""A std::map in a persistent heap beside stores that others wrote: how long a durable call takes, and the ratios."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.results.results import Result

from . import plotting, published, ratios, study
from .drawn import Cell, Comparison, Drawn, Gathered

NAME = "stl-map"
MAPS = ("fams-uffd", "snapshot")  # the std::map, committed by pages and by lines
PUBLISHED = {"kyoto": "kyoto-cabinet", "sqlite": "sqlite", "leveldb": "leveldb"}
COLOURS = {
    MAPS[0]: "#2f855a",
    MAPS[1]: "#2b6cb0",
    "kyoto": "#dd6b20",
    "sqlite": "#805ad5",
    "leveldb": "#1a202c",
}
OPERATIONS = ("insert", "replace", "delete")
COLUMNS = (
    *("device", "operation", "store", "us", "p99 us"),
    *(f"over std::map, {engine}" for engine in MAPS),
    "published, SSD",
)
CAUSE = "there a block device and a file system that journals the pages, here memory"

Place = tuple[str, str]  # device, operation
Rows = dict[Place, dict[str, Mapping[str, int]]]  # engine -> what the program reported


def rows_of(results: Sequence[Result]) -> Rows:
    """By device in the order of the results."""
    found: Rows = {}
    for result in results:
        for row in result.rows:
            if "response_ns" in row:
                place = str(result.point["device"]), row["operation"]
                found.setdefault(place, {})[str(result.point["engine"])] = row
    return found


def over(rows: Mapping[str, Mapping[str, int]], store: str, engine: str) -> float:
    """How many times as long a store takes as the std::map of that engine."""
    return rows[store]["response_ns"] / rows[engine]["response_ns"]


def theirs(store: str, operation: str) -> float:
    """The same, published, on an SSD."""
    of = {
        row["store"]: float(row[f"{operation}_ms"]) for row in published.table("fams-stl-map") if row["device"] == "ssd"
    }
    return of[PUBLISHED[store]] / of["stl-map-fams"]


def comparisons(found: Rows) -> list[Comparison]:
    """Each rival over the std::map, ours and theirs."""
    made = []
    for (device, operation), rows in found.items():
        for engine in MAPS:
            for store in PUBLISHED:
                group, what = f"{operation}, {device}", f"{store} over std::map, {engine}"
                our, their = over(rows, store, engine), theirs(store, operation)
                made.append(Comparison(NAME, group, what, "times", our, their, comparable=False, cause=CAUSE))
    return made


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The study as the catalogue has it."""
    results = gathered.results[NAME]
    found = rows_of(results)
    setting = ratios.text(results[0])
    text = Drawn(
        name=NAME,
        title="A std::map in a persistent heap beside Kyoto Cabinet, SQLite and LevelDB",
        caption=f"Microseconds of a call that is durable when it returns, by device, call and store; {setting}.",
        notes=[
            "fams-uffd and snapshot are the same std::map in the same heap, committed by pages and by lines",
            "over std::map: how many times as long as that; published: over theirs, on a fast SSD",
        ],
        columns=COLUMNS,
        rows=[_row(place, store, rows) for place, rows in found.items() for store in COLOURS],
        comparisons=comparisons(found),
    )
    return study.saved(text, _figure(found, setting), folder)


def _row(place: Place, store: str, rows: Mapping[str, Mapping[str, int]]) -> list[Cell]:
    their = theirs(store, place[1]) if store in PUBLISHED else None
    times = [rows[store]["response_ns"] / 1000, rows[store]["p99_ns"] / 1000]
    return [*place, store, *times, *(over(rows, store, engine) for engine in MAPS), their]


def _figure(found: Rows, setting: str) -> Figure:
    devices = list(dict.fromkeys(place[0] for place in found))
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(
            1, len(devices), figsize=(3.2 * len(devices), 3.2), layout="constrained", squeeze=False, sharey="row"
        )
        for axes, device in zip(grid[0], devices, strict=True):
            for number, (store, colour) in enumerate(COLOURS.items()):
                values = [found[device, operation][store]["response_ns"] / 1000 for operation in OPERATIONS]
                at = [i + (number - 2) * 0.16 for i in range(len(OPERATIONS))]
                plotting.points(axes, at, values, colour, store)
            axes.set_yscale("log")
            axes.set_xticks(range(len(OPERATIONS)), OPERATIONS)
            axes.set_title(device, fontsize=8)
        grid[0][0].set_ylabel("us a call")
        figure.suptitle(setting, fontsize=7)
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, ncols=5, fontsize=7, loc="outside lower center")
        return figure
