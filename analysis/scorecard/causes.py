# SPDX-License-Identifier: BSD-3-Clause
"""Tested causes of disagreement. causes.toml assigns experiments to published numbers; their results show the effect.

An experiment changes one thing. With its number in the place of ours, the difference to the published number becomes
smaller or larger. The cause explains the share of the difference (of logarithms) that disappears.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from testbed.results.results import Result
from testbed.validation import Strict, check, load_toml

from ..data.drawn import Cell, Comparison
from ..data.tables import short
from ..figures import engines, filework, kyoto, metadata_updates, msync_share, overhead, persist

PATH = Path(__file__).parent / "causes.toml"
EXPLAINS_LITTLE = 0.05


class Cause(Strict):
    """One row of causes.toml. `operation` and `number` select the experiment's number that replaces ours; by default
    both names are those in the comparison.
    """

    figure: str
    text: str
    run: str
    group: str = "*"
    what: str = "*"
    operation: str | None = None
    number: str | None = None


class Causes(Strict):
    cause: list[Cause]


@dataclass(frozen=True)
class Tested:
    """The result of an experiment for one published number."""

    comparison: Comparison
    cause: Cause
    run: str
    then: float

    @property
    def explains(self) -> float:
        """The share of the difference that disappears with the experiment's number."""
        before, after = (math.log(x / self.comparison.published) for x in (self.comparison.ours, self.then))
        return 1 - abs(after) / abs(before) if before else 0.0

    @property
    def sentence(self) -> str:
        unit, share = self.comparison.unit, f"{100 * self.explains:.0f} % of the difference goes"
        share = share if self.explains >= EXPLAINS_LITTLE else "not the cause"
        return f"tested ({self.run}): {self.cause.text}, {self.then:.3g} {unit}: {share}"


def load(path: Path = PATH) -> list[Cause]:
    return check(Causes, load_toml(path), path).cause


def manifests(path: Path = PATH) -> tuple[str, ...]:
    """Return the manifests of all experiments."""
    return tuple(dict.fromkeys(cause.run.partition("/")[0] for cause in load(path)))


# (MANIFEST/LABEL, operation) -> seconds of an engine; (MANIFEST, `"GROUP, WHAT"`) -> the number of another figure.
Numbers = dict[tuple[str, str], float]


def numbers_of(results: Iterable[Result]) -> Numbers:
    """Return the numbers that the experiments measured, in the units of the figures."""
    found: Numbers = {}
    for manifest, members in itertools.groupby(results, lambda result: str(result.data["manifest"])):
        found |= _numbers_of(manifest, list(members))
    return found


def _numbers_of(manifest: str, results: Sequence[Result]) -> Numbers:
    programs = {row.get("program") for result in results for row in result.rows}
    compared: list[Comparison] = []
    if kyoto.PROGRAM in programs:
        compared = [c for point in kyoto.points(results) for c in kyoto.comparisons(point)]
    elif filework.NAME in programs:
        compared = filework.comparisons(results)
    elif metadata_updates.is_of(results):
        compared = metadata_updates.compared(metadata_updates.measured(results))
    elif overhead.GUARD_EACH in {row.get("engine") for result in results for row in result.rows}:
        compared = overhead.comparisons(overhead.times_ns(results), overhead.GUARD_EACH)
    if compared:
        return {(manifest, f"{c.group}, {c.what}"): c.ours for c in compared}
    if not programs & set(engines.COUNTED_BY):
        means = [item for result in results for item in persist.measured_ns(result).items()]
        return {(manifest, f"{persist.group(place)}, {method}"): ns for (method, *place), ns in means}
    shares = msync_share.measured(results).items()
    found = {(manifest, f"{msync_share.group(workload)}, {engine}"): share for (workload, engine), share in shares}
    for result in results:
        run = f"{manifest}/{result.path.stem.rpartition('-')[0]}"  # a stored point does not keep the order of its axes
        found |= {(run, timing.operation): timing.full_s for timing in engines.timings([result])}
    return found


def tested(comparisons: Sequence[Comparison], numbers: Numbers, causes: Sequence[Cause]) -> list[Tested]:
    """Return a test for each comparable number and each matching cause with a measured experiment."""
    return [found for c in comparisons for cause in causes if (found := _test(c, cause, numbers))]


def _test(comparison: Comparison, cause: Cause, numbers: Numbers) -> Tested | None:
    patterns = ((comparison.figure, cause.figure), (comparison.group, cause.group), (comparison.what, cause.what))
    if not comparison.comparable or not all(fnmatchcase(*pair) for pair in patterns):
        return None
    operation = cause.operation or comparison.group.partition(",")[0].split()[-1]
    number = cause.number or comparison.what
    run = cause.run.format(operation=operation, engine=number)
    then = numbers.get((run, operation), numbers.get((run, f"{comparison.group}, {number}")))
    return None if then is None else Tested(comparison, cause, run, then)


def best(tests: Iterable[Tested]) -> dict[tuple[str, str, str], Tested]:
    """Map each (figure, group, number) to the test that explains most of the difference."""
    found = {}
    for test in sorted(tests, key=lambda test: test.explains):
        found[_key(test.comparison)] = test
    return found


def applied(comparisons: Sequence[Comparison], tests: Sequence[Tested]) -> list[Comparison]:
    """Return the comparisons, each with the sentence of the test that explains most."""
    most = best(tests)
    return [replace(c, cause=most[_key(c)].sentence) if _key(c) in most else c for c in comparisons]


def changed(comparisons: Sequence[Comparison], tests: Sequence[Tested]) -> list[Comparison]:
    """Return the comparisons. If the best test explains at least EXPLAINS_LITTLE, its number replaces ours."""
    most = {key: test for key, test in best(tests).items() if test.explains >= EXPLAINS_LITTLE}
    return [replace(c, ours=most[_key(c)].then) if _key(c) in most else c for c in comparisons]


COLUMNS = ("figure", "group", "number", "unit", "published", "ours", "then", "explains_percent", "changed", "run")


def rows(tests: Sequence[Tested]) -> list[list[Cell]]:
    """Return a table row for each test."""
    return [
        [
            *(t.comparison.figure, t.comparison.group, t.comparison.what, t.comparison.unit),
            *(short(t.comparison.published), short(t.comparison.ours), short(t.then), round(100 * t.explains)),
            *(t.cause.text, t.run),
        ]
        for t in tests
    ]


def _key(comparison: Comparison) -> tuple[str, str, str]:
    return comparison.figure, comparison.group, comparison.what
