# SPDX-License-Identifier: BSD-3-Clause
"""Functions that draw panels of lines, clusters and parts on given axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ..data.chart import Axis, Band, Bars, Dots, Group, Line, Lines, Parts
from ..data.values import Value
from . import palette

LETTERS_PER_INCH = 13  # approximate, for a legend or for names at an axis
CLUSTER = 0.8  # the share of a category's width that its bars take
LINE_STYLES = {"solid": "-", "dashed": "--", "dotted": ":", "none": ""}
PUBLISHED_HATCH = "///"
Colours = Mapping[str, str]  # name of a series -> colour
SMALL: dict[str, Any] = {"fontsize": 7}
ERROR_BARS: dict[str, Any] = {"fmt": "none", "elinewidth": 0.9, "capsize": 2.5}


def draw_lines(axes: Axes, panel: Lines, colours: Colours) -> None:
    for line in panel.lines:
        _line(axes, line, colours[line.coloured_as])
    for band in sorted(panel.bands, key=lambda band: -(band.nearness or 0)):  # draws narrow bands over wide ones
        _band(axes, band)
    for place in panel.rules:
        axes.axvline(place, color=palette.RULE, linewidth=0.6)
    set_axis(axes, panel.x, "x")
    set_axis(axes, panel.y, "y")


def _line(axes: Axes, line: Line, colour: str) -> None:
    xs, values = [x for x, _ in line.points], [value for _, value in line.points]
    label = f"{line.label}, published" if line.published else line.label
    style = ":" if line.published else LINE_STYLES[line.style]
    marker = "" if line.stepped else "x" if line.published else "o"
    look: dict[str, Any] = {
        "color": colour,
        "linestyle": style,
        "marker": marker,
        "markersize": 3,
        "label": label or None,
    }
    axes.plot(xs, [v.value for v in values], drawstyle="steps-post" if line.stepped else "default", **look)
    spread(axes, xs, values, colour)


def spread(axes: Axes, places: Sequence[float], values: Sequence[Value], colour: str) -> None:
    """Draw an error bar at each value that has a spread."""
    known = [(place, value) for place, value in zip(places, values, strict=True) if value.has_spread]
    if known:
        heights = [value.value for _, value in known]
        axes.errorbar([place for place, _ in known], heights, yerr=_reach(known), ecolor=colour, **ERROR_BARS)


def spread_of_parts(axes: Axes, begins: Sequence[float], places: Sequence[float], values: Sequence[Value]) -> None:
    """Draw an error bar at the end of each horizontal part that has a spread."""
    known = [(begin, place, v) for begin, place, v in zip(begins, places, values, strict=True) if v.has_spread]
    if known:
        ends = [begin + value.value for begin, _, value in known]
        reach = _reach([(place, value) for _, place, value in known])
        axes.errorbar(ends, [place for _, place, _ in known], xerr=reach, ecolor=palette.RULE, **ERROR_BARS)


def _reach(known: Sequence[tuple[float, Value]]) -> list[list[float]]:
    """Return the distances of the ends from the values, below and above."""
    return [[abs(value.ends[end] - value.value) for _, value in known] for end in (0, 1)]


def _band(axes: Axes, band: Band) -> None:
    shade = axes.axvspan if band.across else axes.axhspan
    if band.nearness is None:
        shade(band.low, band.high, color=palette.BAND, alpha=0.5, label=band.label, zorder=0)
    else:
        shade(band.low, band.high, color=palette.NEARNESS[band.nearness], zorder=0)


# ---- Clusters ----


def draw_bars(axes: Axes, panel: Bars, colours: Colours) -> None:
    for group, places, width in clusters(panel.categories, panel.groups):
        colour, values = colour_of(group, colours), list(group.values.values())
        bars = axes.bar(places, [v.value for v in values], 0.94 * width, color=colour, label=group.label or None)
        spread(axes, places, values, palette.RULE)
        if panel.values_as:
            axes.bar_label(bars, [format(v.value, panel.values_as) for v in values], **SMALL)
    _published(axes, panel.categories, panel.groups)
    for band in panel.bands:
        _band(axes, band)
    axes.axhline(0, color=palette.RULE, linewidth=0.6)
    _set_categories(axes, panel.categories, panel.x_label, panel.notes)
    axes.set_ylabel(panel.y_label)


def draw_dots(axes: Axes, panel: Dots, colours: Colours) -> None:
    for group, places, _ in clusters(panel.categories, panel.groups):
        colour, values = colour_of(group, colours), list(group.values.values())
        axes.plot(places, [v.value for v in values], "o", color=colour, markersize=4, label=group.label or None)
        spread(axes, places, values, colour)
        for x, v in zip(places, values, strict=True) if panel.values_as else ():
            said = format(v.value, panel.values_as)
            axes.annotate(said, (x, v.value), (0, 4), textcoords="offset points", ha="center", fontsize=6)
    _published(axes, panel.categories, panel.groups)
    if panel.base is not None:
        axes.axhline(panel.base, color=palette.RULE, linewidth=0.6)
    axes.set_yscale("log")
    _set_categories(axes, panel.categories, panel.x_label, panel.notes)
    axes.set_ylabel(panel.y_label)


def colour_of(group: Group, colours: Colours) -> str:
    """Return the colour of a group of values or parts."""
    found = colours[group.coloured_as]
    return palette.faint(found) if group.faint else found


def clusters(categories: Sequence[str], groups: Sequence[Group]) -> list[tuple[Group, list[float], float]]:
    """List each group with the places of its values and the width of a place."""
    width = CLUSTER / max(len(groups), 1)
    return [(group, _places(categories, group.values, n, width), width) for n, group in enumerate(groups)]


def _places(categories: Sequence[str], values: Mapping[str, Any], number: int, width: float) -> list[float]:
    return [categories.index(name) - CLUSTER / 2 + (number + 0.5) * width for name in values]


def _published(axes: Axes, categories: Sequence[str], groups: Sequence[Group]) -> None:
    """Draw a mark at each published value, at the place of our value; all marks share one entry in the legend."""
    if marks := published_marks(categories, groups):
        xs, ys = [mark.x for mark in marks], [mark.y for mark in marks]
        axes.plot(xs, ys, "_", color=palette.RULE, markersize=8, markeredgewidth=1.6, label="published")


@dataclass(frozen=True)
class Mark:
    """The place of a published value, and the series and the category that it belongs to."""

    x: float
    y: float
    label: str
    category: str


def published_marks(categories: Sequence[str], groups: Sequence[Group]) -> list[Mark]:
    """Return a mark for each published value, at the place of our value."""
    width, marks = CLUSTER / max(len(groups), 1), list[Mark]()
    for number, group in enumerate(groups):
        places = _places(categories, group.published, number, width)
        marks += [Mark(x, y, group.label, name) for x, (name, y) in zip(places, group.published.items(), strict=True)]
    return marks


def _set_categories(axes: Axes, categories: Sequence[str], label: str, notes: Sequence[str]) -> None:
    axes.set_xticks(range(len(categories)), categories, **_rotated(axes, categories))
    axes.set_xlabel("\n".join(filter(None, (label, *notes))), **SMALL)


# ---- Parts ----


def draw_parts(axes: Axes, panel: Parts, colours: Colours) -> None:
    begins = dict.fromkeys(panel.categories, 0.0)
    for part in panel.parts:
        values = [part.values.get(name, Value(0.0)) for name in panel.categories]
        lengths = [value.value for value in values]
        places = range(len(panel.categories))
        colour, left = colour_of(part, colours), list(begins.values())
        bars = axes.barh(places, lengths, left=left, color=colour, label=part.label)
        for bar, name in zip(bars, panel.categories, strict=True):
            bar.set_hatch(PUBLISHED_HATCH if name in panel.published else "")
        spread_of_parts(axes, list(begins.values()), places, values)
        begins = {name: begin + length for (name, begin), length in zip(begins.items(), lengths, strict=True)}
    if panel.published:
        axes.add_patch(Rectangle((0, 0), 0, 0, facecolor=palette.GREY, hatch=PUBLISHED_HATCH, label="published"))
    for place, name in enumerate(panel.categories):
        if said := panel.said.get(name):
            end, right = begins[name], begins[name] >= 0
            axes.annotate(
                said, (end, place), (2 if right else -2, 0), textcoords="offset points", va="center",
                ha="left" if right else "right", fontsize=6,
            )  # fmt: skip
    axes.axvline(0, color=palette.RULE, linewidth=0.6)
    axes.set_yticks(range(len(panel.categories)), panel.categories, **SMALL)
    axes.invert_yaxis()
    set_axis(axes, panel.x, "x")


# ---- Axes ----


def set_axis(axes: Axes, axis: Axis, which: str) -> None:
    """Set the scale, the limits, the names and the label of one axis."""
    scale: dict[str, Any] = {"value": axis.scale}
    if axis.scale == "log2":
        scale = {"value": "log", "base": 2}
    elif axis.scale == "counts":
        scale = {"value": "symlog", "base": 2, "linthresh": 1}
    getattr(axes, f"set_{which}scale")(**scale)
    if axis.names:
        names = list(axis.names.values())
        turned = _rotated(axes, names) if which == "x" else SMALL
        getattr(axes, f"set_{which}ticks")(list(axis.names), names, **turned)
        getattr(axes, f"{which}axis").minorticks_off()
    if axis.from_zero:
        getattr(axes, f"set_{which}lim")(0, None)
    if axis.limits:
        getattr(axes, f"set_{which}lim")(*axis.limits)
    if axis.downwards:
        getattr(axes, f"invert_{which}axis")()
    getattr(axes, f"set_{which}label")(axis.label)


def _rotated(axes: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the text style of names on the x axis; names that do not fit side by side are rotated."""
    place = axes.get_subplotspec()
    inches = axes.figure.get_size_inches()[0] * len(place.colspan) / place.get_gridspec().ncols
    letters = sum(max(map(len, name.split("\n"))) + 2 for name in names)
    return {**SMALL, "rotation": 45} if letters > 0.85 * inches * LETTERS_PER_INCH else dict(SMALL)
