# SPDX-License-Identifier: BSD-3-Clause
"""The time to open a pool with checkpoints, as a whole or page by page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.errors import RunFailed
from testbed.results.results import Result

from ..data import ratios, records
from ..data.chart import Axis, Chart, Line, Lines, Style
from ..data.drawn import Cell, Drawn, Gathered
from ..data.values import points

NAME = "epoch-recovery"
WAYS = ("whole", "lazy")
ENDS: dict[str, Style] = {"closed": "solid", "after-commit": "dotted"}


@dataclass(frozen=True)
class Opening:
    """The opening of one pool, and the opening and reading of the whole pool by another process."""

    device: str
    crash: str
    how: str
    row: Mapping[str, Any]
    read_ps: int  # time of the other process, from its start on

    def cells(self) -> list[Cell]:
        row = self.row
        times = [row["roi_ns"] / 1e6, self.read_ps / 1e9]
        counts = [row["pages_in_at_open"], row["pages_in"], row["lines_replayed"]]
        return [self.device, self.crash, row["records"], row["file_bytes"] / 2**20, self.how, *times, *counts]


def opening(result: Result) -> Opening:
    """Return the measurement of one run; RunFailed if the opened data differ from the committed data."""
    row = records.row_of(result, "crash")
    if not row["verified"]:
        raise RunFailed(f"{result.path}: the opened state is not the committed one: {row['problem']}")
    reading = result.data["rois"][-1]
    read_ps = int(reading["end-ps"]) - int(reading["begin-ps"])
    return Opening(str(result.point["device"]), row["crash"], str(result.point["open"]), row, read_ps)


def _chart(table: Sequence[Opening], heading: str) -> Chart:
    """Plot the time to open over the size of the file, one panel per device."""
    panels = [_panel(table, device) for device in dict.fromkeys(line.device for line in table)]
    return Chart([panels], heading, share_y="row")


def _panel(table: Sequence[Opening], device: str) -> Lines:
    lines = []
    for how, crash in ((how, crash) for how in WAYS for crash in ENDS):
        mine = [line for line in table if (line.device, line.crash, line.how) == (device, crash, how)]
        sizes = [line.row["file_bytes"] / 2**20 for line in mine]
        times = points(sizes, [line.row["roi_ns"] / 1e6 for line in mine])
        lines.append(Line(f"{how}, {crash}", times, how, ENDS[crash]))
    return Lines(Axis("file, MiB", "log"), Axis("opening the pool, ms", "log"), lines, device)


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure and its table for the catalogue."""
    results = gathered.results["epochs-recovery"]
    table = [opening(result) for result in results]
    setting = ratios.text(results[0])
    return Drawn(
        name=NAME,
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
        chart=_chart(table, setting),
    )
