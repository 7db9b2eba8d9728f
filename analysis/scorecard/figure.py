# SPDX-License-Identifier: BSD-3-Clause
"""The scorecard as a figure: the errors of all comparable numbers, one line per figure; tables of counts and causes."""

import math
from collections.abc import Sequence

from ..data import tables, values
from ..data.chart import Axis, Band, Chart, Line, Lines
from ..data.drawn import Cell, Comparison, Drawn
from ..data.values import Value
from . import causes
from .score import BOUNDS, orderings, score, within

NAME = "scorecard"
COLUMNS = ("figure", "published_numbers", "within_10_percent", "within_25_percent", "within_2x", "orderings_agree")
HEADING = "each number at the scale of its figure; shaded: within 10 %, 25 % and a factor of 2"
NOTES = (
    "an error is the logarithm of ours over the published; a number within 10 % lies between 1/1.1 and 1.1 of it",
    "an ordering is of the engines of one operation on one device, of two ways to persist at one size and interval, or "
    "of one engine over another; numbers published at most 10 % apart have none",
    "a cause is what an experiment explains that changes only that (analysis/scorecard/causes.toml); no parameter is "
    "fitted",
)


def drawn(comparisons: Sequence[Comparison], tests: Sequence[causes.Tested]) -> Drawn:
    """Draw the figure. Its table for programs has a row for each number and its cause."""
    whole, rows = score(comparisons), _rows(comparisons)
    told = [f"{t.comparison.figure}: {t.comparison.group}, {t.comparison.what}: {t.sentence}" for t in tests]
    text = "\n".join([*summary(comparisons, tests), *NOTES, *told])
    return Drawn(
        name=NAME,
        title="Scorecard: every published number and ours",
        caption=f"{whole.text}. Each mark is a published number; shaded: within 10 %, 25 % and a factor of 2.",
        notes=(*_tested(comparisons, tests), *NOTES),
        columns=COLUMNS,
        rows=rows,
        chart=_chart(comparisons, _figures(comparisons)),
        text=text,
        csv=tables.csv_text(whole.columns, whole.rows),
    )


def summary(comparisons: Sequence[Comparison], tests: Sequence[causes.Tested]) -> list[str]:
    """Return the counts of all figures as lines of text, then the counts of differences with a tested cause."""
    rows = [[str(cell) for cell in row] for row in _rows(comparisons)]
    return [score(comparisons).text, *tables.aligned([list(COLUMNS), *rows]), *_tested(comparisons, tests)]


def _figures(comparisons: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(c.figure for c in comparisons if c.comparable))


def _rows(comparisons: Sequence[Comparison]) -> list[list[Cell]]:
    cards = {name: score([c for c in comparisons if c.figure == name]) for name in _figures(comparisons)}
    return [[name, *card.counts] for name, card in {**cards, "all": score(comparisons)}.items()]


def _tested(comparisons: Sequence[Comparison], tests: Sequence[causes.Tested]) -> tuple[str, str]:
    """State how many differences have a tested cause: first the numbers, then the orderings."""
    most = causes.best(tests)
    far = [c for c in comparisons if c.comparable and not within(c, BOUNDS["within_10"])]
    shares = [most[key].explains for c in far if (key := (c.figure, c.group, c.what)) in most]
    half, little = (sum(share >= bound for share in shares) for bound in (0.5, causes.EXPLAINS_LITTLE))
    order, then = orderings(comparisons), orderings(causes.changed(comparisons, tests))
    differ = [group for group, agrees in order.items() if not agrees]
    return (
        f"Of {len(far)} numbers beyond 10 %, a tested cause takes away half of the difference or more of {half}, less "
        f"of {little - half}, nothing of {len(shares) - little}; {len(far) - len(shares)} are not tested.",
        f"Of {len(differ)} orderings that differ, {sum(then[group] for group in differ)} agree with what was tested in "
        "the place of ours.",
    )


def _chart(comparisons: Sequence[Comparison], figures: Sequence[str]) -> Chart:
    """Plot the errors of each figure on one line, with small vertical offsets so that each mark is visible."""
    marks = list[tuple[float, Value]]()
    for place, name in enumerate(figures):
        errors = sorted(c.ours / c.published for c in comparisons if c.comparable and c.figure == name)
        marks += values.points(errors, (place + 0.3 * math.sin(2.4 * number) for number in range(len(errors))))
    bands = [Band(1 / bound, bound, nearness=n, across=True) for n, bound in enumerate(BOUNDS.values())]
    y = Axis(names=dict(enumerate(figures)), downwards=True)
    line = Line("", marks, style="none")
    return Chart([[Lines(Axis("ours / published", "log2"), y, [line], bands=bands, rules=[1])]], HEADING)
