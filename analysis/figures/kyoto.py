# SPDX-License-Identifier: BSD-3-Clause
"""Kyoto Cabinet's hard transactions by the updates in each: with Kyoto's undo log and on Snapshot, on both devices."""

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.results.results import Result

from ..data import published, ratios, tables, values
from ..data.chart import Axis, Chart, Line, Lines
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.tables import short

NAME = "kyoto-commits"
PROGRAM = "kyoto"
ITERATIONS = 100_000
ENGINES = {"wal": ("kyoto_wal_s", "its own undo log"), "snapshot": ("snapshot_s", "Snapshot")}
COLUMNS = (
    *("device", "updates_per_commit", "commits", "wal_s", "snapshot_s", "times_faster"),
    *("published_wal_s", "published_snapshot_s", "published_times_faster"),
)
NOTES = (
    "seconds are of 100,000 iterations at the measured pace: a third each sets, removals and nothing, and the commit "
    "comes after each with a probability of one in `updates_per_commit`",
    "ours begins with a database of all records; with what the published one began is not said",
)


@dataclass(frozen=True)
class Point:
    """One number of updates per commit on one device: ns per iteration by engine, and the published seconds."""

    device: str
    updates: int
    commits: int
    update_ns: dict[str, float]
    published_s: dict[str, float]

    def seconds(self, engine: str) -> float:
        return self.update_ns[engine] * ITERATIONS / 1e9

    @property
    def faster(self) -> float:
        return self.update_ns["wal"] / self.update_ns["snapshot"]

    @property
    def published_faster(self) -> float | None:
        return self.published_s["wal"] / self.published_s["snapshot"] if self.published_s else None

    def row(self) -> list[Cell]:
        theirs = [self.published_s.get(engine) for engine in ENGINES]
        ours = [short(self.seconds(engine)) for engine in ENGINES]
        factors = short(self.faster), short(self.published_faster)
        return [self.device, self.updates, self.commits, *ours, factors[0], *theirs, factors[1]]


def points(results: Sequence[Result]) -> list[Point]:
    """Return a point for each device and number of updates. Points of an experiment may cover only one engine."""
    times: dict[tuple[str, int, int], dict[str, float]] = {}
    for result in results:
        row = next(row for row in result.rows if "roi_ns" in row)
        device = result.data["identity"]["machine"]["device"]["name"]
        key = str(device), int(row["updates"]), int(row["commits"])
        times.setdefault(key, {})[row["engine"]] = row["roi_ns"] / (row["transactions"] * row["updates"])
    return [Point(*key, ns, _published(*key[:2])) for key, ns in times.items()]


def _published(device: str, updates: int) -> dict[str, float]:
    for row in published.of_device("kyoto", device):
        if int(row["updates_per_commit"]) == updates:
            return {engine: float(row[column]) for engine, (column, _) in ENGINES.items()}
    return {}


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure for the catalogue."""
    results = gathered.results[NAME]
    made = points(results)
    rows = [point.row() for point in made]
    machines = {str(r.point["device"]): f"{r.point['device']}, {ratios.text(r)}" for r in results}
    lines = [list(COLUMNS), *([("-" if cell is None else str(cell)) for cell in row] for row in rows)]
    text = "\n".join([*machines.values(), *tables.aligned(lines), *NOTES])
    return Drawn(
        name=NAME,
        title="Kyoto Cabinet: time of hard transactions against updates in each",
        caption=f"TreeDB, seconds for 100,000 iterations; {'; '.join(machines.values())}.",
        notes=NOTES,
        columns=COLUMNS,
        rows=rows,
        comparisons=[c for point in made for c in comparisons(point)],
        chart=_chart(made, machines),
        text=text,
    )


def comparisons(point: Point) -> list[Comparison]:
    if not point.published_s:
        return []
    group = f"kyoto {point.updates} updates, {point.device}"
    return [Comparison(NAME, group, e, "s", point.seconds(e), point.published_s[e]) for e in point.update_ns]


def _chart(made: Sequence[Point], machines: dict[str, str]) -> Chart:
    titles = {device: machine.replace(", data", ",\ndata") for device, machine in machines.items()}
    return Chart([[_panel(title, [p for p in made if p.device == device]) for device, title in titles.items()]])


def _panel(title: str, mine: Sequence[Point]) -> Lines:
    updates, lines = [point.updates for point in mine], list[Line]()
    for engine, (_, label) in ENGINES.items():
        lines.append(Line(label, values.points(updates, [p.seconds(engine) for p in mine]), engine))
        if all(p.published_s for p in mine):
            theirs = values.points(updates, [p.published_s[engine] for p in mine])
            lines.append(Line(label, theirs, engine, published=True))
    x = Axis("updates a commit", "log", {n: str(n) for n in updates})
    return Lines(x, Axis("s for 100,000 iterations", "log"), lines, title)
