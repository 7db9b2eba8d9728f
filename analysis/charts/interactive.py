# SPDX-License-Identifier: BSD-3-Clause
"""A chart as a Plotly figure: plain data with two layouts, one for a wide page and one for a narrow page.

The layouts differ in the places of the panels, which are one below the other on a narrow page, and in line breaks.
The page adds the colours of text and grid, which depend on the reader's light or dark mode.
"""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..data.chart import Chart, Lines, Map, Panel, Parts
from .interactive_panels import Data, Drawn, drawn, plain, referring
from .palette import assigned

FONT_PX, TITLE_PX, LETTER_PX, LINE_PX = 12, 13, 6.6, 17
PLOT_PX, ROW_PX = 240, 23  # the height of a panel, and of a row of a panel with named rows
TICKS_PX, LABEL_PX, TURNED_PX = 24, 20, 50  # below a panel: names of ticks, a line of the label, names that are turned
GAP_PX, SHARED_GAP_PX = 70, 22  # between panels with their own ticks, and between panels that share them
EDGE_PX, COLOUR_BAR_PX = 8, 56
NAME_LETTERS = 16  # of a name at the left of a narrow page
# One legend below the panels, from the left edge of the figure.
# Its place is of the plots' area: Plotly widens the left margin by the width of a legend placed within the container.
LEGEND: Data = {"orientation": "h", "xanchor": "left", "y": 0, "yanchor": "top"}
LEGEND |= {"tracegroupgap": 0, "font": {"size": FONT_PX}}


@dataclass(frozen=True)
class Page:
    """The width for which a layout is made, the width of the labels at the left, and whether panels are stacked."""

    width_px: int
    left_px: int
    stacked: bool

    @property
    def plot_px(self) -> float:
        return self.width_px - self.left_px - EDGE_PX


WIDE, NARROW = Page(860, 70, False), Page(350, 58, True)


@dataclass(frozen=True)
class Placed:
    """A panel with its parts, the numbers of its axes, and its row and column in the chart."""

    panel: Panel
    parts: Drawn
    number: int
    row: int
    column: int

    @property
    def suffix(self) -> str:
        return "" if self.number == 1 else str(self.number)

    @property
    def coloraxis(self) -> str:
        """The colours of the maps in this row, which share one limit."""
        return f"coloraxis{self.row + 1}" if self.row else "coloraxis"


def figure_of(chart: Chart) -> Data:
    """Return the traces, and the layouts `wide` and `narrow`."""
    colours = assigned(series.coloured_as for series in chart.series)
    placed = list[Placed]()
    for row, panels in enumerate(chart.rows):
        for column, panel in enumerate(panels):
            placed.append(Placed(panel, drawn(panel, colours), len(placed) + 1, row, column))
    traces = [_bound(trace, p) for p in placed for trace in p.parts.traces]
    return {
        "data": _one_entry_each(traces),
        "wide": _layout(chart, placed, WIDE),
        "narrow": _layout(chart, placed, NARROW),
    }


def _one_entry_each(traces: Sequence[Data]) -> list[Data]:
    """Leave each label of the legend to the first trace that has it."""
    seen, kept = set[str](), list[Data]()
    for trace in traces:
        shown = bool(trace.get("showlegend")) and trace["legendgroup"] not in seen
        seen |= {trace["legendgroup"]} if shown else set()
        kept.append(trace | {"showlegend": shown})
    return kept


def _bound(trace: Data, p: Placed) -> Data:
    """Bind a trace to the axes of its panel, and a map to the colours of its row."""
    colours = {"coloraxis": p.coloraxis} if trace["type"] == "heatmap" else {}
    return trace | {"xaxis": f"x{p.suffix}", "yaxis": f"y{p.suffix}"} | colours


# ---- Layout ----


def _layout(chart: Chart, placed: Sequence[Placed], page: Page) -> Data:
    rows = [[p] for p in placed] if page.stacked else _by_row(placed)
    tops, bottoms = [_above_px(row, page) for row in rows], [_below_px(row, page) for row in rows]
    areas = [_area_px(row) for row in rows]
    height = sum(tops) + sum(areas) + sum(bottoms)
    heading = _wrapped(chart.headline, page.width_px, FONT_PX)
    head_px, legend_px = EDGE_PX + LINE_PX * _lines(heading), _legend_px(chart, placed, page)
    legend: Data = LEGEND | {"x": -round(page.left_px / page.plot_px, 4)}
    layout: Data = {
        "height": round(head_px + height + legend_px),
        "margin": {"l": page.left_px, "r": EDGE_PX, "t": head_px, "b": legend_px},
        "barmode": "overlay",
        "hovermode": "closest",
        "font": {"size": FONT_PX},
        "legend": legend,
        "shapes": [],
        "annotations": [],
    }
    if chart.legend_title:
        layout["legend"] = legend | {"title": {"text": plain(chart.legend_title)}}
    if heading:
        place = {"x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top"}
        pad = {"t": 4 + LINE_PX * (_lines(heading) - 1), "l": 4}  # Plotly puts the last line at this place
        layout["title"] = {"text": heading, "font": {"size": FONT_PX}, "pad": pad, **place}
    top = 1.0
    for row, above, area, below in zip(rows, tops, areas, bottoms, strict=True):
        begin = top - above / height
        for column, p in enumerate(row):
            _place(layout, chart, p, _span(row, column, chart, page), (begin - area / height, begin), page)
        top = begin - (area + below) / height
    _entries_of_shapes(layout)
    return layout


def _by_row(placed: Sequence[Placed]) -> list[list[Placed]]:
    return [[p for p in placed if p.row == row] for row in range(placed[-1].row + 1)]


def _place(
    layout: Data, chart: Chart, p: Placed, across: tuple[float, float], up: tuple[float, float], page: Page
) -> None:
    """Add a panel's axes, shapes, annotations and title to the layout."""
    x, y = dict(p.parts.x), dict(p.parts.y)
    width = (across[1] - across[0]) * page.plot_px
    own_labels = page.stacked or not (p.column and chart.share_y)
    x |= {"domain": _rounded(across), "anchor": f"y{p.suffix}", "automargin": False}
    y |= {"domain": _rounded(up), "anchor": f"x{p.suffix}", "automargin": page.stacked or not p.column}
    x["title"] = {"text": _wrapped_lines(x["title"], width), "font": {"size": FONT_PX}, "standoff": 6}
    y["title"] = {"text": y["title"] if own_labels else "", "font": {"size": FONT_PX}, "standoff": 4}
    y["showticklabels"] = own_labels
    if page.stacked and "ticktext" in y:
        y["ticktext"] = [_end_of(name) for name in y["ticktext"]]
    x |= {"matches": "x"} if chart.share_x and p.number > 1 else {}
    if first := _shares_y_with(chart, p):
        y["matches"] = first
    layout[f"xaxis{p.suffix}"], layout[f"yaxis{p.suffix}"] = x, y
    if p.parts.colours:
        middle = {"x": 1, "xanchor": "right", "y": sum(up) / 2, "len": 0.9 * (up[1] - up[0]), "lenmode": "fraction"}
        layout[p.coloraxis] = {**p.parts.colours, "colorbar": {**p.parts.colours["colorbar"], **middle}}
    logarithmic = {"x": x.get("type") == "log", "y": y.get("type") == "log"}
    refer = f"x{p.suffix}", f"y{p.suffix}", logarithmic
    layout["shapes"] += referring(p.parts.shapes, *refer)
    layout["annotations"] += referring(p.parts.annotations, *refer)
    if p.panel.title:
        place = {"x": 0, "y": 1, "xref": f"x{p.suffix} domain", "yref": f"y{p.suffix} domain", "showarrow": False}
        look = {"xanchor": "left", "yanchor": "bottom", "align": "left", "font": {"size": TITLE_PX}}
        layout["annotations"].append({"text": _wrapped(p.panel.title, width, TITLE_PX), **place, **look})


def _shares_y_with(chart: Chart, p: Placed) -> str:
    """Return the axis with which the panel shares its vertical scale; empty if there is none or it is the panel's."""
    first = 1 if chart.share_y == "all" else p.number - p.column
    return f"y{'' if first == 1 else first}" if chart.share_y and first != p.number else ""


def _span(row: Sequence[Placed], place: int, chart: Chart, page: Page) -> tuple[float, float]:
    """Return the left and the right end of a panel, as shares of the width."""
    right = COLOUR_BAR_PX / page.plot_px if any(isinstance(p.panel, Map) for p in row) else 0.0
    gap = (SHARED_GAP_PX if chart.share_y else GAP_PX) / page.plot_px
    width = (1 - right - gap * (len(row) - 1)) / len(row)
    return place * (width + gap), place * (width + gap) + width


def _rounded(span: tuple[float, float]) -> list[float]:
    return [max(0.0, round(span[0], 4)), min(1.0, round(span[1], 4))]


def _area_px(row: Sequence[Placed]) -> float:
    named = [len(p.panel.categories) for p in row if isinstance(p.panel, Parts)]
    named += [len(p.panel.y.names) for p in row if isinstance(p.panel, Lines) and p.panel.y.names]
    return max(60, ROW_PX * max(named)) if named else PLOT_PX


def _above_px(row: Sequence[Placed], page: Page) -> float:
    titles = [_wrapped(p.panel.title, page.plot_px / len(row), TITLE_PX) for p in row]
    return 10 + LINE_PX * max(map(_lines, titles))


def _below_px(row: Sequence[Placed], page: Page) -> float:
    width = page.plot_px / len(row)
    labels = max(_lines(_wrapped_lines(p.parts.x["title"], width)) for p in row)
    return TICKS_PX + (TURNED_PX if any(_turned(p, width) for p in row) else 0) + LABEL_PX * labels


def _turned(p: Placed, width: float) -> bool:
    """Whether Plotly turns the names on the x axis, because they do not fit side by side."""
    names = [part for name in p.parts.x.get("ticktext", ()) for part in [max(name.split("<br>"), key=len)]]
    return bool(names) and len(names) * (max(map(len, names)) + 1) * LETTER_PX > width


def _legend_px(chart: Chart, placed: Sequence[Placed], page: Page) -> int:
    names = {trace["name"] for p in placed for trace in p.parts.traces if trace.get("showlegend")}
    names |= {shape["name"] for p in placed for shape in p.parts.shapes if "name" in shape}
    if not names:
        return EDGE_PX
    columns = max(1, int(page.width_px / (max(map(len, names)) * LETTER_PX + 60)))
    return 24 + 24 * -(-len(names) // columns) + (LINE_PX if chart.legend_title else 0)


def _entries_of_shapes(layout: Data) -> None:
    """Leave the entry in the legend to the first of several shapes with one name."""
    seen = set[str]()
    for shape in layout["shapes"]:
        if name := shape.get("name"):
            shape["showlegend"] = name not in seen
            seen.add(name)


# ---- Text ----


def _wrapped(text: str, width_px: float, font_px: int) -> str:
    """Escape text and break it into lines of this width."""
    letters = max(12, int(width_px / (LETTER_PX * font_px / FONT_PX)))
    broken = [line for part in text.split("\n") for line in textwrap.wrap(part, letters) or [""]]
    return plain("\n".join(broken)) if text else ""


def _wrapped_lines(escaped: str, width_px: float) -> str:
    """Break each line of text that plain() has escaped."""
    letters = max(12, int(width_px / LETTER_PX))
    parts = [textwrap.wrap(part, letters, break_long_words=False) or [""] for part in escaped.split("<br>")]
    return "<br>".join(line for part in parts for line in part) if escaped else ""


def _end_of(escaped: str) -> str:
    """Shorten a name to the end that distinguishes it from its neighbours; the pointer shows the whole name."""
    return escaped if len(escaped) <= NAME_LETTERS or "&" in escaped else f"…{escaped[1 - NAME_LETTERS :]}"


def _lines(escaped: str) -> int:
    return escaped.count("<br>") + 1 if escaped else 0


def as_json_data(chart: Chart) -> dict[str, Any]:
    """Return the figure for a JSON file: numbers have at most seven digits, and no value is infinite or undefined."""
    short: dict[str, Any] = _short(figure_of(chart))
    return short


def _short(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _short(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_short(value) for value in data]
    if isinstance(data, float):
        return float(f"{data:.7g}") if math.isfinite(data) else None
    return data
