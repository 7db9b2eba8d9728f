# SPDX-License-Identifier: BSD-3-Clause
"""Bytes written to the device and its flash for each byte that the program updates, by engine.

The numbers are from the device's counters over the measured requests. Pages that are still dirty in the device's cache
at the end are not programmed yet and not counted. Life of the flash and energy are left out, because no source gives
them for these devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from testbed.results.results import Result

from ..data import ratios, records
from ..data.chart import Chart, Dots, Group
from ..data.drawn import Cell, Drawn, Gathered
from ..data.values import by_name

LINE_BYTES = 64
VALUE_BYTES, KEY_BYTES = 4, 23  # of an update; of the longest key, which an insert also writes


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
        """Pages programmed for each page that left the device's cache; None without a translation layer or erases."""
        wanted = self.programs - self.moves
        return self.programs / wanted if wanted and self.erases else None

    def cells(self) -> list[Cell]:
        factors: list[Cell] = [self.host_factor, self.flash_factor, self.device_factor, self.collection_factor]
        return [self.device, self.workload, self.engine, self.updated_bytes, *factors, self.programs, self.erases]


def written(result: Result) -> Written | None:
    """Return the bytes that one run wrote; None if its requests updated nothing, or wrote nothing to the device."""
    row, counters, device = records.row_of(result, "roi_ns"), result.counters, _device(result)
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


def _chart(table: Sequence[Written], heading: str) -> Chart:
    """Make a panel for each device and workload."""
    places = list(dict.fromkeys((line.device, line.workload) for line in table))
    panels = [_panel([line for line in table if (line.device, line.workload) == place]) for place in places]
    return Chart([panels], f"no mark into flash: nothing was programmed\n{heading}", share_y="row")


def _panel(lines: Sequence[Written]) -> Dots:
    groups = [
        Group("to the device", by_name((line.engine, line.host_factor) for line in lines)),
        Group("into flash", by_name((line.engine, line.flash_factor) for line in lines if line.flash_factor)),
    ]
    title = f"{lines[0].workload}, {lines[0].device}"
    return Dots([line.engine for line in lines], groups, "bytes for each byte updated", title)


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure and its table for the catalogue."""
    wear = gathered.results["wear"]
    shown = [r for r in gathered.results["engines"] if r.point["workload"] in ("A", "D", "G")]
    table = [line for result in [*shown, *wear] if (line := written(result))]
    settings = [f"{_device(result)['name']}: {ratios.text(result)}" for result in (shown[0], wear[0])]
    pages = sorted({_device(result)["cache_size"] // _device(result)["cache_page_size"] for result in [*shown, *wear]})
    return Drawn(
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
        chart=_chart([line for line in table if line.workload != "D"], "\n".join(settings)),
    )
