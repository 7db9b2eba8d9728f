# SPDX-License-Identifier: BSD-3-Clause
"""Published numbers that depend on threads: measured with one CPU in the place of many, and with real cores.

Both sets are counted as in the scorecard (scorecard/score.py), which shows the numbers that real cores bring nearer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.studies.calibrate import Verdict

from ..data.drawn import Comparison
from ..scorecard.score import score

COLUMNS = ("number", "published", "one CPU", "error", "real cores", "error")


@dataclass(frozen=True)
class Pair:
    """One published number, with our verdicts on one CPU and on real cores."""

    one: Verdict
    many: Verdict


def pairs(verdicts: Sequence[Verdict]) -> list[Pair]:
    """Return the pairs of numbers that were measured both ways, in the order of the real cores."""
    by_name = {verdict.judged.what: verdict for verdict in verdicts}
    return [Pair(by_name[v.judged.beside], v) for v in verdicts if v.judged.beside in by_name]


def cells(pair: Pair) -> tuple[str, ...]:
    judged = pair.many.judged
    both = [text for verdict in (pair.one, pair.many) for text in _ours(verdict)]
    return (judged.what, f"{judged.reference:g} {judged.unit}", *both)


def _ours(verdict: Verdict) -> tuple[str, str]:
    return verdict.shown, f"{verdict.error_percent:+.1f} %"


def counts(found: Sequence[Pair]) -> list[str]:
    """State how near the numbers are, in one line for one CPU and one for real cores."""
    ways = {"one CPU": [pair.one for pair in found], "real cores": [pair.many for pair in found]}
    return [f"{name}: {score(list(map(_comparison, verdicts))).distances}" for name, verdicts in ways.items()]


def _comparison(verdict: Verdict) -> Comparison:
    """Convert a verdict, with a separate group for each: numbers of different devices and kinds have no order."""
    judged = verdict.judged
    return Comparison("calibration", judged.what, judged.value, judged.unit, verdict.model, judged.reference)
