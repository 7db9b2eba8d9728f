# SPDX-License-Identifier: BSD-3-Clause
"""Where each engine wins: ratios of run times over flash latency, device cache, link latency and bandwidth.

All times of a point are replays of one capture, so CPU and software behave as in the capture (docs/howto/replay.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from testbed.studies.sweep import Replayed

from ..data import chart as spec
from ..data.chart import Chart
from ..data.drawn import Cell, Drawn, Gathered

AXES = ("flash_read", "cache_size", "link_latency", "link_read_bandwidth")
PAIRS = (("pmdk", "snapshot"), ("pmdk", "msync-4k"))  # the ratio is the first one's time over the second one's
RATIOS = "at full size the data are 210 MiB and the LLC 27.5 MiB"  # a replay keeps the scale of its capture
Device = tuple[str, ...]  # a device's values of AXES
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
    """Map each (workload, engine, device) to the guest time of the requests, in ps."""
    times = {}
    for replay in replays:
        workload, _, engine = replay.point.partition("-")
        times[workload, engine, tuple(str(replay.values[axis]) for axis in AXES)] = replay.roi_ps
    return times


def maps(times: Times) -> list[Map]:
    """Return one map for each workload and pair of engines."""
    workloads = dict.fromkeys(workload for workload, _, _ in times)
    return [_map(times, workload, *pair) for workload in workloads for pair in PAIRS]


def _map(times: Times, workload: str, slow: str, fast: str) -> Map:
    devices = [device for w, engine, device in times if (w, engine) == (workload, slow)]
    return Map(workload, slow, fast, {d: times[workload, slow, d] / times[workload, fast, d] for d in devices})


def values_of(table: Sequence[Map], axis: str) -> list[str]:
    """Return the values of one axis, in the order of the grid."""
    return list(dict.fromkeys(device[AXES.index(axis)] for device in table[0].ratios))


def crossings(line: Map, table: Sequence[Map]) -> int:
    """Count the pairs of neighbours along the flash latency with ratios on both sides of 1."""
    flash = values_of(table, "flash_read")
    pairs = [
        (line.ratios[device], line.ratios[(after, *device[1:])])
        for device in line.ratios
        for after in flash[flash.index(device[0]) + 1 :][:1]
    ]
    return sum((one > 1) != (other > 1) for one, other in pairs)


def _chart(table: Sequence[Map], heading: str) -> Chart:
    """Make one row per map, each with a separate colour range, and one column per link latency.

    All panels are at the first bandwidth of the grid.
    """
    links = values_of(table, "link_latency")
    rows = [[_panel(line, table, link) for link in links] for line in table]
    return Chart(rows, f"ratio of run times, green line: 1; {heading}", share_x=True, share_y="all")


def _panel(line: Map, table: Sequence[Map], link: str) -> spec.Map:
    flash, caches = values_of(table, "flash_read"), values_of(table, "cache_size")
    bandwidth = values_of(table, "link_read_bandwidth")[0]
    return spec.Map(
        across=dict(enumerate(flash)),
        up=dict(enumerate(caches)),
        ratios=[[line.ratios[f, c, link, bandwidth] for f in flash] for c in caches],
        limit=max(1.1, *(max(r, 1 / r) for r in line.ratios.values())),
        good="high",
        title=f"{line.workload}: {line.name}\nlink {link}",
        x_label="flash read",
        y_label="device cache",
    )


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure and its table for the catalogue."""
    replays = gathered.replays["sensitivity"]
    table = maps(times_ps(replays))
    first = table[0]
    devices = f"{len(first.ratios)} devices; {RATIOS}"
    bandwidth = values_of(table, "link_read_bandwidth")[0]
    return Drawn(
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
        chart=_chart(table, f"KV store, {devices}; scaled runs keep the ratios"),
    )
