# SPDX-License-Identifier: BSD-3-Clause
"""The scorecard as a figure: every comparable number by its error, a line a figure; a table of counts and of causes."""

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from . import causes, plotting
from .drawn import Cell, Comparison, Drawn
from .scorecard import BOUNDS, orderings, score, within

NAME = "scorecard"
COLUMNS = ("figure", "published_numbers", "within_10_percent", "within_25_percent", "within_2x", "orderings_agree")
BANDS = tuple(zip(BOUNDS.values(), ("#9ae6b4", "#c6f6d5", "#f0fff4"), strict=True))
NOTES = (
    "an error is the logarithm of ours over the published; a number within 10 % lies between 1/1.1 and 1.1 of it",
    "an ordering is of the engines of one operation on one device, of two ways to persist at one size and interval, or "
    "of one engine over another; numbers published less than 10 % apart have none",
    "a cause is what an experiment explains that changes only that (analysis/causes.toml); no parameter is fitted",
)


def drawn(comparisons: Sequence[Comparison], tests: Sequence[causes.Tested], folder: Path) -> Drawn:
    """The figure, and beside it NAME.csv with a row for each number and its cause."""
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
        files=plotting.write(
            _figure(comparisons, _figures(comparisons)), folder / NAME, text, whole.columns, whole.rows
        ),
    )


def summary(comparisons: Sequence[Comparison], tests: Sequence[causes.Tested]) -> list[str]:
    """The counts of all figures as lines of text, then what has a tested cause."""
    rows = [[str(cell) for cell in row] for row in _rows(comparisons)]
    return [score(comparisons).text, *plotting.aligned([list(COLUMNS), *rows]), *_tested(comparisons, tests)]


def _figures(comparisons: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(c.figure for c in comparisons if c.comparable))


def _rows(comparisons: Sequence[Comparison]) -> list[list[Cell]]:
    cards = {name: score([c for c in comparisons if c.figure == name]) for name in _figures(comparisons)}
    return [[name, *card.counts] for name, card in {**cards, "all": score(comparisons)}.items()]


def _tested(comparisons: Sequence[Comparison], tests: Sequence[causes.Tested]) -> tuple[str, str]:
    """How much of what differs has a tested cause: the numbers, then the orderings."""
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


def _figure(comparisons: Sequence[Comparison], figures: Sequence[str]) -> Figure:
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(7.2, 1.0 + 0.4 * max(len(figures), 1)), layout="constrained")
        for bound, colour in reversed(BANDS):
            axes.axvspan(1 / bound, bound, color=colour, zorder=0)
        for place, name in enumerate(figures):
            errors = sorted(c.ours / c.published for c in comparisons if c.comparable and c.figure == name)
            spread = [place + 0.3 * math.sin(2.4 * number) for number in range(len(errors))]
            axes.plot(errors, spread, "o", color="#2b6cb0", ms=3, alpha=0.7)
        axes.axvline(1, color="black", linewidth=0.6)
        axes.set_xscale("log", base=2)
        axes.set_yticks(range(len(figures)), figures)
        axes.invert_yaxis()
        axes.set_xlabel("ours / published")
        return figure
