# SPDX-License-Identifier: BSD-3-Clause
"""A chart as a figure: the grid of its panels, their titles and labels, the heading and the legend."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import LogFormatter

from ..data.chart import Bars, Chart, Dots, Lines, Map, Panel, Parts
from .maps import draw_colours, draw_map
from .palette import assigned
from .panels import LETTERS_PER_INCH, Colours, draw_bars, draw_dots, draw_lines, draw_parts

PANEL_INCHES = {1: 7.2, 2: 3.8, 3: 2.9}  # the width of a panel, by the number of panels in the longest row
NARROW_INCHES = 2.5  # the width of a panel in longer rows
HEADING_INCHES, LEGEND_INCHES = 0.3, 0.5


def figure_of(chart: Chart) -> Figure:
    """Make the figure; the caller sets its style through a matplotlib context (files.py)."""
    colours = assigned(series.coloured_as for series in chart.series)
    columns = math.lcm(*(len(row) for row in chart.rows))
    figure = Figure(figsize=_size(chart), layout="constrained")
    grid = GridSpec(len(chart.rows), columns, figure=figure, height_ratios=[_height(row) for row in chart.rows])
    drawn: list[list[Axes]] = []
    for number, row in enumerate(chart.rows):
        drawn.append([])
        span = columns // len(row)
        for place, panel in enumerate(row):
            axes = figure.add_subplot(grid[number, place * span : (place + 1) * span], **_shared(chart, drawn))
            drawn[-1].append(axes)
            _draw(axes, panel, colours)
    _plain_numbers(chart, drawn)
    _label(chart, drawn)
    _colours(figure, chart, drawn)
    if chart.headline:
        figure.suptitle(chart.headline, fontsize=7, wrap=True)
    _legend(figure, chart, drawn)
    return figure


def _size(chart: Chart) -> tuple[float, float]:
    most = max(len(row) for row in chart.rows)
    width = most * PANEL_INCHES.get(most, NARROW_INCHES)
    return width, sum(map(_height, chart.rows)) + HEADING_INCHES + LEGEND_INCHES


def _height(row: Sequence[Panel]) -> float:
    """The height in inches, which follows the number of horizontal bars or of named places on the y axis, if any."""
    named = [len(panel.categories) for panel in row if isinstance(panel, Parts)]
    named += [len(panel.y.names) for panel in row if isinstance(panel, Lines) and panel.y.names]
    return max(1.2, 0.5 + 0.24 * max(named)) if named else 2.7


def _shared(chart: Chart, drawn: Sequence[Sequence[Axes]]) -> dict[str, Axes]:
    """Return the axes with which the next panel shares its scales."""
    shared = {}
    if chart.share_x and drawn[0]:
        shared["sharex"] = drawn[0][0]
    if chart.share_y == "all" and drawn[0]:
        shared["sharey"] = drawn[0][0]
    elif chart.share_y == "row" and drawn[-1]:
        shared["sharey"] = drawn[-1][0]
    return shared


def _draw(axes: Axes, panel: Panel, colours: Colours) -> None:
    match panel:
        case Lines():
            draw_lines(axes, panel, colours)
        case Bars():
            draw_bars(axes, panel, colours)
        case Dots():
            draw_dots(axes, panel, colours)
        case Parts():
            draw_parts(axes, panel, colours)
        case Map():
            draw_map(axes, panel)
    axes.set_title(panel.title, fontsize=7)


def _plain_numbers(chart: Chart, drawn: Sequence[Sequence[Axes]]) -> None:
    """Show plain numbers instead of powers on logarithmic axes, unless the numbers have many digits."""
    panels = zip([panel for row in chart.rows for panel in row], [axes for row in drawn for axes in row], strict=True)
    for axis in (axis for panel, axes in panels if not isinstance(panel, Map) for axis in (axes.xaxis, axes.yaxis)):
        low, high = axis.get_view_interval()
        if axis.get_scale() == "log" and low >= 1e-3 and high <= 1e5 and not _named(axis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(LogFormatter())


def _named(axis: Any) -> bool:
    return type(axis.get_major_formatter()).__name__ == "FixedFormatter"


def _label(chart: Chart, drawn: Sequence[Sequence[Axes]]) -> None:
    """Remove a panel's label if the panel to the left, or the one below, shows the same label."""
    for number, row in enumerate(drawn):
        below = drawn[number + 1] if number + 1 < len(drawn) else ()
        labels = [axes.get_ylabel() for axes in row]
        for place, axes in enumerate(row):
            if place and labels[place] == labels[place - 1]:
                axes.set_ylabel("")
            if place and chart.share_y:
                axes.tick_params(labelleft=False)
            if chart.share_x and place < len(below):
                axes.tick_params(labelbottom=False)
            if len(below) == len(row) and axes.get_xlabel() == below[place].get_xlabel():
                axes.set_xlabel("")


def _colours(figure: Figure, chart: Chart, drawn: Sequence[Sequence[Axes]]) -> None:
    for panels, row in zip(chart.rows, drawn, strict=True):
        if isinstance(panels[0], Map):
            draw_colours(figure, row[-1].collections[0], row, panels[0].limit)


def _legend(figure: Figure, chart: Chart, drawn: Sequence[Sequence[Axes]]) -> None:
    """Draw one legend below the panels, with each label of any panel once."""
    known: dict[str, Any] = {}
    for axes in (axes for row in drawn for axes in row):
        handles, labels = axes.get_legend_handles_labels()
        # A group without bars has an empty container as its handle, which is false.
        found = {label: handle for label, handle in zip(labels, handles, strict=True) if handle}
        known = found | known
    if known:
        abreast = int(figure.get_size_inches()[0] * LETTERS_PER_INCH / (max(map(len, known)) + 6))
        look = {"frameon": False, "fontsize": 7, "ncols": max(1, min(abreast, len(known)))}
        title = {"title": chart.legend_title, "title_fontsize": 7} if chart.legend_title else {}
        figure.legend(known.values(), known.keys(), loc="outside lower center", **look, **title)
