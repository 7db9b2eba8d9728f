# SPDX-License-Identifier: BSD-3-Clause
"""The index of figures that `testbed figures` writes, and the result files that the index names."""

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from testbed import canonical
from testbed.errors import TestbedError
from testbed.paths import FIGURES_INDEX
from testbed.results import results
from testbed.results.results import Result
from testbed.validation import check

from ..data.drawn import Cell, Comparison
from ..scorecard import score as scorecards

# Words for each bound of the scorecard, for a number beyond all bounds, and for numbers that measure different things.
BANDS = {"within_10": "within 10 %", "within_25": "within 25 %", "within_2x": "within 2x"}
BEYOND, UNCOMPARED = "beyond 2x", "not comparable"


def ratio(comparison: Comparison) -> float | None:
    """Divide ours by the published number; None if the two measure different things or one is not positive."""
    if not comparison.comparable or min(comparison.ours, comparison.published) <= 0:
        return None
    return comparison.ours / comparison.published


def band(comparison: Comparison) -> str:
    """Name the band of the distance between ours and the published number."""
    if ratio(comparison) is None:
        return UNCOMPARED
    near = (name for name, bound in scorecards.BOUNDS.items() if scorecards.within(comparison, bound))
    return next((BANDS[name] for name in near), BEYOND)


class Part(BaseModel):
    """A part of the index. Fields of the file that the report does not need are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class RunName(Part):
    """A result that a figure was drawn from; `digest` is the beginning of the hash of its identity."""

    manifest: str
    label: str
    digest: str
    scale: int


class Figure(Part):
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    title: str
    caption: str
    notes: list[str]
    columns: list[str]
    rows: list[list[bool | Cell]]
    svg: str | None  # a figure may be a table only
    plot: str | None = None  # the same figure as data for Plotly; an index of an earlier version has none
    comparisons: list[Comparison]
    results: list[RunName]


class Index(Part):
    scale: str
    figures: list[Figure]
    scorecard: scorecards.Scorecard

    @property
    def comparisons(self) -> list[Comparison]:
        return [comparison for figure in self.figures for comparison in figure.comparisons]


def load(folder: Path) -> Index:
    """Load the index of the figures in `folder`; TestbedError if it is missing or damaged."""
    path = folder / FIGURES_INDEX
    if not path.is_file():
        raise TestbedError(f"there is no {path}, which `make figures` writes; run make figures first")
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TestbedError(f"{path} is damaged ({error}); remove it and run make figures") from error
    if not isinstance(data, dict):
        raise TestbedError(f"{path} is damaged (no object at its top); remove it and run make figures")
    return check(Index, data, path)


def path_of(root: Path, run: RunName) -> Path:
    """Return the path of the run's result below `root`."""
    return root / run.manifest / f"{run.label}-{run.digest[:16]}.json"


def load_results(index: Index, root: Path) -> dict[RunName, Result]:
    """Load every result that the index names, each once, in the order of the index.

    A missing or damaged result, or one of another run, raises a TestbedError that names the file.
    """
    loaded = {}
    for run in dict.fromkeys(run for figure in index.figures for run in figure.results):
        path = path_of(root, run)
        if not path.is_file():
            raise TestbedError(f"result {path}, from which a figure was drawn, is missing; run make figures again")
        result = results.load(path)
        if not canonical.digest(result.data["identity"]).startswith(run.digest):
            raise TestbedError(f"result {path} is of another run than its name says; remove it and run make figures")
        loaded[run] = result
    return loaded
