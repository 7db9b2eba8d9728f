# SPDX-License-Identifier: BSD-3-Clause
"""Kyoto Cabinet's hard transactions against the updates in each: its own undo log, and Snapshot, on both devices."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.results.results import Result

from . import plotting, published, ratios
from .drawn import Cell, Comparison, Drawn, Gathered
from .plotting import short

NAME = "kyoto-commits"
PROGRAM = "kyoto"
ITERATIONS = 100_000
ENGINES = {"wal": ("kyoto_wal_s", "its own undo log", "#dd6b20"), "snapshot": ("snapshot_s", "Snapshot", "#2b6cb0")}
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
    """One number of updates a commit on one device: ns an iteration by engine, and the published seconds."""

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
    """A point for each device and number of updates; of an experiment, it may have one engine only."""
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
            return {engine: float(row[column]) for engine, (column, _, _) in ENGINES.items()}
    return {}


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure as the catalogue has it."""
    results = gathered.results[NAME]
    made = points(results)
    rows = [point.row() for point in made]
    machines = {str(r.point["device"]): f"{r.point['device']}, {ratios.text(r)}" for r in results}
    lines = [list(COLUMNS), *([("-" if cell is None else str(cell)) for cell in row] for row in rows)]
    text = "\n".join([*machines.values(), *plotting.aligned(lines), *NOTES])
    return Drawn(
        name=NAME,
        title="Kyoto Cabinet: time of hard transactions against updates in each",
        caption=f"TreeDB, seconds for 100,000 iterations; {'; '.join(machines.values())}.",
        notes=NOTES,
        columns=COLUMNS,
        rows=rows,
        comparisons=[c for point in made for c in comparisons(point)],
        files=plotting.write(_figure(made, machines), folder / NAME, text, COLUMNS, rows),
    )


def comparisons(point: Point) -> list[Comparison]:
    if not point.published_s:
        return []
    group = f"kyoto {point.updates} updates, {point.device}"
    return [Comparison(NAME, group, e, "s", point.seconds(e), point.published_s[e]) for e in point.update_ns]


def _figure(made: Sequence[Point], machines: dict[str, str]) -> Figure:
    with plt.rc_context(plotting.STYLE):
        figure, panels = plt.subplots(1, len(machines), figsize=(7.2, 3.4), layout="constrained", squeeze=False)
        for axes, (device, machine) in zip(panels[0], machines.items(), strict=True):
            mine = [point for point in made if point.device == device]
            updates = [point.updates for point in mine]
            for engine, (_, label, colour) in ENGINES.items():
                axes.plot(updates, [p.seconds(engine) for p in mine], "o-", color=colour, ms=3, label=label)
                if all(p.published_s for p in mine):
                    theirs = [p.published_s[engine] for p in mine]
                    axes.plot(updates, theirs, "x:", color=colour, ms=4, label=f"{label}, published")
            axes.set(xscale="log", yscale="log", xlabel="updates a commit", ylabel="s for 100,000 iterations")
            axes.set_xticks(updates, [str(n) for n in updates])
            axes.minorticks_off()
            axes.set_title(machine.replace(", data", ",\ndata"), fontsize=6)
            axes.legend(frameon=False, fontsize=6)
        return figure
