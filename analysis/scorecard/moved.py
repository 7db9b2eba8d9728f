# SPDX-License-Identifier: BSD-3-Clause
"""How far the numbers of two sets of figures are apart, for example drawn at two scales or on two guest images."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..data.drawn import Comparison

COLUMNS = ("number", "unit", "A", "B", "B/A", "published")
SUMMARY_COLUMNS = ("figure", "numbers", "median change", "largest change", "of")


@dataclass(frozen=True)
class Moved:
    """A number that both sets contain, with its published value."""

    figure: str
    number: str  # `group` and `what`
    unit: str
    a: float
    b: float
    published: float

    @property
    def ratio(self) -> float | None:
        """b over a; None if either is 0."""
        return self.b / self.a if self.a and self.b else None

    def cells(self) -> tuple[str, ...]:
        a, b, published = (f"{number:.4g}" for number in (self.a, self.b, self.published))
        return (f"{self.figure}: {self.number}", self.unit, a, b, f"{self.ratio:.3f}" if self.ratio else "-", published)

    def as_data(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio}


def between(a: Iterable[Comparison], b: Iterable[Comparison]) -> list[Moved]:
    """Return every number that `a` and `b` share, in the order of `a`."""
    theirs = {(c.figure, c.group, c.what): c.ours for c in b}
    return [
        Moved(c.figure, f"{c.group}, {c.what}", c.unit, c.ours, theirs[key], c.published)
        for c in a
        if (key := (c.figure, c.group, c.what)) in theirs
    ]


def change_percent(moved: Moved) -> float:
    """The distance of the two numbers, regardless of direction: twice and half are both 100 %."""
    if moved.a == moved.b:
        return 0.0
    return 100 * (max(moved.ratio, 1 / moved.ratio) - 1) if moved.ratio else math.inf


def by_figure(moved: Sequence[Moved]) -> list[tuple[str, ...]]:
    """Summarise each figure and all together: count of numbers, median change, largest change and its number."""
    figures = dict.fromkeys(m.figure for m in moved)
    return [*(_summary(figure, [m for m in moved if m.figure == figure]) for figure in figures), _summary("all", moved)]


def _summary(name: str, moved: Sequence[Moved]) -> tuple[str, ...]:
    most = max(moved, key=change_percent)
    median = statistics.median(map(change_percent, moved))
    return (name, str(len(moved)), f"{median:.2f} %", f"{change_percent(most):.1f} %", most.number)
