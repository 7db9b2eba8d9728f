# SPDX-License-Identifier: BSD-3-Clause
"""Kyoto Cabinet behind a socket in the modes of Kyoto Tycoon: how long a request takes, and how many there are."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.results.results import Result

from . import plotting, published, ratios, study
from .drawn import Cell, Comparison, Drawn, Gathered

NAME = "kyoto-modes"
NONE, WAL = "none", "wal"
ATOMIC = ("fams-uffd", "snapshot")  # by pages and by lines
COLOURS = {NONE: "#a0aec0", "sync": "#1a202c", WAL: "#dd6b20", ATOMIC[0]: "#2f855a", ATOMIC[1]: "#2b6cb0"}
OPERATIONS = ("insert", "replace", "delete")
COLUMNS = (
    *("device", "db", "operation", "engine", "response us", "p99 us", "requests/s"),
    *("response over none", "less than wal %"),
)
CAUSE = (
    "there a block device, a network and as many requests at a time as are not said; here memory, a socket and one CPU"
)

Place = tuple[str, str, str]  # device, kind of database, operation
Rows = dict[Place, dict[str, Mapping[str, int]]]  # engine -> what the program reported


def rows_of(results: Sequence[Result]) -> Rows:
    """By device and database in the order of the results."""
    found: Rows = {}
    for result in results:
        device, db = str(result.point["device"]), str(result.point["db"])
        for row in result.rows:
            if "response_ns" in row:
                found.setdefault((device, db, row["operation"]), {})[str(result.point["engine"])] = row
    return found


def response_us(row: Mapping[str, int]) -> float:
    return row["response_ns"] / 1000


def a_second(row: Mapping[str, int]) -> float:
    return row["requests"] * 1e9 / row["roi_ns"]


def over_none(rows: Mapping[str, Mapping[str, int]], engine: str) -> float:
    return rows[engine]["response_ns"] / rows[NONE]["response_ns"]


def less_than_wal(rows: Mapping[str, Mapping[str, int]], engine: str) -> float:
    """In percent; negative: it takes longer."""
    return 100 * (1 - rows[engine]["response_ns"] / rows[WAL]["response_ns"])


def comparisons(found: Rows) -> list[Comparison]:
    """Published ratios beside ours. How much less than transactions is published as a range over all: its ends."""
    theirs = {(row["mode"], row["operation"]): row for row in published.table("fams-tycoon-cost")}
    made = []
    for (device, db, operation), rows in found.items():
        none, fams = theirs["no-sync", operation], theirs["fams", operation]
        group = f"{operation}, {db}, {device}"
        slower = float(fams["response_ms"]) / float(none["response_ms"])
        fewer = float(none["throughput_per_s"]) / float(fams["throughput_per_s"])
        for engine in ATOMIC:
            ours = over_none(rows, engine), a_second(rows[NONE]) / a_second(rows[engine])
            for what, our, their in (("response", ours[0], slower), ("requests a second", ours[1], fewer)):
                named = f"{what}, {engine} against {NONE}"
                made.append(Comparison(NAME, group, named, "times", our, their, comparable=False, cause=CAUSE))
    return made


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The study as the catalogue has it."""
    results = gathered.results[NAME]
    found = rows_of(results)
    compared = comparisons(found)
    (clients,) = {row["clients"] for rows in found.values() for row in rows.values()}
    text = Drawn(
        name=NAME,
        title="Kyoto Cabinet behind a Unix socket, in the modes of Kyoto Tycoon",
        caption=f"By device, database, operation and mode; {clients} clients, one CPU for them and the server; "
        f"{ratios.text(results[0])}.",
        notes=[
            "response us: from the request to its answer by the client's clock, a mean",
            *(_beside(found, engine, operation) for operation in OPERATIONS for engine in ATOMIC),
            *(_gain(found, place, engine) for place in dict.fromkeys(p[:2] for p in found) for engine in ATOMIC),
        ],
        columns=COLUMNS,
        rows=[_row(place, engine, rows) for place, rows in found.items() for engine in COLOURS],
        comparisons=compared,
    )
    return study.saved(text, _figure(found, ratios.text(results[0])), folder)


def _beside(found: Rows, engine: str, operation: str) -> str:
    """Ours from the least to the most of all devices and databases."""
    mine = [c for c in comparisons(found) if engine in c.what and c.group.startswith(operation)]
    said = []
    for what in ("response", "requests a second"):
        these = [c for c in mine if c.what.startswith(what)]
        least, most = (f(c.ours for c in these) for f in (min, max))
        said.append(f"{what} {least:.3g} to {most:.3g} times, published {these[0].published:.3g}")
    return f"{operation}, {engine} against {NONE}: {'; '.join(said)}"


def _gain(found: Rows, place: tuple[str, str], engine: str) -> str:
    values = [less_than_wal(rows, engine) for at, rows in found.items() if at[:2] == place]
    least, most = (row["percent"] for row in published.table("fams-tycoon-gain"))
    if max(values) < 0:
        said = f"{1 - max(values) / 100:.2g} to {1 - min(values) / 100:.2g} times as long as {WAL}"
    else:
        said = f"{min(values):.0f} to {max(values):.0f} % less than {WAL}"
    return f"{', '.join(place)}: {engine} takes {said}; published {least} to {most} % less"


def _row(place: Place, engine: str, rows: Mapping[str, Mapping[str, int]]) -> list[Cell]:
    row = rows[engine]
    measured = [response_us(row), row["p99_ns"] / 1000, a_second(row)]
    return [*place, engine, *measured, over_none(rows, engine), less_than_wal(rows, engine)]


def _figure(found: Rows, setting: str) -> Figure:
    places = list(dict.fromkeys(place[:2] for place in found))
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(
            2, len(places), figsize=(2.3 * len(places), 5.2), layout="constrained", squeeze=False, sharey="row"
        )
        for column, (device, db) in enumerate(places):
            for number, (engine, colour) in enumerate(COLOURS.items()):
                rows = [found[device, db, operation][engine] for operation in OPERATIONS]
                at = [i + (number - 2) * 0.16 for i in range(len(OPERATIONS))]
                for axes, values in zip(
                    grid[:, column], ([*map(response_us, rows)], [*map(a_second, rows)]), strict=True
                ):
                    plotting.points(axes, at, values, colour, engine)
            for axes in grid[:, column]:
                axes.set_yscale("log")
                axes.set_xticks(range(len(OPERATIONS)), OPERATIONS, fontsize=7)
            grid[0][column].set_title(f"{db}, {device}", fontsize=7)
        grid[0][0].set_ylabel("us until the answer")
        grid[1][0].set_ylabel("requests a second")
        figure.suptitle(setting, fontsize=7)
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, ncols=5, fontsize=7, loc="outside lower center")
        return figure
