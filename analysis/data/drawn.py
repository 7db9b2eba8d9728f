# SPDX-License-Identifier: BSD-3-Clause
"""A figure as plain data: its text, its table, and its comparisons with published numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from testbed.results.results import Result
from testbed.studies.sweep import Replayed

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
    """A figure: its text, its table, its comparisons with published numbers, and the files that were written."""

    name: str
    title: str
    caption: str
    notes: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    comparisons: Sequence[Comparison] = ()
    files: Sequence[Path] = ()


@dataclass(frozen=True)
class Gathered:
    """The input of a figure: the results of each of its manifests, and the replays of the manifests that it sweeps."""

    results: Mapping[str, Sequence[Result]]
    replays: Mapping[str, Sequence[Replayed]] = field(default_factory=dict)
