# SPDX-License-Identifier: BSD-3-Clause
"""Snapshot with no more DRAM than its rivals: its working copy in local DRAM, in part of it, or on the device."""

from collections.abc import Sequence
from dataclasses import dataclass

from testbed import units
from testbed.results.results import Result

from ..data import ratios, records
from ..data.chart import Chart, Dots, Group
from ..data.drawn import Cell, Drawn, Gathered
from ..data.values import by_name

BASELINE = "pmdk, 128 MiB cache"
# NUMA nodes of the working copy in equal-dram -> its local DRAM at full size.
PLACES = {"0": "all in local DRAM", "0,1": "128 MiB in local DRAM", "1": "none in local DRAM"}


@dataclass(frozen=True)
class Timed:
    """The time of one workload with one arrangement of DRAM."""

    workload: str
    system: str
    time_ns: int


def timed(result: Result) -> Timed:
    place = result.point.get("nodes")
    cache = units.show_size(result.data["identity"]["machine"]["device"]["cache_size"] * result.data["scale"])
    system = f"snapshot, {PLACES[str(place)]}" if place else f"{result.point['engine']}, {cache} cache"
    return Timed(str(result.point["workload"]), system, int(records.row_of(result, "roi_ns")["roi_ns"]))


def speeds(table: Sequence[Timed]) -> dict[tuple[str, str], float]:
    """Map each (workload, system) to its speed relative to PMDK behind the cache of 128 MiB."""
    base = {line.workload: line.time_ns for line in table if line.system == BASELINE}
    return {(line.workload, line.system): base[line.workload] / line.time_ns for line in table}


def _chart(table: Sequence[Timed], heading: str) -> Chart:
    speed = speeds(table)
    systems, workloads = (list(dict.fromkeys(getattr(line, key) for line in table)) for key in ("system", "workload"))
    groups = [Group(system, by_name((w, speed[w, system]) for w in workloads)) for system in systems]
    label = f"times as fast as {BASELINE}"
    return Chart([[Dots(workloads, groups, label, heading, "YCSB workload", base=1, values_as=".2g")]])


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure and its table for the catalogue."""
    results = [*gathered.results["equal-dram"], *gathered.results["equal-dram-rivals"]]
    table = [timed(result) for result in results]
    speed = speeds(table)
    rows: list[list[Cell]] = [
        [line.workload, line.system, line.time_ns / 1e6, speed[line.workload, line.system]]
        for line in sorted(table, key=lambda line: line.workload)
    ]
    setting = ratios.text(gathered.results["equal-dram"][0])
    return Drawn(
        name="equal-dram",
        title="KV store with equal amounts of DRAM",
        caption=f"Sizes of caches and working copies at full size; {setting}.",
        notes=[
            "Pages of the working copy that are not in local DRAM lie on the device's volatile partition.",
            "128 MiB of working copy and a device cache of 128 MiB are as much DRAM as a device cache of 256 MiB.",
        ],
        columns=["workload", "system", "ms", "times as fast"],
        rows=rows,
        chart=_chart(table, setting),
    )
