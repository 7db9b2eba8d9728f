# SPDX-License-Identifier: BSD-3-Clause
"""How long checkpoints stop a program, by the length of an epoch and by replay in the checkpoint or the background."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.results.results import Result

from ..data import ratios
from ..data.chart import Axis, Chart, Line, Lines, Style
from ..data.drawn import Cell, Drawn, Gathered
from ..data.values import points
from .checkpoint_costs import each, row_of

NAME = "epoch-lengths"
REPLAYS: dict[str, Style] = {"checkpoint": "solid", "background": "dashed"}


@dataclass(frozen=True)
class Length:
    """One length of an epoch: the row of all requests together, and the longest update."""

    epoch_ms: float
    replay: str
    row: Mapping[str, Any]
    longest_ns: int

    def cells(self) -> list[Cell]:
        row, checkpoints = self.row, self.row["commits"]
        lost, stop_ns, log_bytes = (each(row[key], checkpoints) for key in ("updates", "stop_ns", "log_bytes"))
        share = 100 * row["replay_ns"] / row["roi_ns"]
        shown = [None if value is None else value / 1000 for value in (stop_ns, log_bytes)]
        time = row["roi_ns"] / row["operations"]
        return [self.epoch_ms, self.replay, checkpoints, lost, *shown, self.longest_ns / 1000, time, share]


def lengths(results: Sequence[Result], device: str) -> list[Length]:
    mine = [r for r in results if r.point["device"] == device]
    return [
        Length(int(r.point["epoch_ns"]) / 1e6, str(r.point["replay"]), row_of(r), _longest_update_ns(r)) for r in mine
    ]


def _longest_update_ns(result: Result) -> int:
    return int(next(row["max_ns"] for row in result.rows if row.get("operation") == "update"))


def _chart(tables: Mapping[str, Sequence[Length]], heading: str) -> Chart:
    """Plot the mean stop and the longest update over the length of an epoch, one panel per device."""
    return Chart([[_panel(device, table) for device, table in tables.items()]], heading, share_y="row")


def _panel(device: str, table: Sequence[Length]) -> Lines:
    lines = []
    for replay, style in REPLAYS.items():
        mine = [line for line in table if line.replay == replay and line.row["commits"]]
        at = [line.epoch_ms for line in mine]
        stops = points(at, [line.row["stop_ns"] / line.row["commits"] / 1000 for line in mine])
        longest = points(at, [line.longest_ns / 1000 for line in mine])
        lines.append(Line(f"mean stop, replay: {replay}", stops, "mean stop", style))
        lines.append(Line(f"longest update, replay: {replay}", longest, "longest update", style))
    return Lines(Axis("epoch, ms", "log"), Axis("us", "log"), lines, device)


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure and its table for the catalogue."""
    results = gathered.results["epochs-lengths"]
    devices = list(dict.fromkeys(str(result.point["device"]) for result in results))
    tables = {device: lengths(results, device) for device in devices}
    setting = ratios.text(results[0])
    return Drawn(
        name=NAME,
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
        chart=_chart(tables, setting),
    )
