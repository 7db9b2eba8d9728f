# SPDX-License-Identifier: BSD-3-Clause
"""A figure as plain data: its text, its table, and what it says of the published numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from testbed.results.results import Result
from testbed.studies.sweep import Replayed

Cell = str | int | float | None


@dataclass(frozen=True)
class Comparison:
    """One published number and ours."""

    figure: str
    group: str  # what is ordered: the engines of one operation on one device
    what: str  # within the group
    unit: str
    ours: float
    published: float
    comparable: bool = True  # the two measure the same thing
    cause: str = ""  # why they differ, if that was tested

    def as_data(self) -> dict[str, Any]:
        return asdict(self) | {"ours": float(f"{self.ours:.6g}"), "published": float(f"{self.published:.6g}")}


@dataclass(frozen=True)
class Drawn:
    """A figure: its text, its table, what it says of published numbers, and the files that were written of it."""

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
    """What a figure is drawn from: the results of each of its manifests, and the replays of those it sweeps."""

    results: Mapping[str, Sequence[Result]]
    replays: Mapping[str, Sequence[Replayed]] = field(default_factory=dict)
