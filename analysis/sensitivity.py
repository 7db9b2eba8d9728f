# SPDX-License-Identifier: BSD-3-Clause
"""Where each engine wins: ratios of run times over flash latency, device cache, link latency and bandwidth.

Replays of one capture a point, so the CPU and the software are those of the capture (docs/replay.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.colors import LogNorm

from testbed.studies.sweep import Replayed

from . import plotting, study
from .drawn import Cell, Drawn, Gathered

AXES = ("flash_read", "cache_size", "link_latency", "link_read_bandwidth")
PAIRS = (("pmdk", "snapshot"), ("pmdk", "msync-4k"))  # the ratio is the first one's time over the second one's
RATIOS = "at full size the data are 210 MiB and the LLC 27.5 MiB"  # a replay keeps the scale of its capture
Device = tuple[str, ...]  # its values of AXES
Times = Mapping[tuple[str, str, Device], int]


@dataclass(frozen=True)
class Map:
    """The ratios of one pair of engines under one workload, on every device."""

    workload: str
    slow: str
    fast: str
    ratios: Mapping[Device, float]

    @property
    def name(self) -> str:
        return f"{self.slow} over {self.fast}"

    def cells(self) -> list[Cell]:
        ranked = sorted(self.ratios, key=lambda device: self.ratios[device])
        won = sum(ratio > 1 for ratio in self.ratios.values())
        share = f"{won} of {len(ranked)}"
        extremes: list[Cell] = [
            " ".join(ranked[0]),
            self.ratios[ranked[0]],
            " ".join(ranked[-1]),
            self.ratios[ranked[-1]],
        ]
        return [self.workload, self.name, share, *extremes]


def times_ps(replays: Sequence[Replayed]) -> Times:
    """(Workload, engine, device) -> guest time of the requests."""
    times = {}
    for replay in replays:
        workload, _, engine = replay.point.partition("-")
        times[workload, engine, tuple(str(replay.values[axis]) for axis in AXES)] = replay.roi_ps
    return times


def maps(times: Times) -> list[Map]:
    """One of each workload and pair."""
    workloads = dict.fromkeys(workload for workload, _, _ in times)
    return [_map(times, workload, *pair) for workload in workloads for pair in PAIRS]


def _map(times: Times, workload: str, slow: str, fast: str) -> Map:
    devices = [device for w, engine, device in times if (w, engine) == (workload, slow)]
    return Map(workload, slow, fast, {d: times[workload, slow, d] / times[workload, fast, d] for d in devices})


def values_of(table: Sequence[Map], axis: str) -> list[str]:
    """The values of one axis, in the order of the grid."""
    return list(dict.fromkeys(device[AXES.index(axis)] for device in table[0].ratios))


def crossings(line: Map, table: Sequence[Map]) -> int:
    """How many neighbours along the flash latency have the ratio on both sides of 1."""
    flash = values_of(table, "flash_read")
    pairs = [
        (line.ratios[device], line.ratios[(after, *device[1:])])
        for device in line.ratios
        for after in flash[flash.index(device[0]) + 1 :][:1]
    ]
    return sum((one > 1) != (other > 1) for one, other in pairs)


def _panel(axes: Any, line: Map, table: Sequence[Map], link: str, bandwidth: str, norm: LogNorm) -> Any:
    """Ratio over flash latency and cache, with the contour at which neither wins."""
    flash, caches = values_of(table, "flash_read"), values_of(table, "cache_size")
    z = [[line.ratios[f, c, link, bandwidth] for f in flash] for c in caches]
    mesh = axes.imshow(z, origin="lower", aspect="auto", cmap="RdBu", norm=norm)
    flat = [value for row in z for value in row]
    if min(flat) < 1 < max(flat):
        axes.contour(z, levels=[1], colors="#2f855a", linewidths=1.5)
    for y, row in enumerate(z):
        for x, value in enumerate(row):
            colour = "white" if max(value, 1 / value) ** 1.5 > norm.vmax else "black"
            axes.text(x, y, f"{value:.{0 if value >= 10 else 2}f}", ha="center", va="center", fontsize=5, color=colour)
    axes.set_xticks(range(len(flash)), flash, rotation=45, fontsize=6)
    axes.set_yticks(range(len(caches)), caches, fontsize=6)
    return mesh


def draw(table: Sequence[Map], heading: str) -> Any:
    """A row a map, with colours of its own; a column a link latency, at the first bandwidth of the grid."""
    links, bandwidth = values_of(table, "link_latency"), values_of(table, "link_read_bandwidth")[0]
    with plt.rc_context(plotting.STYLE):
        size = (2.1 * len(links) + 1, 1.9 * len(table) + 0.6)
        figure, grid = plt.subplots(len(table), len(links), squeeze=False, figsize=size, layout="constrained")
        for axes_row, line in zip(grid, table, strict=True):
            extreme = max(1.1, *(max(r, 1 / r) for r in line.ratios.values()))
            norm = LogNorm(1 / extreme, extreme)
            for axes, link in zip(axes_row, links, strict=True):
                mesh = _panel(axes, line, table, link, bandwidth, norm)
                axes.set_title(f"{line.workload}: {line.name}\nlink {link}", fontsize=6)
            bar = figure.colorbar(mesh, ax=axes_row, ticks=[1 / extreme, 1, extreme], format="{x:.3g}")
            bar.minorticks_off()
            bar.ax.tick_params(labelsize=6)
        for axes in grid[-1]:
            axes.set_xlabel("flash read", fontsize=7)
        for axes in grid[:, 0]:
            axes.set_ylabel("device cache", fontsize=7)
        figure.suptitle(f"ratio of run times, green line: 1; {heading}", fontsize=8)
        return figure


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure and its table, as the catalogue has them."""
    replays = gathered.replays["sensitivity"]
    table = maps(times_ps(replays))
    first = table[0]
    devices = f"{len(first.ratios)} devices; {RATIOS}"
    bandwidth = values_of(table, "link_read_bandwidth")[0]
    text = Drawn(
        name="sensitivity",
        title="Where each engine wins: ratio of run times of the KV store",
        caption=f"Above 1 the second engine is faster. {devices}. The figure shows those of {bandwidth}.",
        notes=[
            "Devices are named by flash read, cache, link latency (each way) and link bandwidth (reads).",
            "Replays of one capture a point: on every device the software does what it did on the captured one.",
            "Loads block (no overlap of misses), so a link's bandwidth is a latency here and queues are short.",
        ],
        columns=["workload", "ratio", "above 1", "lowest on", "ratio there", "highest on", "ratio there ", "crossings"],
        rows=[[*line.cells(), crossings(line, table)] for line in table],
    )
    return study.saved(text, draw(table, f"KV store, {devices}"), folder)
