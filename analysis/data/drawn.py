# SPDX-License-Identifier: BSD-3-Clause
"""A figure as plain data: its chart, its text, its table, and its comparisons with published numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from testbed.results.results import Result
from testbed.studies.sweep import Replayed

from .chart import Chart

Cell = str | int | float | None


@dataclass(frozen=True)
class Comparison:
    """A published number and the testbed's value."""

    figure: str
    group: str  # an ordered set of numbers: the engines of one operation on one device
    what: str  # the number's name within the group
    unit: str
    ours: float
    published: float
    comparable: bool = True  # the two measure the same thing
    cause: str = ""  # why the two differ, if that was tested, or why they are not comparable

    def as_data(self) -> dict[str, Any]:
        return asdict(self) | {"ours": float(f"{self.ours:.6g}"), "published": float(f"{self.published:.6g}")}


@dataclass(frozen=True)
class Drawn:
    """A figure, of which charts.files makes files."""

    name: str
    title: str
    caption: str
    notes: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    chart: Chart
    comparisons: Sequence[Comparison] = ()
    text: str = ""  # the table for people; without it, title, caption, columns and rows, and notes
    csv: str = ""  # the table for programs; without it, columns and rows


@dataclass(frozen=True)
class Gathered:
    """The input of a figure: the results of each of its manifests, and the replays of the manifests that it sweeps."""

    results: Mapping[str, Sequence[Result]]
    replays: Mapping[str, Sequence[Replayed]] = field(default_factory=dict)

    def of(self, manifests: Iterable[str], sweeps: Iterable[str] = ()) -> "Gathered":
        """Return the input of a figure with these manifests and sweeps."""
        return Gathered({name: self.results[name] for name in manifests}, {name: self.replays[name] for name in sweeps})

    def by_seed(self) -> "list[Gathered]":
        """Return the input for each seed. Replays are the same for each."""
        seeds = sorted({result.seed for results in self.results.values() for result in results}) or [0]
        return [
            Gathered({name: [r for r in found if r.seed == seed] for name, found in self.results.items()}, self.replays)
            for seed in seeds
        ]
