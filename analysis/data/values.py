# SPDX-License-Identifier: BSD-3-Clause
"""A number in a chart: its value, and its spread over several runs."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """A value between the least and the most of its runs. One run has no spread: `low` and `high` are None."""

    value: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        low, high = self.ends
        if (self.low is None) != (self.high is None) or not low <= self.value <= high:
            raise ValueError(f"{self.value:g} does not lie between {self.low} and {self.high}; give both ends or none")

    @property
    def has_spread(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the spread; without a spread, the value itself twice."""
        return self.value if self.low is None else self.low, self.value if self.high is None else self.high


def points(xs: Iterable[float], values: Iterable[float]) -> list[tuple[float, Value]]:
    """Make the points of a line from values of one run each."""
    return [(x, Value(value)) for x, value in zip(xs, values, strict=True)]


def by_name(values: Iterable[tuple[str, float]]) -> dict[str, Value]:
    """Make the values of a group from values of one run each."""
    return {name: Value(value) for name, value in values}
