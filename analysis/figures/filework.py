# SPDX-License-Identifier: BSD-3-Clause
"""Varmail and Webproxy by threads: tbfs with each data policy, beside ext4 and XFS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.results.results import Result

from ..data import published, ratios, records
from ..data.chart import Axis, Chart, Line, Lines
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.values import points
from . import file_latency

NAME = "filework"
REFERENCE = "hdpm-flows-pm"
MEASURED = "optane-dcpmm"  # the device of the published numbers
POLICIES = (*file_latency.POLICIES, "ext4-ordered")
CALLS = ("delete", "create", "append", "fsync", "open", "read", "close")
NOTES = (
    "thousand operations a second, of all threads together; an operation is one call of the flow",
    "more_percent: by how much more hybrid makes than cow",
    "ext4-ordered is ext4 through the page cache: what Webproxy writes stays there",
    "cow is tbfs's own, not NOVA; of Webproxy it is published that both are about equal",
)
Place = tuple[str, str, int]  # device, flow, threads
Rows = Mapping[Place, Mapping[str, dict[str, Any]]]  # policy -> the row that the program reported


@dataclass(frozen=True)
class Gain:
    """The throughput of hybrid over cow for one flow and number of threads, and the published ratio."""

    flow: str
    threads: int
    ours: float
    published: float

    @property
    def text(self) -> str:
        ours, theirs = (f"{100 * (gain - 1):.0f} %" for gain in (self.ours, self.published))
        return f"{self.flow}, {self.threads} threads: {ours} more; published {theirs}"


def reported(results: Sequence[Result]) -> Rows:
    """Return the reported rows, those on MEASURED first, then by device, flow and threads."""
    rows: dict[Place, dict[str, dict[str, Any]]] = {}
    for result in results:
        row, point = records.row_of(result, "roi_ns"), result.point
        place = (str(point["device"]), str(point["flow"]), int(point["threads"]))
        rows.setdefault(place, {})[str(point["policy"])] = row
    return dict(sorted(rows.items(), key=lambda item: (item[0][0] != MEASURED, item[0])))


def kilo_operations(row: Mapping[str, Any]) -> float:
    """Thousand operations a second."""
    return float(row["operations"] * 1e6 / row["roi_ns"])


def gain(of: Mapping[str, Mapping[str, Any]]) -> float:
    return kilo_operations(of["hybrid"]) / kilo_operations(of["cow"])


def gains(rows: Rows) -> list[Gain]:
    """Return the gains with a published value, on the device of the published numbers."""
    found = []
    for stated in published.table(REFERENCE):
        place = (MEASURED, stated["flow"], int(stated["threads"]))
        if place in rows:
            found.append(Gain(place[1], place[2], gain(rows[place]), 1 + float(stated["more_pct"]) / 100))
    return found


def comparisons(results: Sequence[Result]) -> list[Comparison]:
    return [
        Comparison(NAME, one.flow, f"{one.threads} threads", "hybrid / cow", one.ours, one.published)
        for one in gains(reported(results))
    ]


def drawn(gathered: Gathered) -> Drawn:
    """Draw the study for the catalogue."""
    results = gathered.results[NAME]
    rows, first = reported(results), records.row_of(results[0], "roi_ns")
    sizes = f"{first['files']} files, {first['width']} in a folder, {first['loops']} loops"
    caption = f"Virtual time. {sizes}; {ratios.text(results[0])}."
    return Drawn(
        name=NAME,
        title="Varmail and Webproxy by threads, each on a CPU of its own",
        caption=caption,
        notes=[*NOTES, *_calls(rows), *(one.text for one in gains(rows))],
        columns=["device", "flow", "threads", *POLICIES, "more_percent"],
        rows=[_row(place, rows[place]) for place in rows],
        comparisons=comparisons(results),
        chart=_chart(rows, caption),
    )


def _row(place: Place, of: Mapping[str, Mapping[str, Any]]) -> list[Cell]:
    return [*place, *(kilo_operations(of[policy]) for policy in POLICIES), f"{100 * (gain(of) - 1):.1f}"]


def _calls(rows: Rows) -> list[str]:
    """State the mean time of each kind of call on the device of the published numbers, with the most threads."""
    most = max(threads for device, _, threads in rows if device == MEASURED)
    notes = []
    for flow in dict.fromkeys(place[1] for place in rows):
        for policy in ("cow", "hybrid"):
            row = rows[MEASURED, flow, most][policy]
            made = [call for call in CALLS if row[f"{call}_calls"]]
            shown = ", ".join(f"{call} {row[f'{call}_ns'] / row[f'{call}_calls'] / 1e3:.1f}" for call in made)
            notes.append(f"us a call with {policy}, {flow}, {most} threads on {MEASURED}: {shown}")
    return notes


def _chart(rows: Rows, heading: str) -> Chart:
    panels = [_panel(rows, *place) for place in dict.fromkeys(place[:2] for place in rows)]
    return Chart([panels], heading, scaled_down=True)


def _panel(rows: Rows, device: str, flow: str) -> Lines:
    shown = [place for place in rows if place[:2] == (device, flow)]
    threads = [place[2] for place in shown]
    lines = [Line(p, points(threads, [kilo_operations(rows[place][p]) for place in shown])) for p in POLICIES]
    x, y = Axis("threads"), Axis("thousand operations/s", from_zero=True)
    return Lines(x, y, lines, title=f"{flow}, {device}")
