# SPDX-License-Identifier: BSD-3-Clause
"""What differs between two results: first what went into them, then what came out, with the ratio."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .results import Result


@dataclass(frozen=True)
class Difference:
    """One value, by its path in the file; a side that lacks it has None."""

    part: str  # "identity", "rows", "counters" or "end"
    key: str
    a: Any
    b: Any

    @property
    def ratio(self) -> float | None:
        """b over a, where both are numbers and a is not 0."""
        numbers = all(isinstance(side, int | float) and not isinstance(side, bool) for side in (self.a, self.b))
        return self.b / self.a if numbers and self.a else None

    def cells(self) -> tuple[str, str, str, str]:
        ratio = f"{self.ratio:.4g}" if self.ratio is not None else ""
        return (f"{self.part} {self.key}", _shown(self.a), _shown(self.b), ratio)

    def as_data(self) -> dict[str, Any]:
        return {"part": self.part, "key": self.key, "a": self.a, "b": self.b, "ratio": self.ratio}


@dataclass(frozen=True)
class Pair:
    """The results of one point on both sides; None where a side has none."""

    name: str
    a: Result | None
    b: Result | None

    @property
    def state(self) -> str:
        if self.a is None or self.b is None:
            return "only in B" if self.a is None else "only in A"
        if self.a.data == self.b.data:
            return "same"
        inputs = self.a.data["identity"] == self.b.data["identity"]
        return "NOT REPRODUCED: same inputs, other result" if inputs else "other inputs"

    def cells(self) -> tuple[str, str, str]:
        """With the ratio of the lengths of the last regions of interest."""
        lengths = [_region(side).get("length-ps", 0) if side else 0 for side in (self.a, self.b)]
        return (self.name, self.state, f"{lengths[1] / lengths[0]:.4g}" if all(lengths) else "")


def differences(a: Result, b: Result) -> list[Difference]:
    """Everything that differs, in the order in which one would ask for it."""
    parts = [
        ("identity", a.data["identity"], b.data["identity"]),
        ("end", _end(a), _end(b)),
        ("rows", a.rows, b.rows),
        ("region", _region(a), _region(b)),
    ]
    return [Difference(part, *found) for part, one, two in parts for found in _differing(one, two)]


def pairs(a: list[Result], b: list[Result]) -> list[Pair]:
    """The results of two sides, paired by file, else by manifest and point, else by point, if each side has one."""
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
    """Those results that are the only one with their key."""
    count = Counter(key(result) for result in results)
    return {key(result): result for result in results if count[key(result)] == 1}


def _file(result: Result) -> str:
    return f"{result.data['manifest']}/{result.path.name}"


def _point(result: Result) -> str:
    return f"{result.data['manifest']}/{_label(result)}"


def _label(result: Result) -> str:
    point = "-".join(str(value) for value in result.point.values())
    return f"{point or 'run'} 1/{result.data['scale']}"


def _end(result: Result) -> dict[str, Any]:
    return {key: result.data[key] for key in ("outcome", "exit_status", "stdout", "stderr")}


def _region(result: Result) -> dict[str, Any]:
    """The last region of interest: its counters and its length."""
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
    """The values in a tree of dictionaries and lists, each with its path."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path, value
        return
    for key, inner in items:
        yield from leaves(inner, f"{path}.{key}" if path else str(key))


def _shown(value: Any) -> str:
    text = "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
