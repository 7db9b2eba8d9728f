# SPDX-License-Identifier: BSD-3-Clause
"""How commits and requests scale over threads, each on a CPU of its own, by engine: virtual time of the guest."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from testbed.results.results import Result

from . import engines, plotting, ratios, study
from .drawn import Cell, Drawn, Gathered

COMMITS, BESIDE, KV, EPOCHS = "thread-commits", "commits-beside", "thread-kv", "thread-epochs"
IN_DRAM = "volatile-threads"
COLOURS = engines.COLOURS | {IN_DRAM: "black", "cpnvm": "#2f855a"}


@dataclass(frozen=True)
class Point:
    """One engine with so many threads, of which all together did so many operations."""

    workload: str
    engine: str
    threads: int
    operations: int
    time_ns: int
    commits: int
    commit_ns: int  # of all commits together; 0 if they were not timed

    @property
    def rate(self) -> float:
        """Million operations a second, of all threads together."""
        return self.operations * 1e3 / self.time_ns

    @property
    def commit_us(self) -> float:
        return self.commit_ns / self.commits / 1e3


def points(results: Sequence[Result]) -> list[Point]:
    """In the order of the results."""
    return [_point(study.row_of(result, "roi_ns")) for result in results]


def _point(row: dict[str, Any]) -> Point:
    operations = row["operations"] if row["program"] == "shared-kv" else row["updates"]
    return Point(
        row.get("workload", ""),
        row["engine"],
        row["threads"],
        operations,
        row["roi_ns"],
        row["commits"],
        row.get("commit_ns", 0),
    )


def gain(point: Point, among: Sequence[Point]) -> float | None:
    """The rate over that of the same engine with one thread."""
    alone = [p for p in among if (p.workload, p.engine, p.threads) == (point.workload, point.engine, 1)]
    return point.rate / alone[0].rate if alone else None


def commits_drawn(gathered: Gathered, folder: Path) -> Drawn:
    """Updates a second and the time of a commit, as the catalogue has them."""
    results = gathered.results[COMMITS]
    table, row = points(results), study.row_of(results[0], "roi_ns")
    rounds = sorted({study.row_of(result, "roi_ns")["rounds"] for result in results})
    text = Drawn(
        name=COMMITS,
        title="Commits of several threads, each on a CPU of its own",
        caption=f"Virtual time. {_heading(results[0])}; a round is {row['batch']} updates of each thread.",
        notes=[
            f"Scaled down: {' or '.join(map(str, rounds))} rounds. Caches and latencies have their full size.",
            "pmdk commits once a round and thread, the others once a round for all threads.",
            "A commit's time is from the last update to its end; that of the barrier before it is in the rate only.",
        ],
        columns=["engine", "threads", "updates", "ms", "million updates/s", "times 1 thread", "commits", "us a commit"],
        rows=[
            [p.engine, p.threads, p.operations, p.time_ns / 1e6, p.rate, gain(p, table), p.commits, p.commit_us]
            for p in table
        ],
    )
    return study.saved(text, _commits_figure(table, text.caption), folder)


@dataclass(frozen=True)
class Beside:
    """Threads that commit beside each other on one device, with one kind of data."""

    device: str
    data: str
    engine: str
    threads: int
    commits: int  # of all threads together
    time_ns: int

    @property
    def rate(self) -> float:
        """Thousand commits a second, of all threads together."""
        return self.commits * 1e6 / self.time_ns

    def gain(self, among: Sequence["Beside"]) -> float | None:
        """The rate over that of one thread."""
        mine = (self.device, self.data, self.engine, 1)
        return next((self.rate / p.rate for p in among if (p.device, p.data, p.engine, p.threads) == mine), None)


def beside(results: Sequence[Result]) -> list[Beside]:
    """By device and data, then in the order of the results."""
    found = []
    for result in results:
        row = study.row_of(result, "roi_ns")
        device = result.data["identity"]["machine"]["device"]["name"]
        found.append(Beside(device, row["data"], row["engine"], row["threads"], row["transactions"], row["roi_ns"]))
    order = list(dict.fromkeys((p.device, p.data) for p in found))
    return sorted(found, key=lambda p: order.index((p.device, p.data)))


def beside_drawn(gathered: Gathered, folder: Path) -> Drawn:
    """Commits a second beside each other, as the catalogue has them."""
    results = gathered.results[BESIDE]
    table, rows = beside(results), [study.row_of(result, "roi_ns") for result in results]
    rounds = sorted({row["rounds"] for row in rows})
    text = Drawn(
        name=BESIDE,
        title="Threads that commit beside each other, each on a CPU of its own",
        caption=f"Virtual time. Caches have their full size; {rows[0]['batch']} updates before each commit.",
        notes=[
            f"Scaled down: {' or '.join(map(str, rounds))} commits of each thread.",
            "regions: of one file, no page in common; files: one for each thread.",
            "shared: all threads change the same cells, under locks.",
        ],
        columns=["device", "data", "engine", "threads", "commits", "ms", "thousand commits/s", "times 1 thread"],
        rows=[
            [p.device, p.data, p.engine, p.threads, p.commits, p.time_ns / 1e6, p.rate, p.gain(table)] for p in table
        ],
    )
    return study.saved(text, _beside_figure(table, text.caption), folder)


def kv_drawn(gathered: Gathered, folder: Path) -> Drawn:
    """Requests a second of one store, as the catalogue has them."""
    results = gathered.results[KV]
    table = points(results)
    text = Drawn(
        name=KV,
        title="One KV store and several threads, each on a CPU of its own",
        caption=f"Virtual time. {_heading(results[0])}.",
        notes=[
            f"Scaled down: {table[0].operations} requests, dealt to the threads in turn.",
            "pmdk commits each update; the others commit once for all threads that wait for it.",
        ],
        columns=["workload", "engine", "threads", "requests", "ms", "million requests/s", "times 1 thread", "commits"],
        rows=[
            [p.workload, p.engine, p.threads, p.operations, p.time_ns / 1e6, p.rate, gain(p, table), p.commits]
            for p in table
        ],
    )
    return study.saved(text, _kv_figure(table, text.caption), folder)


def epochs_drawn(gathered: Gathered, folder: Path) -> Drawn:
    """What checkpoints take of as many threads' time, as the catalogue has them."""
    results = gathered.results[EPOCHS]
    table = points(results)
    rows = [study.row_of(result, "roi_ns") for result in results]
    text = Drawn(
        name=EPOCHS,
        title="One KV store and several threads that make checkpoints together, each on a CPU of its own",
        caption=f"Virtual time. {_heading(results[0])}.",
        notes=[
            f"Scaled down: {table[0].operations} requests, dealt to the threads in turn. An epoch has 1 ms.",
            f"Overhead is above {IN_DRAM} with as many threads, whose requests take no turns either.",
            "A stop is from the last thread's coming to a point to its going on, replay included.",
        ],
        columns=[
            *("workload", "engine", "threads", "ms", "million requests/s", "times 1 thread", "overhead %"),
            *("checkpoints", "updates each", "stop us"),
        ],
        rows=[[*_rates(p, table), *_stops(p, row)] for p, row in zip(table, rows, strict=True)],
    )
    return study.saved(text, _kv_figure(table, text.caption), folder)


def _rates(point: Point, among: Sequence[Point]) -> list[Cell]:
    """With what it takes above the same in DRAM."""
    dram = next(p for p in among if (p.workload, p.engine, p.threads) == (point.workload, IN_DRAM, point.threads))
    over = None if point.engine == IN_DRAM else 100 * (point.time_ns / dram.time_ns - 1)
    head: list[Cell] = [point.workload, point.engine, point.threads, point.time_ns / 1e6, point.rate]
    return [*head, gain(point, among), over]


def _stops(point: Point, row: dict[str, Any]) -> list[Cell]:
    if not point.commits:
        return [None, None, None]
    return [point.commits, row["updates"] / point.commits, row["stop_ns"] / point.commits / 1e3]


def _heading(result: Result) -> str:
    return f"{result.data['identity']['machine']['device']['name']}, {ratios.text(result)}"


def _commits_figure(table: Sequence[Point], heading: str) -> Figure:
    with plt.rc_context(plotting.STYLE):
        figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
        _lines(panels[0], table, [p.rate for p in table], "million updates a second")
        _lines(panels[1], table, [p.commit_us for p in table], "us a commit")
        return _finished(figure, panels[0], heading)


def _kv_figure(table: Sequence[Point], heading: str) -> Figure:
    workloads = list(dict.fromkeys(p.workload for p in table))
    with plt.rc_context(plotting.STYLE):
        figure, panels = plt.subplots(1, len(workloads), figsize=(8.4, 3.6), layout="constrained", squeeze=False)
        for workload, axes in zip(workloads, panels[0], strict=True):
            mine = [p for p in table if p.workload == workload]
            _lines(axes, mine, [p.rate for p in mine], "million requests a second")
            axes.set_title(f"YCSB {workload}")
        return _finished(figure, panels[0][0], heading)


def _beside_figure(table: Sequence[Beside], heading: str) -> Figure:
    devices, kinds = (list(dict.fromkeys(getattr(p, name) for p in table)) for name in ("device", "data"))
    with plt.rc_context(plotting.STYLE):
        size = (8.4, 3.0 * len(devices) + 0.6)
        figure, panels = plt.subplots(
            len(devices), len(kinds), figsize=size, layout="constrained", squeeze=False, sharey=True
        )
        for device, row in zip(devices, panels, strict=True):
            for data, axes in zip(kinds, row, strict=True):
                mine = [p for p in table if (p.device, p.data) == (device, data)]
                _lines(axes, mine, [p.rate for p in mine], "thousand commits a second")
                axes.set_title(f"{data}, {device}", fontsize=8)
        return _finished(figure, panels[0][0], heading)


def _lines(axes: Axes, table: Sequence[Point | Beside], values: Sequence[float], label: str) -> None:
    """A line an engine over the number of threads, both logarithmic: what scales is a straight line."""
    for engine in dict.fromkeys(p.engine for p in table):
        line = [(p.threads, value) for p, value in zip(table, values, strict=True) if p.engine == engine]
        axes.plot(*zip(*line, strict=True), "o-", markersize=3, color=COLOURS[engine], label=engine)
    threads = sorted({p.threads for p in table})
    axes.set(xscale="log", yscale="log", xlabel="threads", ylabel=label)
    axes.minorticks_off()
    axes.set_xticks(threads, [str(n) for n in threads])
    axes.yaxis.set_major_formatter("{x:g}")


def _finished(figure: Figure, axes: Axes, heading: str) -> Figure:
    figure.suptitle(f"{heading} (scaled down)", fontsize=7)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=4, loc="outside lower center", fontsize=7)
    return figure
