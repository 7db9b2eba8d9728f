# SPDX-License-Identifier: BSD-3-Clause
"""The scorecard as a figure: every comparable number by its error, a line a figure; a table of counts and of causes."""

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from . import causes, plotting
from .drawn import Cell, Comparison, Drawn
from .scorecard import score

NAME = "scorecard"
COLUMNS = ("figure", "published_numbers", "within_10_percent", "within_25_percent", "within_2x", "orderings_agree")
BANDS = ((1.1, "#9ae6b4"), (1.25, "#c6f6d5"), (2.0, "#f0fff4"))
NOTES = (
    "an error is the logarithm of ours over the published; a number within 10 % lies between 1/1.1 and 1.1 of it",
    "an ordering is of the engines of one operation on one device, of two ways to persist at one size and interval, or "
    "of one engine over another; numbers published less than 10 % apart have none",
    "a cause is what an experiment explains that changes only that (analysis/causes.toml); no parameter is fitted",
)


def drawn(comparisons: Sequence[Comparison], tests: Sequence[causes.Tested], folder: Path) -> Drawn:
    """The figure, and beside it NAME.csv with a row for each number and its cause."""
    figures = list(dict.fromkeys(c.figure for c in comparisons if c.comparable))
    cards = {name: score([c for c in comparisons if c.figure == name]) for name in figures}
    whole = score(comparisons)
    rows: list[list[Cell]] = [[name, *card.counts] for name, card in {**cards, "all": whole}.items()]
    lines = plotting.aligned([list(COLUMNS), *([str(cell) for cell in row] for row in rows)])
    told = [f"{t.comparison.figure}: {t.comparison.group}, {t.comparison.what}: {t.sentence}" for t in tests]
    text = "\n".join([whole.text, *lines, *NOTES, *told])
    return Drawn(
        name=NAME,
        title="Scorecard: every published number and ours",
        caption=f"{whole.text}. Each mark is a published number; shaded: within 10 %, 25 % and a factor of 2.",
        notes=NOTES,
        columns=COLUMNS,
        rows=rows,
        comparisons=(),
        files=plotting.write(_figure(comparisons, figures), folder / NAME, text, whole.columns, whole.rows),
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
