# SPDX-License-Identifier: BSD-3-Clause
"""How long single requests take, from the median to the longest: guest time, by engine and kind of request."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from testbed.results.results import Result

from . import engines, plotting, ratios, study
from .drawn import Drawn, Gathered

QUANTILES = {"p50": "p50_ns", "p90": "p90_ns", "p99": "p99_ns", "p99.9": "p99_9_ns", "p99.99": "p99_99_ns"}
STYLES = {"msync-4k": "--"}  # its reads are PMDK's: both lines are to be seen
PANELS = (("A", "read"), ("A", "update"), ("D", "insert"), ("C", "read"), ("E", "scan"), ("F", "read-modify-write"))


@dataclass(frozen=True)
class Latencies:
    """One kind of request on one engine under one workload."""

    workload: str
    operation: str
    engine: str
    count: int
    clock_ns: int
    quantiles_ns: tuple[int, ...]  # of QUANTILES, in order
    longest_ns: int
    histogram: tuple[tuple[int, int], ...]  # last nanosecond of a bucket, how many in it

    @property
    def slower(self) -> tuple[list[int], list[float]]:
        """Latencies, and the share of requests that took longer than each; at the longest, the share that took it."""
        left, times, shares = self.count, [], []
        for last_ns, count in self.histogram:
            left -= count
            times.append(last_ns)
            shares.append((left or count) / self.count)
        return times, shares


def rows(results: Sequence[Result]) -> list[Latencies]:
    """All of them, in the order of the results."""
    return [_latencies(row) for result in results for row in result.rows if "histogram" in row]


def _latencies(row: dict[str, Any]) -> Latencies:
    pairs = (word.split(":") for word in row["histogram"].split())
    return Latencies(
        row["workload"],
        row["operation"],
        row["engine"],
        row["count"],
        row["clock_ns"],
        tuple(row[key] for key in QUANTILES.values()),
        row["max_ns"],
        tuple((int(last_ns), int(count)) for last_ns, count in pairs),
    )


def recording_ns(timed: Sequence[Result], plain: Sequence[Result]) -> dict[tuple[str, str], float]:
    """(Workload, engine) -> ns that timing adds to each request of the same run without it."""
    without = {_key(result): study.row_of(result, "roi_ns") for result in plain}
    added = {}
    for result in timed:
        row, same = study.row_of(result, "roi_ns"), without.get(_key(result))
        if same and same["operations"] == row["operations"]:
            added[_key(result)] = (row["roi_ns"] - same["roi_ns"]) / row["operations"]
    return added


def _key(result: Result) -> tuple[str, str]:
    return str(result.point["workload"]), str(result.point["engine"])


def notes(table: Sequence[Latencies], added: dict[tuple[str, str], float]) -> list[str]:
    clocks = sorted({line.clock_ns for line in table})
    lines = [f"Each latency includes one reading of the clock, {clocks[0]} to {clocks[-1]} ns, and is known to 1/64."]
    if added:
        low, high = min(added.values()), max(added.values())
        lines.append(f"Timing and counting make a request {low:.0f} to {high:.0f} ns longer than in kv-ycsb.")
    lines.append("Timer interrupts of the guest (250 a second) are part of what a request waits for.")
    return lines


def draw(table: Sequence[Latencies], heading: str) -> Any:
    """The share of requests that takes longer, one panel a kind of request, one line an engine."""
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(2, 3, figsize=(8.4, 4.8), layout="constrained", sharex=True, sharey=True)
        for axes, (workload, operation) in zip(grid.flat, PANELS, strict=True):
            for line in table:
                if (line.workload, line.operation) == (workload, operation):
                    times_ns, shares = line.slower
                    look = {"color": engines.COLOURS[line.engine], "linestyle": STYLES.get(line.engine, "-")}
                    axes.step([ns / 1000 for ns in times_ns], shares, where="post", label=line.engine, **look)
            axes.set(xscale="log", yscale="log", title=f"{workload}, {operation}")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.grid(alpha=0.3, linewidth=0.5)
        for axes in grid[1]:
            axes.set_xlabel("latency, us")
        for axes in grid[:, 0]:
            axes.set_ylabel("share that takes longer")
        figure.suptitle(heading, fontsize=8)
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, ncols=5, loc="outside lower center")
        return figure


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure and its table, as the catalogue has them."""
    timed = gathered.results["kv-latency"]
    table = rows(timed)
    setting = ratios.text(timed[0])
    text = Drawn(
        name="tail-latency",
        title="Latency of single requests of the KV store",
        caption=f"Guest time in ns by engine, YCSB workload and kind of request; {setting}.",
        notes=notes(table, recording_ns(timed, gathered.results.get("kv-ycsb", ()))),
        columns=["workload", "request", "engine", "count", *QUANTILES, "max"],
        rows=[[r.workload, r.operation, r.engine, r.count, *r.quantiles_ns, r.longest_ns] for r in table],
    )
    return study.saved(text, draw(table, setting), folder)
