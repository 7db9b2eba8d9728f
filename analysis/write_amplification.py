# SPDX-License-Identifier: BSD-3-Clause
"""What reaches the device and its flash for each byte that the program updates, by engine.

From the device's counters over the measured requests. What is still dirty in the device's cache at their end is not
programmed yet and not counted. Life of the flash and energy are left out: no source gives them for these devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from testbed.results.results import Result

from . import engines, plotting, ratios, study
from .drawn import Cell, Drawn, Gathered

LINE_BYTES = 64
VALUE_BYTES, KEY_BYTES = 4, 23  # of an update; the longest key, which an insert brings along


@dataclass(frozen=True)
class Written:
    """One run: bytes updated by the program, written to the device, and programmed into flash."""

    device: str
    workload: str
    engine: str
    updated_bytes: int
    host_bytes: int
    programs: int
    page_bytes: int
    moves: int
    erases: int

    @property
    def flash_bytes(self) -> int:
        return self.programs * self.page_bytes

    @property
    def host_factor(self) -> float:
        return self.host_bytes / self.updated_bytes

    @property
    def flash_factor(self) -> float:
        return self.flash_bytes / self.updated_bytes

    @property
    def device_factor(self) -> float:
        """Bytes programmed for each byte that the host wrote."""
        return self.flash_bytes / self.host_bytes

    @property
    def collection_factor(self) -> float | None:
        """Pages programmed for each page that left the device's cache, in a device with a translation layer."""
        wanted = self.programs - self.moves
        return self.programs / wanted if wanted and self.erases else None

    def cells(self) -> list[Cell]:
        factors: list[Cell] = [self.host_factor, self.flash_factor, self.device_factor, self.collection_factor]
        return [self.device, self.workload, self.engine, self.updated_bytes, *factors, self.programs, self.erases]


def written(result: Result) -> Written | None:
    """What one run wrote; None if its requests updated nothing, or nothing on the device."""
    row, counters, device = study.row_of(result, "roi_ns"), result.counters, _device(result)
    updated = row["updates"] * VALUE_BYTES + row["inserts"] * (KEY_BYTES + VALUE_BYTES)
    if updated == 0 or not counters.get("cxl-writes"):
        return None
    return Written(
        str(device["name"]),
        str(row["workload"]),
        str(row["engine"]),
        updated,
        counters["cxl-writes"] * LINE_BYTES,
        counters.get("flash-programs", 0),
        int(device["cache_page_size"]),
        counters.get("flash-gc-moves", 0),
        counters.get("flash-erases", 0),
    )


def _device(result: Result) -> dict[str, Any]:
    return dict(result.data["identity"]["machine"]["device"])


def draw(table: Sequence[Written], heading: str) -> Any:
    """Two points an engine and workload: to the device, and into flash; one panel a device."""
    groups = list(dict.fromkeys((line.device, line.workload) for line in table))
    with plt.rc_context(plotting.STYLE):
        figure, grid = plt.subplots(1, len(groups), figsize=(9, 3.8), layout="constrained", sharey=True, squeeze=False)
        for axes, (device, workload) in zip(grid[0], groups, strict=True):
            lines = [line for line in table if (line.device, line.workload) == (device, workload)]
            places = range(len(lines))
            colours = [engines.COLOURS[line.engine] for line in lines]
            axes.scatter(places, [line.host_factor for line in lines], color=colours)
            programmed = [x for x in places if lines[x].flash_factor]
            edges = [colours[x] for x in programmed]
            axes.scatter(programmed, [lines[x].flash_factor for x in programmed], facecolors="none", edgecolors=edges)
            axes.set_xticks(list(places), [line.engine for line in lines], rotation=90, fontsize=7)
            axes.set(yscale="log", title=f"{workload}, {device}")
            axes.title.set_fontsize(8)
        grid[0][0].set_ylabel("bytes for each byte updated")
        figure.suptitle(
            f"to the device (full) and into flash (open; none: nothing was programmed)\n{heading}", fontsize=8
        )
        return figure


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure and its table, as the catalogue has them."""
    wear = gathered.results["wear"]
    shown = [r for r in gathered.results["engines"] if r.point["workload"] in ("A", "D", "G")]
    table = [line for result in [*shown, *wear] if (line := written(result))]
    settings = [f"{_device(result)['name']}: {ratios.text(result)}" for result in (shown[0], wear[0])]
    pages = sorted({_device(result)["cache_size"] // _device(result)["cache_page_size"] for result in [*shown, *wear]})
    text = Drawn(
        name="write-amplification",
        title="Bytes written for each byte that the program updates",
        caption=f"To the device and into its flash, over the measured requests; {'; '.join(settings)}.",
        notes=[
            f"An update is {VALUE_BYTES} bytes, an insert {VALUE_BYTES + KEY_BYTES} (a key of up to {KEY_BYTES}).",
            "Each also counts itself on a line of its own, which is not in 'bytes updated': two lines are the least.",
            "'to flash' has what was dirty in the device's cache at the start, not what is dirty at the end: up to "
            f"{' or '.join(map(str, pages))} programs.",
            "by collection: pages programmed for each page that left the cache, of devices with a translation layer.",
            "Life used and energy are left out: no source gives an endurance or a power for these devices.",
        ],
        columns=[
            *("device", "workload", "engine", "bytes updated", "to device", "to flash", "flash per device byte"),
            *("by collection", "programs", "erases"),
        ],
        rows=[line.cells() for line in table],
    )
    return study.saved(text, draw([line for line in table if line.workload != "D"], "\n".join(settings)), folder)
