# SPDX-License-Identifier: BSD-3-Clause
"""The median and the range of a number over the seeds of one point: a run with one seed is one sample of many."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from ..units import show_time
from .results import Result, roi_counters

Number = int | float
EN_DASH = "\u2013"
TIME = "time"  # the length of the last region of interest, in ps


@dataclass(frozen=True)
class Spread:
    """The median and the range of one number over the seeds of a point."""

    median: Number
    low: Number
    high: Number

    def holds(self, number: Number) -> bool:
        """Whether another seed might have given this number: it is within the range of these seeds."""
        return self.low <= number <= self.high

    def text(self, shown: Callable[[Number], str]) -> str:
        """Format the median with the range in brackets, each by `shown`; one number if all seeds gave the same."""
        if self.low == self.high:
            return shown(self.median)
        return f"{shown(self.median)} ({shown(self.low)}{EN_DASH}{shown(self.high)})"

    def as_data(self) -> dict[str, Number]:
        return asdict(self)


def of(numbers: Sequence[Number]) -> Spread:
    """Return the spread of at least one number. An even count's median is the middle two's mean, an int if whole."""
    middle = median(numbers)
    return Spread(int(middle) if middle == int(middle) and all_whole(numbers) else middle, min(numbers), max(numbers))


def all_whole(numbers: Sequence[Number]) -> bool:
    return all(isinstance(number, int) for number in numbers)


def shown(name: str, number: Number) -> str:
    """Format a number for people, with its unit if it is the time."""
    if name == TIME:
        return show_time(number)
    return f"{number:,}" if isinstance(number, int) else f"{number:,.4g}"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def folded(values: Sequence[Any]) -> Any:
    """Fold trees of one shape into one tree. Numbers become Spreads; for other values the first tree's counts."""
    first = values[0]
    if all(map(is_number, values)):
        return of(values)
    if all(isinstance(value, Mapping) for value in values):
        return {key: folded([value[key] for value in values if key in value]) for key in first}
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        return [folded(each) for each in zip(*values, strict=True)]
    return first


def middle(tree: Any) -> Any:
    """Replace each Spread in a folded tree by its median."""
    if isinstance(tree, Mapping):
        return {key: middle(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [middle(value) for value in tree]
    return tree.median if isinstance(tree, Spread) else tree


def by_point(results: Sequence[Result]) -> list[list[Result]]:
    """Group the results of one manifest at one scale by point, in the order of each point's first result."""
    groups: dict[tuple[Any, ...], list[Result]] = {}
    for result in results:
        groups.setdefault(tuple(result.point.items()), []).append(result)
    return list(groups.values())


def numbers(group: Sequence[Result]) -> dict[str, Spread]:
    """Return one point's spreads: of the last region of interest's time, and of each number its program printed."""
    of_each = [{**_time(result), **_stated(result)} for result in group]
    common = [name for name in of_each[0] if all(name in each for each in of_each)]
    return {name: of([each[name] for each in of_each]) for name in common}


def _time(result: Result) -> dict[str, Number]:
    return {TIME: roi_counters(result.rois[-1])["time-ps"]} if result.rois else {}


def _stated(result: Result) -> dict[str, Number]:
    """Return the numbers in the rows by name; with several rows, a name begins with the row's number."""
    rows, several = result.rows, len(result.rows) > 1
    return {
        f"{n}.{name}" if several else name: value
        for n, row in enumerate(rows, 1)
        for name, value in row.items()
        if is_number(value)
    }


def medians(results: Sequence[Result]) -> list[Result]:
    """Return one result for each point, with the medians over its seeds; with one seed, the result itself."""
    return [group[0] if len(group) == 1 else _median_of(group) for group in by_point(results)]


def _median_of(group: Sequence[Result]) -> Result:
    rois = [[_from_zero(roi) for roi in result.rois] for result in group]
    numbers = {"rows": middle(folded([result.rows for result in group])), "rois": middle(folded(rois))}
    return Result(group[0].path, group[0].data | numbers)


def _from_zero(roi: Mapping[str, Any]) -> dict[str, Any]:
    """Shift a region of interest to begin at 0: a median over seeds is meaningful for its length only."""
    return {**roi, "begin-ps": 0, "end-ps": roi["end-ps"] - roi["begin-ps"]}
