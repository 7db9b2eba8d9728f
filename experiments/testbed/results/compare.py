# SPDX-License-Identifier: BSD-3-Clause
"""Differences between two results: first in their inputs, then in their outputs, with the ratio.

If a point was run with several seeds, numbers are compared with the range over these seeds.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import spread
from .results import Result
from .spread import Spread

BROKEN = "NOT REPRODUCED: same inputs, other result"


@dataclass(frozen=True)
class Difference:
    """One value that differs, by its path in the file; None for a side that lacks the value."""

    part: str  # "identity", "end", "rows" or "region"
    key: str
    a: Any
    b: Any

    @property
    def ratio(self) -> float | None:
        """b over a, if both are numbers and a is not 0; else None."""
        numbers = all(isinstance(side, int | float) and not isinstance(side, bool) for side in (self.a, self.b))
        return self.b / self.a if numbers and self.a else None

    def cells(self) -> tuple[str, str, str, str]:
        ratio = f"{self.ratio:.4g}" if self.ratio is not None else ""
        return (f"{self.part} {self.key}", _shown(self.a), _shown(self.b), ratio)

    def as_data(self) -> dict[str, Any]:
        return {"part": self.part, "key": self.key, "a": self.a, "b": self.b, "ratio": self.ratio}


@dataclass(frozen=True)
class Pair:
    """The results of one point on both sides; None for a side without a result."""

    name: str
    a: Result | None
    b: Result | None

    @property
    def state(self) -> str:
        if self.a is None or self.b is None:
            return "only in B" if self.a is None else "only in A"
        if self.a.data == self.b.data:
            return "same"
        return BROKEN if self.a.data["identity"] == self.b.data["identity"] else "other inputs"

    @property
    def points(self) -> set[str]:
        """The points of both results, named without their seeds."""
        return {_without_seed(side) for side in (self.a, self.b) if side}

    def cells(self) -> tuple[str, str, str]:
        """Name, state, and the ratio of the lengths of the last regions of interest."""
        lengths = [_region(side).get("length-ps", 0) if side else 0 for side in (self.a, self.b)]
        return (self.name, self.state, f"{lengths[1] / lengths[0]:.4g}" if all(lengths) else "")


@dataclass(frozen=True)
class Judged:
    """A number of a point on both sides, of which at least one ran the point with several seeds."""

    point: str
    name: str
    a: Spread
    b: Spread
    of_a: bool  # A has several seeds and judges B's median; else B's range judges A's

    @property
    def left(self) -> bool:
        """Whether the number is outside the range of the seeds."""
        return not (self.a.holds(self.b.median) if self.of_a else self.b.holds(self.a.median))

    def cells(self) -> tuple[str, str, str, str, str]:
        ratio = f"{self.b.median / self.a.median:.4g}" if self.a.median else ""
        shown = partial(spread.shown, self.name)
        return (self.point, self.name, self.a.text(shown), self.b.text(shown), ratio)

    def as_data(self) -> dict[str, Any]:
        of = {"a": self.a.as_data(), "b": self.b.as_data()}
        return {"result": self.point, "number": self.name, "left": self.left} | of


def differences(a: Result, b: Result) -> list[Difference]:
    """Return everything that differs: inputs, outcome and output, rows, then counters."""
    parts = [
        ("identity", a.data["identity"], b.data["identity"]),
        ("end", _end(a), _end(b)),
        ("rows", a.rows, b.rows),
        ("region", _region(a), _region(b)),
    ]
    return [Difference(part, *found) for part, one, two in parts for found in _differing(one, two)]


def over_seeds(a: list[Result], b: list[Result]) -> list[Judged]:
    """Compare the numbers of each point that both sides have, at least one of them with several seeds."""
    ones, twos = _by_seeds(a), _by_seeds(b)
    found = []
    for point in sorted(ones.keys() & twos.keys()):
        one, two = ones[point], twos[point]
        if max(len(one), len(two)) > 1:
            of_a, of_b = spread.numbers(one), spread.numbers(two)
            found += [Judged(point, name, of_a[name], of_b[name], len(one) > 1) for name in of_a if name in of_b]
    return found


def _by_seeds(results: list[Result]) -> dict[str, list[Result]]:
    """Group results by point. A point with two results for one seed, perhaps of two builds, is left out: no range."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(_without_seed(result), []).append(result)
    return {point: group for point, group in groups.items() if len({one.seed for one in group}) == len(group)}


def unjudged(found: list[Pair], judged: list[Judged]) -> list[Pair]:
    """Return the pairs that no range judges, and the pairs that no range excuses: same inputs, other result."""
    points = {number.point for number in judged}
    return [pair for pair in found if pair.state == BROKEN or not (pair.points <= points)]


def pairs(a: list[Result], b: list[Result]) -> list[Pair]:
    """Pair the results of two sides by file, else by manifest and point, else by point, if each side has only one."""
    found, left, right = [], list(a), list(b)
    for key in (_file, _point, _label):
        ones, twos = _by(left, key), _by(right, key)
        for name in ones.keys() & twos.keys():
            found.append(Pair(name, ones[name], twos[name]))
            left.remove(ones[name])
            right.remove(twos[name])
    found += [Pair(_file(one), one, None) for one in left] + [Pair(_file(two), None, two) for two in right]
    return sorted(found, key=lambda pair: pair.name)


def _by(results: list[Result], key: Any) -> dict[str, Result]:
    """Return the results that are the only one with their key, by key."""
    count = Counter(key(result) for result in results)
    return {key(result): result for result in results if count[key(result)] == 1}


def _file(result: Result) -> str:
    return f"{result.data['manifest']}/{result.path.name}"


def _point(result: Result) -> str:
    return f"{result.data['manifest']}/{_label(result)}"


def _without_seed(result: Result) -> str:
    point = "-".join(str(value) for value in result.point.values())
    return f"{result.data['manifest']}/{point or 'run'} 1/{result.data['scale']}"


def _label(result: Result) -> str:
    label = _without_seed(result).partition("/")[2]
    return f"{label} seed {result.seed}" if result.seed else label


def _end(result: Result) -> dict[str, Any]:
    return {key: result.data[key] for key in ("outcome", "exit_status", "stdout", "stderr")}


def _region(result: Result) -> dict[str, Any]:
    """Return the length and the counters of the last region of interest."""
    rois = result.data["rois"]
    if not rois or "end-ps" not in rois[-1]:
        return result.counters
    return {"length-ps": rois[-1]["end-ps"] - rois[-1]["begin-ps"], **result.counters}


def _differing(a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
    one, two = dict(leaves(a)), dict(leaves(b))
    for key in dict.fromkeys((*one, *two)):
        if one.get(key) != two.get(key):
            yield key, one.get(key), two.get(key)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in a tree of dictionaries and lists, each with its path."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path, value
        return
    for key, inner in items:
        yield from leaves(inner, f"{path}.{key}" if path else str(key))


def _shown(value: Any) -> str:
    text = "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
