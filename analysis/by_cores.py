# SPDX-License-Identifier: BSD-3-Clause
"""Published numbers that threads touch: as one CPU gives them, in the place of many, and as real cores do.

Both are counted as the scorecard counts (scorecard.py), so that what real cores made nearer or farther can be seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.studies.calibrate import Verdict

from .drawn import Comparison
from .scorecard import score

COLUMNS = ("number", "published", "one CPU", "error", "real cores", "error")


@dataclass(frozen=True)
class Pair:
    """One published number and ours, twice."""

    one: Verdict
    many: Verdict


def pairs(verdicts: Sequence[Verdict]) -> list[Pair]:
    """Of those that were measured both ways, in the order of the real cores."""
    by_name = {verdict.judged.what: verdict for verdict in verdicts}
    return [Pair(by_name[v.judged.beside], v) for v in verdicts if v.judged.beside in by_name]


def cells(pair: Pair) -> tuple[str, ...]:
    judged = pair.many.judged
    both = [text for verdict in (pair.one, pair.many) for text in _ours(verdict)]
    return (judged.what, f"{judged.reference:g} {judged.unit}", *both)


def _ours(verdict: Verdict) -> tuple[str, str]:
    return verdict.shown, f"{verdict.error_percent:+.1f} %"


def counts(found: Sequence[Pair]) -> list[str]:
    """How near they are, before and after."""
    ways = {"one CPU": [pair.one for pair in found], "real cores": [pair.many for pair in found]}
    return [f"{name}: {score(list(map(_comparison, verdicts))).distances}" for name, verdicts in ways.items()]


def _comparison(verdict: Verdict) -> Comparison:
    """In a group of its own: numbers of different devices and kinds have no order."""
    judged = verdict.judged
    return Comparison("calibration", judged.what, judged.value, judged.unit, verdict.model, judged.reference)
