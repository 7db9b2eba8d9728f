# SPDX-License-Identifier: BSD-3-Clause
"""Memcached with checkpoints: run time above a run in DRAM, stops of the server, and writes that a crash loses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.results.results import Result

from ..data import published, ratios, records
from ..data.chart import Band, Bars, Chart, Group
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.values import by_name

STUDY, MANIFEST, SINGLE = "memcached-ycsb", "memcached-checkpoints", "memcached-single"
MANIFESTS = (MANIFEST, SINGLE)
BASELINE = "volatile"
MEASURED = "optane-dcpmm"  # the device of the published numbers
CHECKPOINTS = ("snapshot", "fams-uffd")
ENGINES = ("device", "msync", *CHECKPOINTS)
REFERENCE = next(row for row in published.table("cpnvm") if row["system"] == "memcached-cpnvm")
NO_NUMBER = "a range of shares of writes is published, of six threads whose client is elsewhere"


@dataclass(frozen=True)
class Cost:
    """One run, and its baseline: the same run without a file."""

    device: str
    engine: str
    writes: int
    depth: int
    row: Mapping[str, Any]
    baseline: Mapping[str, Any]

    @property
    def overhead(self) -> float:
        """Percent of run time above the baseline, for client and server together, which share the CPU."""
        return self._above("roi_ns")

    def _above(self, key: str) -> float:
        return 100 * (float(self.row[key]) / float(self.baseline[key]) - 1)

    def cells(self) -> list[Cell]:
        row, made = self.row, self.row["checkpoints"]
        head: list[Cell] = [self.device, self.depth, self.engine, self.writes, row["roi_ns"] / row["operations"]]
        head += [None, None] if self.engine == BASELINE else [self.overhead, self._above("server_cpu_ns")]
        counts: list[Cell] = [None, None, None, None]
        if made:
            written = row["operations"] * self.writes / 100
            counts = [made, written / made, row["stop_ns"] / made / 1000, row["longest_stop_ns"] / 1000]
        after = [row["lost_writes"], row["restart_ns"] / 1e6] if "restart_ns" in row else [None, None]
        return [*head, *counts, *after]


def costs(results: Sequence[Result]) -> list[Cost]:
    """Return the cost of each run, in the order of the results."""
    rows = {}
    for result in results:
        row, point = records.row_of(result, "roi_ns"), result.point
        rows[str(point["device"]), str(point["engine"]), int(point["writes"]), int(row["depth"])] = row
    return [Cost(*place, row, rows[place[0], BASELINE, *place[2:]]) for place, row in rows.items()]


def comparisons(table: Sequence[Cost]) -> list[Comparison]:
    """Compare the largest overhead over shares of writes. No comparison counts: the published runs use more threads."""
    found = []
    for engine in CHECKPOINTS:
        mine = [c.overhead for c in table if (c.device, c.engine) == (MEASURED, engine) and c.depth > 1]
        theirs = float(REFERENCE["overhead_high_pct"])
        if mine:
            found.append(Comparison(STUDY, MEASURED, engine, "%", max(mine), theirs, False, NO_NUMBER))
    return found


def drawn(gathered: Gathered) -> Drawn:
    """Draw the study for the catalogue."""
    results = [result for name in MANIFESTS for result in gathered.results[name]]
    table, first = costs(results), records.row_of(results[0], "roi_ns")
    epoch_ns = max(c.row["epoch_ns"] for c in table)
    return Drawn(
        name=STUDY,
        title="Memcached with checkpoints of its arena: run time above that in DRAM",
        caption=f"{first['records']} items of {first['value_bytes']} bytes, an epoch of {epoch_ns / 1e6:g} ms; "
        f"{ratios.text(results[0])}.",
        notes=[
            "Client and server share one CPU. Overhead is of both together; beside it, of the server's own CPU time.",
            "Together: so many requests are sent at a time.",
            "A stop is from the request to pause the workers until they may go on.",
            "Lost: writes that were acknowledged and are gone, the server being killed after the last answer. At most "
            "those of an epoch are.",
            "Restart: from the server's start to its first answer.",
            "device has no checkpoints; msync's are not all or nothing, so it is not started again.",
            f"Published: 0 to {REFERENCE['overhead_high_pct']} % for 0 to 100 % writes, with epochs of "
            f"{REFERENCE['epoch_ms']} ms of the whole data set, on Optane memory.",
        ],
        columns=[
            *("device", "together", "engine", "writes %", "ns a request", "overhead %", "server CPU %", "checkpoints"),
            *("writes each", "stop us", "longest us", "lost writes", "restart ms"),
        ],
        rows=[c.cells() for c in table],
        comparisons=comparisons(table),
        chart=_chart([c for c in table if c.depth > 1], ratios.text(results[0])),
    )


def _chart(table: Sequence[Cost], heading: str) -> Chart:
    panels = [_panel(table, device) for device in dict.fromkeys(c.device for c in table)]
    return Chart([panels], heading, scaled_down=True)


def _panel(table: Sequence[Cost], device: str) -> Bars:
    groups = [
        Group(engine, by_name((str(c.writes), c.overhead) for c in table if (c.device, c.engine) == (device, engine)))
        for engine in ENGINES
    ]
    writes = list(dict.fromkeys(str(c.writes) for c in table))
    theirs = Band(0, float(REFERENCE["overhead_high_pct"]), "published")
    return Bars(writes, groups, "run time above that in DRAM, %", device, "writes, %", bands=[theirs])
