# SPDX-License-Identifier: BSD-3-Clause
"""Snapshot with no more DRAM than its rivals: its working copy in local DRAM, in part of it, or on the device."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from testbed import units
from testbed.results.results import Result

from . import plotting, ratios, study
from .drawn import Cell, Drawn, Gathered

BASELINE = "pmdk, 128 MiB cache"
# What equal-dram's nodes stand for, of the working copy, and the local DRAM it has then, at full size.
PLACES = {"0": "all in local DRAM", "0,1": "128 MiB in local DRAM", "1": "none in local DRAM"}
COLOURS = ("#2b6cb0", "#63b3ed", "#bee3f8", "#dd6b20", "#f6ad55", "#38a169", "#9ae6b4")


@dataclass(frozen=True)
class Timed:
    """One workload on one arrangement of DRAM."""

    workload: str
    system: str
    time_ns: int


def timed(result: Result) -> Timed:
    place = result.point.get("nodes")
    cache = units.show_size(result.data["identity"]["machine"]["device"]["cache_size"] * result.data["scale"])
    system = f"snapshot, {PLACES[str(place)]}" if place else f"{result.point['engine']}, {cache} cache"
    return Timed(str(result.point["workload"]), system, int(study.row_of(result, "roi_ns")["roi_ns"]))


def speeds(table: Sequence[Timed]) -> dict[tuple[str, str], float]:
    """(Workload, system) -> how many times as fast as PMDK behind the cache of 128 MiB."""
    base = {line.workload: line.time_ns for line in table if line.system == BASELINE}
    return {(line.workload, line.system): base[line.workload] / line.time_ns for line in table}


def draw(table: Sequence[Timed], heading: str) -> Any:
    """A group of points a workload."""
    speed = speeds(table)
    systems = list(dict.fromkeys(line.system for line in table))
    workloads = list(dict.fromkeys(line.workload for line in table))
    width = 0.84 / len(systems)
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
        for number, system in enumerate(systems):
            places = [x - 0.42 + (number + 0.5) * width for x in range(len(workloads))]
            heights = [speed[workload, system] for workload in workloads]
            plotting.points(axes, places, heights, COLOURS[number], system)
            for x, height in zip(places, heights, strict=True):
                axes.annotate(f"{height:.2g}", (x, height), (0, 4), textcoords="offset points", ha="center", fontsize=6)
        axes.set(yscale="log", ylabel=f"times as fast as {BASELINE}", xlabel="YCSB workload")
        axes.axhline(1, color="black", linewidth=0.6)
        axes.set_xticks(range(len(workloads)), workloads)
        axes.set_title(heading, fontsize=8)
        axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure and its table, as the catalogue has them."""
    results = [*gathered.results["equal-dram"], *gathered.results["equal-dram-rivals"]]
    table = [timed(result) for result in results]
    speed = speeds(table)
    rows: list[list[Cell]] = [
        [line.workload, line.system, line.time_ns / 1e6, speed[line.workload, line.system]]
        for line in sorted(table, key=lambda line: line.workload)
    ]
    setting = ratios.text(gathered.results["equal-dram"][0])
    text = Drawn(
        name="equal-dram",
        title="KV store with equal amounts of DRAM",
        caption=f"Sizes of caches and working copies at full size; {setting}.",
        notes=[
            "Pages of the working copy that are not in local DRAM lie on the device's volatile partition.",
            "128 MiB of working copy and a device cache of 128 MiB are as much DRAM as a device cache of 256 MiB.",
        ],
        columns=["workload", "system", "ms", "times as fast"],
        rows=rows,
    )
    return study.saved(text, draw(table, setting), folder)
