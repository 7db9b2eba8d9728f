# SPDX-License-Identifier: BSD-3-Clause
"""A chart as plain data: panels of lines, bars, dots, parts or maps. The package's other modules decide its look."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .values import Value

Scale = Literal["linear", "log", "log2", "counts"]  # counts: powers of two, with a 0
Share = Literal["", "row", "all"]
Style = Literal["solid", "dashed", "dotted", "none"]  # none: points alone


@dataclass(frozen=True)
class Axis:
    """One axis. Its label names the unit. If `names` maps places to names, the axis shows no other tick labels."""

    label: str = ""
    scale: Scale = "linear"
    names: Mapping[float, str] = field(default_factory=dict)
    from_zero: bool = False
    limits: tuple[float, float] | None = None
    downwards: bool = False


@dataclass(frozen=True)
class Band:
    """A shaded range: a published range, or numbers within some factor of the published one."""

    low: float
    high: float
    label: str = ""
    nearness: int | None = None  # for a band around 1: its index, from the narrowest
    across: bool = False  # the range is on the x axis, not on the y axis


class Coloured:
    """A series that has the colour of `of`, or of its label if `of` is empty."""

    label: str
    of: str

    @property
    def coloured_as(self) -> str:
        return self.of or self.label


@dataclass(frozen=True)
class Line(Coloured):
    """Points with a line through them, or points alone. `of` names the colour, if the label does not."""

    label: str
    points: Sequence[tuple[float, Value]]
    of: str = ""
    style: Style = "solid"
    published: bool = False
    stepped: bool = False


@dataclass(frozen=True)
class Group(Coloured):
    """The values of one series by category, and the published values beside them."""

    label: str
    values: Mapping[str, Value]
    of: str = ""
    faint: bool = False
    published: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Lines:
    """A panel of lines over a quantity."""

    x: Axis
    y: Axis
    lines: Sequence[Line]
    title: str = ""
    bands: Sequence[Band] = ()
    rules: Sequence[float] = ()  # vertical lines at these places of the x axis


@dataclass(frozen=True)
class Bars:
    """A panel of bars side by side, a cluster for each category. The value axis is linear and shows 0."""

    categories: Sequence[str]
    groups: Sequence[Group]
    y_label: str
    title: str = ""
    x_label: str = ""
    notes: Sequence[str] = ()
    bands: Sequence[Band] = ()
    values_as: str = ""  # the format of the values that are written at the bars; empty: no values


@dataclass(frozen=True)
class Dots:
    """Like Bars, with points on a logarithmic axis. The axis has no zero, so the length of a bar would be arbitrary."""

    categories: Sequence[str]
    groups: Sequence[Group]
    y_label: str
    title: str = ""
    x_label: str = ""
    notes: Sequence[str] = ()
    base: float | None = None  # the value of a horizontal line, for example where two things are equal
    values_as: str = ""


@dataclass(frozen=True)
class Parts:
    """A panel of horizontal bars, each a sequence of parts."""

    categories: Sequence[str]
    parts: Sequence[Group]
    x: Axis
    title: str = ""
    said: Mapping[str, str] = field(default_factory=dict)  # category -> text at the end of its bar
    published: Collection[str] = ()  # the categories with published values; their bars are hatched


@dataclass(frozen=True)
class Map:
    """Ratios over two quantities as colours, each also as a number, and the line where they are 1."""

    across: Mapping[float, str]
    up: Mapping[float, str]
    ratios: Sequence[Sequence[float]]  # a row for each place of `up`
    limit: float  # this ratio and its inverse have the full colours
    good: Literal["low", "high"]  # the end of the scale that is blue
    title: str = ""
    x_label: str = ""
    y_label: str = ""


Panel = Lines | Bars | Dots | Parts | Map


@dataclass(frozen=True)
class Chart:
    """Rows of panels, with one legend below them for all."""

    rows: Sequence[Sequence[Panel]]
    heading: str = ""
    scaled_down: bool = False  # stated behind the heading
    share_x: bool = False
    share_y: Share = ""
    legend_title: str = ""
    unscaled: bool = False  # no run is scaled down, for example because the values do not come from runs
    ranges: str = ""  # what the ranges of the values are, if they have any; stated behind the heading

    @property
    def states_scale(self) -> bool:
        """Whether a reader of the chart alone learns at which scale its runs were made."""
        titles = [panel.title for row in self.rows for panel in row]
        return self.unscaled or any("scale" in text for text in (self.headline, *titles))

    @property
    def series(self) -> list[Line | Group]:
        """The series of all panels."""
        found = list[Line | Group]()
        for panel in (panel for row in self.rows for panel in row):
            match panel:
                case Lines(lines=members) | Bars(groups=members) | Dots(groups=members) | Parts(parts=members):
                    found += members
        return found

    @property
    def headline(self) -> str:
        heading = f"{self.heading} (scaled down)" if self.scaled_down else self.heading
        return "; ".join(filter(None, (heading, self.ranges)))
