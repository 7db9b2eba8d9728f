# SPDX-License-Identifier: BSD-3-Clause
"""How long single requests take, from the median to the longest: guest time, by engine and kind of request."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from testbed.results.results import Result

from ..data import ratios, records
from ..data.chart import Axis, Chart, Line, Lines, Style
from ..data.drawn import Drawn, Gathered
from ..data.values import points

QUANTILES = {"p50": "p50_ns", "p90": "p90_ns", "p99": "p99_ns", "p99.9": "p99_9_ns", "p99.99": "p99_99_ns"}
STYLES: dict[str, Style] = {"msync-4k": "dashed"}  # dashed, because its reads coincide with PMDK's and would hide them
PANELS = (("A", "read"), ("A", "update"), ("D", "insert"), ("C", "read"), ("E", "scan"), ("F", "read-modify-write"))


@dataclass(frozen=True)
class Latencies:
    """One kind of request on one engine under one workload."""

    workload: str
    operation: str
    engine: str
    count: int
    clock_ns: int
    quantiles_ns: tuple[int, ...]  # in the order of QUANTILES
    longest_ns: int
    histogram: tuple[tuple[int, int], ...]  # last nanosecond of a bucket, number of requests in it

    @property
    def slower(self) -> tuple[list[int], list[float]]:
        """Latencies, and the share of requests that took longer than each; for the longest, the share in its bucket."""
        left, times, shares = self.count, [], []
        for last_ns, count in self.histogram:
            left -= count
            times.append(last_ns)
            shares.append((left or count) / self.count)
        return times, shares


def rows(results: Sequence[Result]) -> list[Latencies]:
    """Return all latencies, in the order of the results."""
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
    """Map each (workload, engine) to the ns that timing adds to each request, compared with a run without timing."""
    without = {_key(result): records.row_of(result, "roi_ns") for result in plain}
    added = {}
    for result in timed:
        row, same = records.row_of(result, "roi_ns"), without.get(_key(result))
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


def _chart(table: Sequence[Latencies], heading: str) -> Chart:
    panels = [_panel(table, *kind) for kind in PANELS]
    return Chart([panels[:3], panels[3:]], heading, share_x=True, share_y="all")


def _panel(table: Sequence[Latencies], workload: str, operation: str) -> Lines:
    """Plot the share of requests that take longer, one line per engine."""
    lines = []
    for line in table:
        if (line.workload, line.operation) == (workload, operation):
            times_ns, shares = line.slower
            steps = points([ns / 1000 for ns in times_ns], shares)
            lines.append(Line(line.engine, steps, style=STYLES.get(line.engine, "solid"), stepped=True))
    x, y = Axis("latency, us", "log"), Axis("share that takes longer", "log")
    return Lines(x, y, lines, f"{workload}, {operation}")


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure and its table for the catalogue."""
    timed = gathered.results["kv-latency"]
    table = rows(timed)
    setting = ratios.text(timed[0])
    return Drawn(
        name="tail-latency",
        title="Latency of single requests of the KV store",
        caption=f"Guest time in ns by engine, YCSB workload and kind of request; {setting}.",
        notes=notes(table, recording_ns(timed, gathered.results.get("kv-ycsb", ()))),
        columns=["workload", "request", "engine", "count", *QUANTILES, "max"],
        rows=[[r.workload, r.operation, r.engine, r.count, *r.quantiles_ns, r.longest_ns] for r in table],
        chart=_chart(table, setting),
    )
