# SPDX-License-Identifier: BSD-3-Clause
"""What checkpoints cost: run time above that in DRAM, how long they stop a program, opening a pool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from testbed.errors import RunFailed
from testbed.results.results import Result

from . import engines, plotting, published, ratios, study
from .drawn import Cell, Comparison, Drawn, Gathered

COST, MTREE_COST, LENGTHS, RECOVERY = "epoch-cost", "mtree-cost", "epoch-lengths", "epoch-recovery"
BASELINE, ON_DEVICE = "volatile", "msync-4k"
OWN_BASELINES = {"cpnvm": "volatile-cpnvm"}  # on the same allocator, where that was run
REFERENCE = {row["system"] + " " + row["workload"]: row for row in published.table("cpnvm")}
# Of the store whose requests are as short as an index's, on the published device. The epoch is scaled with the data.
COMPARED = ("optane-dcpmm", 14)
MTREE = "mtree"
PUBLISHED_EPOCH_MS = 64
# Why a ratio of ours and the published would say nothing.
NO_NUMBER = {
    "overhead_high_pct": "a bound of all workloads is published, no number",
    "overhead_low_pct": "a range of workloads that are not named is published",
}
Store = int | str  # records in a bucket of the hash table, or the name of another program
Place = tuple[str, Store, str]  # device, store, workload
LINES = {
    ("cpnvm", 1.0): "#2f855a",
    ("cpnvm", 64.0): "#9ae6b4",
    ("snapshot-epoch", 1.0): "#2b6cb0",
    ("snapshot-epoch", 64.0): "#90cdf4",
    ("snapshot", None): "#a0aec0",
    ("epochs", 1.0): "#dd6b20",
}


def _percent(ns: float, of_ns: float) -> float:
    return 100 * (ns / of_ns - 1)


# ---- What they cost ----


@dataclass(frozen=True)
class Cost:
    """One run of a store, and the same in DRAM."""

    place: Place
    engine: str
    epoch_ms: float | None  # None: no epochs
    row: Mapping[str, Any]
    volatile_ns: int

    @property
    def overhead(self) -> float:
        """All work counted: the one CPU replays, too."""
        return _percent(self.row["roi_ns"], self.volatile_ns)

    @property
    def without_replay(self) -> float | None:
        """As if another CPU replayed for nothing."""
        return None if self.epoch_ms is None else _percent(self.row["roi_ns"] - self.row["replay_ns"], self.volatile_ns)

    def cells(self) -> list[Cell]:
        device, store, workload = self.place
        row, checkpoints = self.row, self.row["commits"]
        head: list[Cell] = [device, store, workload, self.engine, self.epoch_ms]
        head += [row["roi_ns"] / row["operations"], self.overhead]
        if self.epoch_ms is None:
            return [*head, None, None, None, None, None]
        lost, stop_us = (_each(row[key], checkpoints) for key in ("updates", "stop_ns"))
        replay = 100 * row["replay_ns"] / row["roi_ns"]
        return [*head, self.without_replay, checkpoints, lost, None if stop_us is None else stop_us / 1000, replay]


def _each(total: int, count: int) -> float | None:
    return total / count if count else None


def _place(result: Result) -> Place:
    point = result.point
    store = int(point["per_bucket"]) if "per_bucket" in point else str(point.get("rival", MTREE))
    return str(point["device"]), store, str(point["workload"])


def costs(epochs: Sequence[Result], beside: Sequence[Result]) -> list[Cost]:
    """By place, then as the manifests have them."""
    timed = {(_place(r), str(r.point["engine"])): int(_row(r)["roi_ns"]) for r in beside}
    places = sorted({place for place, _ in timed}, key=lambda place: (place[0], str(place[1]), place[2]))
    made = [Cost(_place(r), str(r.point["engine"]), int(r.point["epoch_ns"]) / 1e6, _row(r), 0) for r in epochs]
    made += [Cost(_place(r), str(r.point["engine"]), None, _row(r), 0) for r in beside]
    made = [Cost(c.place, c.engine, c.epoch_ms, c.row, _baseline(timed, c.place, c.engine)) for c in made]
    return [c for place in places for c in made if c.place == place and c.engine != BASELINE]


def _baseline(timed: Mapping[tuple[Place, str], int], place: Place, engine: str) -> int:
    """How long the same takes in DRAM, in ns."""
    return timed.get((place, OWN_BASELINES.get(engine, "")), timed[place, BASELINE])


def _row(result: Result) -> dict[str, Any]:
    return {"replay_ns": 0} | study.row_of(result, "roi_ns")  # the rivals have nothing to replay


def comparisons(table: Sequence[Cost], epoch_ms: float, figure: str = COST) -> list[Comparison]:
    """Of another program, and with bounds and ranges, so none counts."""
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


def draw_costs(table: Sequence[Cost], heading: str) -> Any:
    """A panel for each device and store."""
    panels = list(dict.fromkeys(c.place[:2] for c in table))
    workloads = list(dict.fromkeys(c.place[2] for c in table))
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(
            1, len(panels), figsize=(2.4 * len(panels), 3.2), layout="constrained", squeeze=False
        )
        for axes, (device, store) in zip(grid.flat, panels, strict=True):
            for number, ((engine, epoch_ms), colour) in enumerate(LINES.items()):
                mine = {
                    c.place[2]: c.overhead
                    for c in table
                    if (c.place[:2], c.engine, c.epoch_ms) == ((device, store), engine, epoch_ms)
                }
                places = [x - 0.32 + 0.16 * number for x, w in enumerate(workloads) if w in mine]
                label = f"{engine}, {epoch_ms:g} ms" if epoch_ms else f"{engine}, a commit a transaction"
                axes.bar(places, [mine[w] for w in workloads if w in mine], 0.15, color=colour, label=label)
            axes.axhspan(0, 15, color="#fed7aa", alpha=0.5, label="published, of Masstree", zorder=0)
            axes.axhline(0, color="black", linewidth=0.6)
            axes.set_xticks(range(len(workloads)), workloads)
            title = store if isinstance(store, str) else f"{store} records a bucket"
            axes.set_title(f"{device}\n{title}", fontsize=8)
        grid.flat[0].set_ylabel("run time above that in DRAM, %")
        figure.suptitle(heading, fontsize=7)
        _legend_of_all(figure, grid, 3)
        return figure


def _legend_of_all(figure: Any, grid: Any, columns: int) -> None:
    """What any panel has, once."""
    known: dict[str, Any] = {}
    for axes in grid.flat:
        handles, labels = axes.get_legend_handles_labels()
        known |= {label: handle for handle, label in zip(handles, labels, strict=True) if handle}
    legend = {"frameon": False, "ncols": columns, "fontsize": 7, "loc": "outside lower center"}
    figure.legend(known.values(), known.keys(), **legend)


def costs_drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure and its table, as the catalogue has them."""
    results = gathered.results["epochs-ycsb"]
    table = costs(results, gathered.results["epochs-beside"])
    setting = ratios.text(results[0])
    text = Drawn(
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
    )
    return study.saved(text, draw_costs(table, setting), folder)


def mtree_costs(results: Mapping[str, Sequence[Result]]) -> list[Cost]:
    """Of the tree and of its rivals."""
    rivals = results["rivals-ycsb"]
    epochs = [*results["mtree-ycsb"], *(r for r in rivals if r.point["engine"] != BASELINE)]
    return costs(epochs, [*results["mtree-beside"], *(r for r in rivals if r.point["engine"] == BASELINE)])


def mtree_costs_drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The same of the tree, with the rivals beside it, each above its own run in DRAM."""
    first = gathered.results["mtree-ycsb"][0]
    table, setting = mtree_costs(gathered.results), ratios.text(first)
    text = Drawn(
        name=MTREE_COST,
        title="Masstree-like tree with checkpoints, and rivals: run time above that in DRAM",
        caption=f"By device, program, YCSB workload, engine and length of an epoch; {setting}.",
        notes=[
            "Overhead has all work of the one CPU in it; less replay is without the time that replays took.",
            "leaves and payloads are rivals with their data on the device. Each is above itself in DRAM, no tree.",
            "cpnvm is above volatile-cpnvm, which has its allocator; that lays nodes out by lines.",
            "A crash loses an epoch at most, and of payloads two.",
            "Without an epoch a transaction ends with a commit; msync-4k has its data on the device.",
            "Published, of Masstree on six threads: below 15 % under all workloads of YCSB, close to 0 % under C; on "
            "Optane memory itself 64 to 127 %, and with InCLL there 100 to 178 %.",
        ],
        columns=[
            *("device", "program", "YCSB", "engine", "epoch ms", "ns a request", "overhead %", "less replay %"),
            *("checkpoints", "updates each", "stop us", "replay %"),
        ],
        rows=[c.cells() for c in table],
        comparisons=comparisons(table, PUBLISHED_EPOCH_MS / first.data["scale"], MTREE_COST),
    )
    return study.saved(text, draw_costs(table, setting), folder)


# ---- How long they stop a program ----


@dataclass(frozen=True)
class Length:
    """One length of an epoch: all requests together, and the longest of its updates."""

    epoch_ms: float
    replay: str
    row: Mapping[str, Any]
    longest_ns: int

    def cells(self) -> list[Cell]:
        row, checkpoints = self.row, self.row["commits"]
        lost, stop_ns, log_bytes = (_each(row[key], checkpoints) for key in ("updates", "stop_ns", "log_bytes"))
        share = 100 * row["replay_ns"] / row["roi_ns"]
        shown = [None if value is None else value / 1000 for value in (stop_ns, log_bytes)]
        time = row["roi_ns"] / row["operations"]
        return [self.epoch_ms, self.replay, checkpoints, lost, *shown, self.longest_ns / 1000, time, share]


def lengths(results: Sequence[Result], device: str) -> list[Length]:
    mine = [r for r in results if r.point["device"] == device]
    return [
        Length(int(r.point["epoch_ns"]) / 1e6, str(r.point["replay"]), _row(r), _longest_update_ns(r)) for r in mine
    ]


def _longest_update_ns(result: Result) -> int:
    return int(next(row["max_ns"] for row in result.rows if row.get("operation") == "update"))


def draw_lengths(tables: Mapping[str, Sequence[Length]], heading: str) -> Any:
    """The mean stop and the longest request over the length of an epoch, a panel a device."""
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(
            1, len(tables), figsize=(6.8, 3.2), layout="constrained", squeeze=False, sharey=True
        )
        for axes, (device, table) in zip(grid.flat, tables.items(), strict=True):
            for replay, style in (("checkpoint", "-"), ("background", "--")):
                mine = [line for line in table if line.replay == replay and line.row["commits"]]
                at = [line.epoch_ms for line in mine]
                stops = [line.row["stop_ns"] / line.row["commits"] / 1000 for line in mine]
                axes.plot(at, stops, style, marker=".", color="#2f855a", label=f"mean stop, replay: {replay}")
                longest = [line.longest_ns / 1000 for line in mine]
                axes.plot(at, longest, style, marker=".", color="#dd6b20", label=f"longest update, replay: {replay}")
            axes.set(xscale="log", yscale="log", xlabel="epoch, ms", title=device)
            axes.grid(alpha=0.3, linewidth=0.5)
        grid.flat[0].set_ylabel("us")
        figure.suptitle(heading, fontsize=7)
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, ncols=2, fontsize=7, loc="outside lower center")
        return figure


def lengths_drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure and its table, as the catalogue has them."""
    results = gathered.results["epochs-lengths"]
    devices = list(dict.fromkeys(str(result.point["device"]) for result in results))
    tables = {device: lengths(results, device) for device in devices}
    setting = ratios.text(results[0])
    text = Drawn(
        name=LENGTHS,
        title="KV store with checkpoints: how long they stop the program, and what a crash loses",
        caption=f"Guest time under YCSB A on cpnvm, each request timed; {setting}.",
        notes=[
            "A stop is from the last thread's coming to a point to its going on; its mean is over all checkpoints.",
            "The longest update has its own work and all that the guest did meanwhile in it.",
            "A thread that replays has no CPU of its own: its time has what it waited for the CPU in it.",
        ],
        columns=[
            *("device", "epoch ms", "replay", "checkpoints", "updates each", "stop us", "log kB each"),
            *("longest update us", "ns a request", "replay %"),
        ],
        rows=[[device, *line.cells()] for device, table in tables.items() for line in table],
    )
    return study.saved(text, draw_lengths(tables, setting), folder)


# ---- How long opening takes ----


@dataclass(frozen=True)
class Opening:
    """One pool, opened, and by another process opened and read as a whole."""

    device: str
    crash: str
    how: str
    row: Mapping[str, Any]
    read_ps: int  # by another process, from its start on

    def cells(self) -> list[Cell]:
        row = self.row
        times = [row["roi_ns"] / 1e6, self.read_ps / 1e9]
        counts = [row["pages_in_at_open"], row["pages_in"], row["lines_replayed"]]
        return [self.device, self.crash, row["records"], row["file_bytes"] / 2**20, self.how, *times, *counts]


def opening(result: Result) -> Opening:
    """What one run measured; an error if what it opened was not what had been committed."""
    row = study.row_of(result, "crash")
    if not row["verified"]:
        raise RunFailed(f"{result.path}: what was opened is not what was committed: {row['problem']}")
    reading = result.data["rois"][-1]
    read_ps = int(reading["end-ps"]) - int(reading["begin-ps"])
    return Opening(str(result.point["device"]), row["crash"], str(result.point["open"]), row, read_ps)


def draw_openings(table: Sequence[Opening], heading: str) -> Any:
    """Time to open over the size of the file, a panel a device."""
    devices = list(dict.fromkeys(line.device for line in table))
    styles = {"closed": "-", "after-commit": ":"}
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(
            1, len(devices), figsize=(6.8, 3.2), layout="constrained", squeeze=False, sharey=True
        )
        for axes, device in zip(grid.flat, devices, strict=True):
            for (how, colour), crash in ((pair, crash) for pair in OPENINGS.items() for crash in styles):
                mine = [line for line in table if (line.device, line.crash, line.how) == (device, crash, how)]
                sizes = [line.row["file_bytes"] / 2**20 for line in mine]
                times = [line.row["roi_ns"] / 1e6 for line in mine]
                axes.plot(sizes, times, styles[crash], marker=".", color=colour, label=f"{how}, {crash}")
            axes.set(xscale="log", yscale="log", xlabel="file, MiB", title=device)
        grid.flat[0].set_ylabel("opening the pool, ms")
        figure.suptitle(heading, fontsize=7)
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, ncols=4, fontsize=7, loc="outside lower center")
        return figure


OPENINGS = {"whole": engines.COLOURS["snapshot"], "lazy": "#dd6b20"}


def recovery_drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure and its table, as the catalogue has them."""
    results = gathered.results["epochs-recovery"]
    table = [opening(result) for result in results]
    setting = ratios.text(results[0])
    text = Drawn(
        name=RECOVERY,
        title="Time to open a pool with checkpoints, at once and page by page",
        caption=f"Guest time on cpnvm, by device, way to end, records and way to open; {setting}.",
        notes=[
            "A crash is SIGKILL behind a checkpoint of many updates. No line of the pool is in the CPU's caches.",
            "Read: another process opens it and compares all of it with what it must be, from its start to its end.",
            "The pages that are missing then come in with the reading.",
        ],
        columns=[
            *("device", "end", "records", "file MiB", "opened", "open ms", "read ms"),
            *("pages at opening", "pages later", "lines replayed"),
        ],
        rows=[line.cells() for line in table],
    )
    return study.saved(text, draw_openings(table, setting), folder)
