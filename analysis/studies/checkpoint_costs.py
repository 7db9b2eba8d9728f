# SPDX-License-Identifier: BSD-3-Clause
"""The cost of checkpoints to a store: its run time above the run time in DRAM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.results.results import Result

from ..data import published, ratios, records
from ..data.chart import Band, Bars, Chart, Group
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.values import by_name

COST = "epoch-cost"
BASELINE, ON_DEVICE = "volatile", "msync-4k"
OWN_BASELINES = {"cpnvm": "volatile-cpnvm"}  # engine -> baseline on the engine's allocator, used if that was run
REFERENCE = {row["system"] + " " + row["workload"]: row for row in published.table("cpnvm")}
# The published device, and the store with requests as short as an index's. The epoch is scaled with the data.
COMPARED = ("optane-dcpmm", 14)
MTREE = "mtree"
PUBLISHED_EPOCH_MS = 64
PUBLISHED_MOST_PERCENT = float(REFERENCE["masstree-cpnvm all"]["overhead_high_pct"])
LONG_MS = 64.0
SHOWN = (  # the chart's bars: engine and length of an epoch in ms
    *(("cpnvm", 1.0), ("cpnvm", LONG_MS), ("snapshot-epoch", 1.0), ("snapshot-epoch", LONG_MS)),
    *(("snapshot", None), ("epochs", 1.0)),
)
# Reasons for which a ratio of ours to the published value is meaningless.
NO_NUMBER = {
    "overhead_high_pct": "a bound of all workloads is published, no number",
    "overhead_low_pct": "a range of workloads that are not named is published",
}
Store = int | str  # records in a bucket of the hash table, or the name of another program
Place = tuple[str, Store, str]  # device, store, workload


def _percent(ns: float, of_ns: float) -> float:
    return 100 * (ns / of_ns - 1)


@dataclass(frozen=True)
class Cost:
    """One run of a store, and the time of the same run in DRAM."""

    place: Place
    engine: str
    epoch_ms: float | None  # None: no epochs
    row: Mapping[str, Any]
    volatile_ns: int

    @property
    def overhead(self) -> float:
        """Percent of run time above DRAM, with all work counted: the one CPU also replays."""
        return _percent(self.row["roi_ns"], self.volatile_ns)

    @property
    def without_replay(self) -> float | None:
        """The overhead as if another CPU replayed at no cost; None without epochs."""
        return None if self.epoch_ms is None else _percent(self.row["roi_ns"] - self.row["replay_ns"], self.volatile_ns)

    def cells(self) -> list[Cell]:
        device, store, workload = self.place
        row, checkpoints = self.row, self.row["commits"]
        head: list[Cell] = [device, store, workload, self.engine, self.epoch_ms]
        head += [row["roi_ns"] / row["operations"], self.overhead]
        if self.epoch_ms is None:
            return [*head, None, None, None, None, None]
        lost, stop_us = (each(row[key], checkpoints) for key in ("updates", "stop_ns"))
        replay = 100 * row["replay_ns"] / row["roi_ns"]
        return [*head, self.without_replay, checkpoints, lost, None if stop_us is None else stop_us / 1000, replay]


def each(total: int, count: int) -> float | None:
    """Return the mean, or None if `count` is 0."""
    return total / count if count else None


def _place(result: Result) -> Place:
    point = result.point
    store = int(point["per_bucket"]) if "per_bucket" in point else str(point.get("rival", MTREE))
    return str(point["device"]), store, str(point["workload"])


def costs(epochs: Sequence[Result], beside: Sequence[Result]) -> list[Cost]:
    """Return the costs by place, then in the order of the manifests."""
    timed = {(_place(r), str(r.point["engine"])): int(row_of(r)["roi_ns"]) for r in beside}
    places = sorted({place for place, _ in timed}, key=lambda place: (place[0], str(place[1]), place[2]))
    made = [Cost(_place(r), str(r.point["engine"]), int(r.point["epoch_ns"]) / 1e6, row_of(r), 0) for r in epochs]
    made += [Cost(_place(r), str(r.point["engine"]), None, row_of(r), 0) for r in beside]
    made = [Cost(c.place, c.engine, c.epoch_ms, c.row, _baseline(timed, c.place, c.engine)) for c in made]
    return [c for place in places for c in made if c.place == place and c.engine != BASELINE]


def _baseline(timed: Mapping[tuple[Place, str], int], place: Place, engine: str) -> int:
    """Return the time of the same run in DRAM, in ns."""
    return timed.get((place, OWN_BASELINES.get(engine, "")), timed[place, BASELINE])


def row_of(result: Result) -> dict[str, Any]:
    """Return the measured row of a store's run."""
    return {"replay_ns": 0} | records.row_of(result, "roi_ns")  # the rivals report no replay


def comparisons(table: Sequence[Cost], epoch_ms: float, figure: str = COST) -> list[Comparison]:
    """Compare with the published bounds and ranges. No comparison counts, because they are of another program."""
    device, store = COMPARED if figure == COST else (COMPARED[0], MTREE)
    found = []
    for c in table:
        workload = c.place[2]
        key = f"masstree-cpnvm {'C' if workload == 'C' else 'all'}", "overhead_high_pct"
        if c.engine == ON_DEVICE:
            key = "masstree-on-optane all", "overhead_low_pct"
        mine = c.place[:2] == (device, store) and c.epoch_ms in (None, epoch_ms)
        if mine and (c.engine in ("cpnvm", "snapshot-epoch") or (c.engine == ON_DEVICE and workload == "C")):
            theirs = float(REFERENCE[key[0]][key[1]])
            group = f"{'kv' if figure == COST else store} {workload}, {device}"
            cause = "" if figure == COST else NO_NUMBER[key[1]]
            found.append(Comparison(figure, group, c.engine, "%", c.overhead, theirs, False, cause))
    return found


def chart(table: Sequence[Cost], heading: str) -> Chart:
    """Make a panel for each device and store."""
    return Chart([[_panel(table, *place) for place in dict.fromkeys(c.place[:2] for c in table)]], heading)


def _panel(table: Sequence[Cost], device: str, store: Store) -> Bars:
    workloads = list(dict.fromkeys(c.place[2] for c in table))
    groups = []
    for engine, epoch_ms in SHOWN:
        mine = [c for c in table if (c.place[:2], c.engine, c.epoch_ms) == ((device, store), engine, epoch_ms)]
        label = f"{engine}, {epoch_ms:g} ms" if epoch_ms else f"{engine}, a commit a transaction"
        groups.append(Group(label, by_name((c.place[2], c.overhead) for c in mine), engine, faint=epoch_ms == LONG_MS))
    title = store if isinstance(store, str) else f"{store} records a bucket"
    theirs = Band(0, PUBLISHED_MOST_PERCENT, "published, of Masstree; not comparable")
    return Bars(
        workloads, groups, "run time above that in DRAM, %", f"{device}\n{title}", "YCSB workload", bands=[theirs]
    )


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure and its table for the catalogue."""
    results = gathered.results["epochs-ycsb"]
    table = costs(results, gathered.results["epochs-beside"])
    setting = ratios.text(results[0])
    return Drawn(
        name=COST,
        title="KV store with checkpoints: run time above that in DRAM",
        caption=f"By device, records in a bucket, YCSB workload, engine and length of an epoch; {setting}.",
        notes=[
            "Overhead has all work of the one CPU in it; less replay is without the time that replays took.",
            "A crash loses at most the updates of an epoch, and those of the checkpoint that is under way.",
            "Replays of what was loaded before the requests are part of the first checkpoints.",
            "Without an epoch a transaction ends with a commit; msync-4k has its data on the device.",
            "Published: below 15 % of Masstree under all workloads of YCSB, close to 0 % under C; on Optane memory "
            "itself 64 to 127 %.",
        ],
        columns=[
            *("device", "a bucket", "YCSB", "engine", "epoch ms", "ns a request", "overhead %", "less replay %"),
            *("checkpoints", "updates each", "stop us", "replay %"),
        ],
        rows=[c.cells() for c in table],
        comparisons=comparisons(table, PUBLISHED_EPOCH_MS / results[0].data["scale"]),
        chart=chart(table, setting),
    )
