# SPDX-License-Identifier: BSD-3-Clause
"""The ranges of numbers over seeds in experiments/SCALE.spread.csv, of runs and of figures.

With another image every number moves a little. What a seed alone moves is in this file. `testbed verify` judges by it
each number of each run: the time of the last region of interest, and the numbers that the program printed. And each
value of a figure's chart has its range there, which the figure shows if its own runs have one seed only.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from testbed import outputs
from testbed.errors import TestbedError
from testbed.manifest import scales
from testbed.paths import EXPERIMENTS
from testbed.results import spread
from testbed.results.results import Result
from testbed.results.spread import Number, Spread

from ..data import over_seeds
from ..data.chart import Chart
from ..data.drawn import Drawn

LICENSE = "# SPDX-License-Identifier: BSD-3-Clause\n"
FIGURE = "figure/"  # begins the name of a figure among the runs
COLUMNS = ("run", "number", "seeds", "low", "median", "high")


@dataclass(frozen=True)
class Range:
    """The range of one number over so many seeds."""

    seeds: int
    spread: Spread


Ranges = Mapping[str, Mapping[str, Range]]  # by run, then by number


@dataclass(frozen=True)
class Left:
    """A number of a run that is outside its range over seeds."""

    run: str
    number: str
    measured: Number
    range: Range

    def cells(self) -> tuple[str, str, str, str]:
        shown = partial(spread.shown, self.number)
        share = f"{self.measured / self.range.spread.median:.4g}" if self.range.spread.median else ""
        return (f"{self.run} {self.number}", self.range.spread.text(shown), shown(self.measured), share)

    def as_data(self) -> dict[str, Any]:
        return {"number": self.number, "measured": self.measured, **self.range.spread.as_data()}


def of_scale(scale: str | None) -> dict[str, dict[str, Range]]:
    """Load the ranges of the runs at a scale; none if no ranges are recorded for it."""
    return load(EXPERIMENTS / f"{scale}.spread.csv") if scale in scales.NAMES else {}


def path_of(digests: Path) -> Path:
    """Return the path of the ranges beside a file of digests."""
    return digests.with_suffix(".spread.csv")


def of_results(results: Sequence[Result]) -> dict[str, Range]:
    """Return the range of each number of one run; `results` has a result for each seed."""
    return {name: Range(len(results), found) for name, found in spread.numbers(results).items()}


def of_charts(charts: Sequence[Chart]) -> dict[str, Range]:
    """Return the range of each value of a figure; `charts` has a chart for each seed."""
    return {name: Range(len(charts), found) for name, found in over_seeds.ranges_of(charts).items()}


def shown_by(drawn: Drawn, ranges: Ranges) -> Drawn:
    """Give the values of a figure their recorded ranges, if there are any."""
    known = ranges.get(FIGURE + drawn.name, {})
    seeds = max((one.seeds for one in known.values()), default=0)
    return over_seeds.with_recorded(drawn, {name: one.spread for name, one in known.items()}, seeds)


def left(run: str, result: Result, ranges: Mapping[str, Range]) -> list[Left]:
    """Return the numbers of a result that are outside their ranges. A number without a range is not judged."""
    now = {name: found.median for name, found in spread.numbers([result]).items()}
    pairs = ((name, now[name], ranges[name]) for name in now.keys() & ranges.keys())
    found = [Left(run, name, number, known) for name, number, known in pairs if not known.spread.holds(number)]
    return sorted(found, key=lambda one: one.number)


def load(path: Path) -> dict[str, dict[str, Range]]:
    """Load a file of ranges; without the file there are none. Raises TestbedError for a line that is not a range."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise TestbedError(
            f"cannot read {path}: {error.strerror}; testbed verify --update --seeds 5 writes it"
        ) from error
    found: dict[str, dict[str, Range]] = {}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        try:
            numbers = [_number(row[name]) for name in ("low", "median", "high")]
            known = Range(int(row["seeds"]), Spread(low=numbers[0], median=numbers[1], high=numbers[2]))
            found.setdefault(row["run"], {})[row["number"]] = known
        except (KeyError, TypeError, ValueError) as error:
            said = ",".join(str(value) for value in row.values())
            raise TestbedError(f"{path}: '{said}' is not {','.join(COLUMNS)}; restore that line") from error
    return found


def save(path: Path, ranges: Ranges) -> None:
    outputs.write(path, text_of(ranges))


def text_of(ranges: Ranges) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(ranges))
    return f"{LICENSE}# The ranges over seeds of the figures' runs and of their charts.\n{text.getvalue()}"


def _rows(ranges: Ranges) -> Iterable[tuple[Any, ...]]:
    for run, numbers in sorted(ranges.items()):
        for name, known in sorted(numbers.items()):
            yield (run, name, known.seeds, known.spread.low, known.spread.median, known.spread.high)


def _number(text: str) -> Number:
    try:
        return int(text)
    except ValueError:
        return float(text)
