# SPDX-License-Identifier: BSD-3-Clause
"""How long opening a pool takes, by the size of what is in it: after a clean end and after a crash."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from testbed.errors import RunFailed
from testbed.results.results import Result

from . import engines, plotting, ratios, study
from .drawn import Cell, Drawn, Gathered

STYLES = {"closed": "-", "before-commit": "--", "after-commit": ":"}
RECORD_BYTES = 44  # an entry with its key, and a value


@dataclass(frozen=True)
class Opening:
    """One pool, opened once."""

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
    """What one run measured; an error if what it opened was not what had been committed."""
    row = study.row_of(result, "crash")
    if not row["verified"]:
        raise RunFailed(f"{result.path}: what was opened is not what was committed: {row['problem']}")
    counts = (row["file_bytes"], row["roi_ns"], row["lines_undone"], row["lines_replayed"])
    return Opening(row["engine"], row["crash"], row["records"], *counts)


def draw(table: Sequence[Opening], heading: str) -> Any:
    """Time over data, a colour an engine, a style a way to end."""
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
        for engine, crash in dict.fromkeys((line.engine, line.crash) for line in table):
            mine = [line for line in table if (line.engine, line.crash) == (engine, crash)]
            data_mib = [line.records * RECORD_BYTES / 2**20 for line in mine]
            times = [line.open_ns / 1e6 for line in mine]
            axes.plot(
                data_mib, times, STYLES[crash], marker=".", color=engines.COLOURS[engine], label=f"{engine}, {crash}"
            )
        axes.set(xscale="log", yscale="log", xlabel="data in the pool, MiB", ylabel="opening the pool, ms")
        axes.set_title(heading, fontsize=8)
        axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure and its table, as the catalogue has them."""
    results = gathered.results["recovery"]
    table = [opening(result) for result in results]
    setting = ratios.text(results[0])
    in_flight = study.row_of(results[0], "operations")["operations"]
    text = Drawn(
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
    )
    return study.saved(text, draw(table, setting), folder)
