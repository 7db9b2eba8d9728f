# SPDX-License-Identifier: BSD-3-Clause
"""Shared by studies of several threads: runs by engine and threads, each thread on a separate CPU, in virtual time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from testbed.results.results import Result

from ..data import ratios, records
from ..data.chart import Axis, Line, Lines
from ..data.values import Value


class ByThreads(Protocol):
    """A run of an engine with a number of threads."""

    @property
    def engine(self) -> str: ...

    @property
    def threads(self) -> int: ...


@dataclass(frozen=True)
class Point:
    """A run of one engine; `operations` counts the work of all `threads` together."""

    workload: str
    engine: str
    threads: int
    operations: int
    time_ns: int
    commits: int
    commit_ns: int  # of all commits together; 0 if they were not timed

    @property
    def rate(self) -> float:
        """Million operations a second, of all threads together."""
        return self.operations * 1e3 / self.time_ns

    @property
    def commit_us(self) -> float:
        return self.commit_ns / self.commits / 1e3


def points(results: Sequence[Result]) -> list[Point]:
    """Return the points in the order of the results."""
    return [_point(records.row_of(result, "roi_ns")) for result in results]


def _point(row: dict[str, Any]) -> Point:
    operations = row["operations"] if row["program"] == "shared-kv" else row["updates"]
    return Point(
        row.get("workload", ""),
        row["engine"],
        row["threads"],
        operations,
        row["roi_ns"],
        row["commits"],
        row.get("commit_ns", 0),
    )


def gain(point: Point, among: Sequence[Point]) -> float | None:
    """The rate over the rate of the same engine with one thread; None if `among` has no such run."""
    alone = [p for p in among if (p.workload, p.engine, p.threads) == (point.workload, point.engine, 1)]
    return point.rate / alone[0].rate if alone else None


def heading(result: Result) -> str:
    """State the device, and the sizes of data and caches."""
    return f"{result.data['identity']['machine']['device']['name']}, {ratios.text(result)}"


def panel(table: Sequence[ByThreads], values: Sequence[float], label: str, title: str = "") -> Lines:
    """Plot one line per engine over the threads. Both axes are logarithmic, so linear scaling is a straight line."""
    lines = []
    for engine in dict.fromkeys(p.engine for p in table):
        line = [(p.threads, Value(value)) for p, value in zip(table, values, strict=True) if p.engine == engine]
        lines.append(Line(engine, line))
    x = Axis("threads", "log", {n: str(n) for n in sorted({p.threads for p in table})})
    return Lines(x, Axis(label, "log"), lines, title)
