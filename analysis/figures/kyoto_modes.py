# SPDX-License-Identifier: BSD-3-Clause
"""Kyoto Cabinet behind a socket in the modes of Kyoto Tycoon: response time, and requests a second."""

from collections.abc import Callable, Mapping, Sequence

from testbed.results.results import Result

from ..data import published, ratios, values
from ..data.chart import Chart, Dots, Group
from ..data.drawn import Cell, Comparison, Drawn, Gathered

NAME = "kyoto-modes"
NONE, WAL = "none", "wal"
ATOMIC = ("fams-uffd", "snapshot")  # commits by pages and by lines
ENGINES = (NONE, "sync", WAL, *ATOMIC)
OPERATIONS = ("insert", "replace", "delete")
COLUMNS = (
    *("device", "db", "operation", "engine", "response us", "p99 us", "requests/s"),
    *("response over none", "less than wal %"),
)
CAUSE = (
    "there a block device, a network and as many requests at a time as are not said; here memory, a socket and one CPU"
)

Place = tuple[str, str, str]  # device, kind of database, operation
Rows = dict[Place, dict[str, Mapping[str, int]]]  # engine -> the row that the program reported


def rows_of(results: Sequence[Result]) -> Rows:
    """Group the rows by device, database and operation, in the order of the results."""
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
    """By how many percent the response takes less time than with WAL; negative if the response takes longer."""
    return 100 * (1 - rows[engine]["response_ns"] / rows[WAL]["response_ns"])


def comparisons(found: Rows) -> list[Comparison]:
    """Compare the published ratios to no synchronization with ours.

    The gain over transactions is published only as a range over all operations, so notes of the figure state it.
    """
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


def drawn(gathered: Gathered) -> Drawn:
    """Draw the study for the catalogue."""
    results = gathered.results[NAME]
    found = rows_of(results)
    compared = comparisons(found)
    (clients,) = {row["clients"] for rows in found.values() for row in rows.values()}
    return Drawn(
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
        rows=[_row(place, engine, rows) for place, rows in found.items() for engine in ENGINES],
        comparisons=compared,
        chart=_chart(found, ratios.text(results[0])),
    )


def _beside(found: Rows, engine: str, operation: str) -> str:
    """State our ratios, from the least to the most over all devices and databases, beside the published ones."""
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


def _chart(found: Rows, setting: str) -> Chart:
    places = list(dict.fromkeys(place[:2] for place in found))
    shown = ((response_us, "us until the answer"), (a_second, "requests a second"))
    rows = [[_panel(found, place, value, label) for place in places] for value, label in shown]
    return Chart(rows, heading=setting, share_y="row")


def _panel(found: Rows, place: tuple[str, str], value: Callable[[Mapping[str, int]], float], label: str) -> Dots:
    groups = [
        Group(engine, values.by_name((o, value(found[*place, o][engine])) for o in OPERATIONS)) for engine in ENGINES
    ]
    return Dots(OPERATIONS, groups, label, title=f"{place[1]}, {place[0]}")
