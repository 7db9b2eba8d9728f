# SPDX-License-Identifier: BSD-3-Clause
"""The time to open a pool, by the size of its data: after a clean end and after a crash."""

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.errors import RunFailed
from testbed.results.results import Result

from ..data import ratios, records
from ..data.chart import Axis, Chart, Line, Lines, Style
from ..data.drawn import Cell, Drawn, Gathered
from ..data.values import points

STYLES: dict[str, Style] = {"closed": "solid", "before-commit": "dashed", "after-commit": "dotted"}
RECORD_BYTES = 44  # an entry with its key, and a value


@dataclass(frozen=True)
class Opening:
    """One opening of one pool."""

    engine: str
    crash: str
    records: int
    file_bytes: int
    open_ns: int
    undone: int
    replayed: int

    def cells(self) -> list[Cell]:
        data_mib, file_mib = self.records * RECORD_BYTES / 2**20, self.file_bytes / 2**20
        ms = self.open_ns / 1e6
        return [self.engine, self.crash, self.records, data_mib, file_mib, ms, self.undone, self.replayed]


def opening(result: Result) -> Opening:
    """Return the measurement of one run; RunFailed if the opened data differ from the committed data."""
    row = records.row_of(result, "crash")
    if not row["verified"]:
        raise RunFailed(f"{result.path}: the opened state is not the committed one: {row['problem']}")
    counts = (row["file_bytes"], row["roi_ns"], row["lines_undone"], row["lines_replayed"])
    return Opening(row["engine"], row["crash"], row["records"], *counts)


def _chart(table: Sequence[Opening], heading: str) -> Chart:
    """Plot the time to open over the data, with one colour per engine and one line style per way to end."""
    lines = []
    for engine, crash in dict.fromkeys((line.engine, line.crash) for line in table):
        mine = [line for line in table if (line.engine, line.crash) == (engine, crash)]
        data_mib = [line.records * RECORD_BYTES / 2**20 for line in mine]
        times = points(data_mib, [line.open_ns / 1e6 for line in mine])
        lines.append(Line(f"{engine}, {crash}", times, engine, STYLES[crash]))
    x, y = Axis("data in the pool, MiB", "log"), Axis("opening the pool, ms", "log")
    return Chart([[Lines(x, y, lines, heading)]])


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure and its table for the catalogue."""
    results = gathered.results["recovery"]
    table = [opening(result) for result in results]
    setting = ratios.text(results[0])
    in_flight = records.row_of(results[0], "operations")["operations"]
    return Drawn(
        name="recovery",
        title="Time to open a pool",
        caption=f"Guest time by engine, way to end and data in the pool; {setting}.",
        notes=[
            f"Crashes are SIGKILL at the end of one transaction of {in_flight} updates, before or after its commit.",
            "No line of the pool is in the CPU's caches, and the device's cache holds what was written last.",
            "Entries undone are of the undo log, lines replayed of the redo log; PMDK does not say.",
        ],
        columns=["engine", "end", "records", "data MiB", "file MiB", "open ms", "undone", "replayed"],
        rows=[line.cells() for line in table],
        chart=_chart(table, setting),
    )
