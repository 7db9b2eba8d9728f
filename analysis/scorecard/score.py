# SPDX-License-Identifier: BSD-3-Clause
"""The scorecard: how far every published number is from ours, and whether the numbers of a group keep their order.

The error of a number is the logarithm of ours over the published one, so that half and twice are equally far. A group
(the engines of one operation on one device) is in order if no pair of its numbers is reversed. Pairs that are
published at most 10 % apart are ties and have no order.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..data.drawn import Comparison

TIE = 1.1
BOUNDS = {"within_10": 1.1, "within_25": 1.25, "within_2x": 2.0}
COLUMNS = ("figure", "group", "number", "unit", "ours", "published", "ours / published", "log2", "order", "cause")
UNTESTED = "not tested"


@dataclass(frozen=True)
class Scorecard:
    """Counts over all comparable numbers, and a row for each number."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    within_10: int
    within_25: int
    within_2x: int
    total: int
    orderings_agree: int
    orderings_total: int

    @property
    def counts(self) -> tuple[str, ...]:
        """The counts for a table: published numbers, within 10 %, 25 %, a factor of 2, orderings."""
        if not self.total:
            return ("-",) * 5
        within = (self.total, self.within_10, self.within_25, self.within_2x)
        return (*map(str, within), f"{self.orderings_agree}/{self.orderings_total}" if self.orderings_total else "-")

    @property
    def distances(self) -> str:
        """One line that states how near the numbers are."""
        return (
            f"{self.total} published numbers: {self.within_10} within 10 %, {self.within_25} within 25 %, "
            f"{self.within_2x} within a factor of 2"
        )

    @property
    def text(self) -> str:
        """The summary in one line."""
        return f"{self.distances}; {self.orderings_agree} of {self.orderings_total} orderings agree"


def log2_error(comparison: Comparison) -> float:
    return math.log2(comparison.ours / comparison.published)


def within(comparison: Comparison, bound: float) -> bool:
    return abs(log2_error(comparison)) <= math.log2(bound) + 1e-12


def orderings(comparisons: Iterable[Comparison]) -> dict[tuple[str, str], bool]:
    """Map each (figure, group) with at least one ordered pair to whether our numbers keep the published order."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        if comparison.comparable:
            groups.setdefault((comparison.figure, comparison.group), []).append(comparison)
    agree = {}
    for group, members in groups.items():
        pairs = [pair for pair in itertools.combinations(members, 2) if _ordered(*pair)]
        verdicts = [(a.ours < b.ours) == (a.published < b.published) for a, b in pairs]
        if verdicts:
            agree[group] = all(verdicts)
    return agree


def _ordered(a: Comparison, b: Comparison) -> bool:
    return a.unit == b.unit and max(a.published, b.published) > TIE * min(a.published, b.published)


def score(comparisons: Sequence[Comparison]) -> Scorecard:
    """Make the scorecard of these numbers. A number that is not comparable has a row but does not count."""
    counted = [c for c in comparisons if c.comparable]
    order = orderings(comparisons)
    return Scorecard(
        columns=COLUMNS,
        rows=[_row(c, order) for c in comparisons],
        **{name: sum(within(c, bound) for c in counted) for name, bound in BOUNDS.items()},
        total=len(counted),
        orderings_agree=sum(order.values()),
        orderings_total=len(order),
    )


def _row(c: Comparison, order: dict[tuple[str, str], bool]) -> tuple[Any, ...]:
    agrees = {True: "as published", False: "differs", None: ""}[order.get((c.figure, c.group))]
    numbers = (float(f"{c.ours:.5g}"), float(f"{c.published:.5g}"))
    if not c.comparable:
        return (c.figure, c.group, c.what, c.unit, *numbers, None, None, "not comparable", c.cause)
    cause = c.cause or ("" if within(c, BOUNDS["within_10"]) else UNTESTED)
    return (
        *(c.figure, c.group, c.what, c.unit, *numbers),
        *(round(c.ours / c.published, 3), round(log2_error(c), 3), agrees, cause),
    )
