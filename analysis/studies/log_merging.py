# SPDX-License-Identifier: BSD-3-Clause
"""When to merge a page's log, by the device's cache."""

from collections.abc import Sequence

from testbed.results.results import Result

from ..data import ratios
from ..data.chart import Bars, Chart, Group
from ..data.drawn import Cell, Drawn, Gathered
from ..data.values import by_name
from .overwrites import label, mean_us, reported
from .write_amplification import LINE_BYTES

NAME = "log-merging"
PANELS = ((3, "read, us"), (5, "write, us"), (9, "bytes into flash a byte"))  # columns of the table


def drawn(gathered: Gathered) -> Drawn:
    """Draw the study, a question that neither paper could ask, for the catalogue."""
    results = gathered.results[NAME]
    row = reported(results[0])[0]
    rows = [_row(result) for result in results]
    caption = f"{row['pages']} pages, {row['mixed']} calls; {ratios.text(results[0])}; cache: at full size."
    return Drawn(
        name=NAME,
        title="When to merge a page's log, by the device's cache",
        caption=caption,
        notes=[
            f"any page, as often read whole as {row['bytes']} bytes of it overwritten; us, the mean and 99 %",
            "to device, to flash: bytes written there for each byte that the program wrote, while it was measured",
            "what is dirty in the device's cache at the end is not in flash yet, and not counted",
        ],
        columns=["cache", "data", "ms", "read", "99 %", "write", "99 %", "flash reads a call", "to device", "to flash"],
        rows=rows,
        chart=_chart(rows, caption),
    )


def _row(result: Result) -> list[Cell]:
    whole, counters = reported(result)[0], result.counters
    late = {row["operation"]: row["p99_ns"] / 1e3 for row in result.rows if "operation" in row}
    written_bytes = whole["writes"] * whole["bytes"]
    page_bytes = int(result.data["identity"]["machine"]["device"]["cache_page_size"])
    return [
        str(result.point["cache"]),
        label(str(result.point["way"])),
        whole["roi_ns"] / 1e6,
        *(cell for call in ("read", "write") for cell in (mean_us(whole, call), late[call])),
        counters.get("flash-reads", 0) / whole["mixed"],
        counters["cxl-writes"] * LINE_BYTES / written_bytes,
        counters.get("flash-programs", 0) * page_bytes / written_bytes,
    ]


def _chart(rows: Sequence[Sequence[Cell]], heading: str) -> Chart:
    caches, ways = (list(dict.fromkeys(str(row[column]) for row in rows)) for column in (0, 1))
    panels = []
    for column, y_label in PANELS:
        groups = [Group(way, by_name((str(r[0]), float(r[column] or 0)) for r in rows if r[1] == way)) for way in ways]
        panels.append(Bars(caches, groups, y_label, x_label="device cache at full size"))
    return Chart([panels], heading, scaled_down=True)
