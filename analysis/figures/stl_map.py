# SPDX-License-Identifier: BSD-3-Clause
"""A std::map in a persistent heap beside third-party stores: the time of a durable call, and the ratios."""

from collections.abc import Mapping, Sequence

from testbed.results.results import Result

from ..data import published, ratios
from ..data.chart import Chart, Dots, Group
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.values import by_name

NAME = "stl-map"
MAPS = ("fams-uffd", "snapshot")  # the std::map, committed by pages and by lines
PUBLISHED = {"kyoto": "kyoto-cabinet", "sqlite": "sqlite", "leveldb": "leveldb"}
STORES = (*MAPS, *PUBLISHED)
OPERATIONS = ("insert", "replace", "delete")
COLUMNS = (
    *("device", "operation", "store", "us", "p99 us"),
    *(f"over std::map, {engine}" for engine in MAPS),
    "published, SSD",
)
CAUSE = "there a block device and a file system that journals the pages, here memory"

Place = tuple[str, str]  # device, operation
Rows = dict[Place, dict[str, Mapping[str, int]]]  # engine -> the row that the program reported


def rows_of(results: Sequence[Result]) -> Rows:
    """Group the rows by device and operation, in the order of the results."""
    found: Rows = {}
    for result in results:
        for row in result.rows:
            if "response_ns" in row:
                place = str(result.point["device"]), row["operation"]
                found.setdefault(place, {})[str(result.point["engine"])] = row
    return found


def over(rows: Mapping[str, Mapping[str, int]], store: str, engine: str) -> float:
    """How many times as long a store takes as the std::map with that engine."""
    return rows[store]["response_ns"] / rows[engine]["response_ns"]


def theirs(store: str, operation: str) -> float:
    """The published ratio of a store to the std::map, on an SSD."""
    of = {
        row["store"]: float(row[f"{operation}_ms"]) for row in published.table("fams-stl-map") if row["device"] == "ssd"
    }
    return of[PUBLISHED[store]] / of["stl-map-fams"]


def comparisons(found: Rows) -> list[Comparison]:
    """Compare the ratio of each rival to the std::map with the published ratio."""
    made = []
    for (device, operation), rows in found.items():
        for engine in MAPS:
            for store in PUBLISHED:
                group, what = f"{operation}, {device}", f"{store} over std::map, {engine}"
                our, their = over(rows, store, engine), theirs(store, operation)
                made.append(Comparison(NAME, group, what, "times", our, their, comparable=False, cause=CAUSE))
    return made


def drawn(gathered: Gathered) -> Drawn:
    """Draw the study for the catalogue."""
    results = gathered.results[NAME]
    found = rows_of(results)
    setting = ratios.text(results[0])
    return Drawn(
        name=NAME,
        title="A std::map in a persistent heap beside Kyoto Cabinet, SQLite and LevelDB",
        caption=f"Microseconds of a call that is durable when it returns, by device, call and store; {setting}.",
        notes=[
            "fams-uffd and snapshot are the same std::map in the same heap, committed by pages and by lines",
            "over std::map: how many times as long as that; published: over theirs, on a fast SSD",
        ],
        columns=COLUMNS,
        rows=[_row(place, store, rows) for place, rows in found.items() for store in STORES],
        comparisons=comparisons(found),
        chart=_chart(found, setting),
    )


def _row(place: Place, store: str, rows: Mapping[str, Mapping[str, int]]) -> list[Cell]:
    their = theirs(store, place[1]) if store in PUBLISHED else None
    times = [rows[store]["response_ns"] / 1000, rows[store]["p99_ns"] / 1000]
    return [*place, store, *times, *(over(rows, store, engine) for engine in MAPS), their]


def _chart(found: Rows, setting: str) -> Chart:
    panels = [_panel(found, device) for device in dict.fromkeys(place[0] for place in found)]
    return Chart([panels], heading=setting, share_y="row")


def _panel(found: Rows, device: str) -> Dots:
    groups = [
        Group(store, by_name((o, found[device, o][store]["response_ns"] / 1000) for o in OPERATIONS))
        for store in STORES
    ]
    return Dots(OPERATIONS, groups, "us a call", title=device)
