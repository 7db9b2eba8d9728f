# SPDX-License-Identifier: BSD-3-Clause
"""The scorecard as a picture: how far each number is from the published one, a row a figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from analysis import plotting
from analysis.drawn import Comparison

from .index import BEYOND, Figure, band, ratio

# From near to far; each also has its own shape, for those who see no difference in the colours.
MARKS = {
    "within 10 %": ("o", "#2f855a"),
    "within 25 %": ("s", "#2b6cb0"),
    "within 2x": ("^", "#c05621"),
    BEYOND: ("X", "#c53030"),
}
LANES = (0.0, -0.2, 0.2, -0.1, 0.1)  # within a row, so that equal points do not hide each other
SPANS = ((2.0, "#f1f5f9"), (1.25, "#e2e8f0"), (1.10, "#cbd5e1"))


def compared(figures: Sequence[Figure]) -> list[tuple[str, list[Comparison]]]:
    """(Figure, its comparisons that have a ratio), without figures that have none."""
    rows = [(figure.name, [c for c in figure.comparisons if ratio(c)]) for figure in figures]
    return [(name, comparisons) for name, comparisons in rows if comparisons]


def draw(figures: Sequence[Figure]) -> Any:
    """A point a comparison, at ours over the published; figures from the top in their order."""
    rows = compared(figures)
    with plt.rc_context(plotting.STYLE):
        drawn, axes = plt.subplots(figsize=(7.2, 1.1 + 0.34 * len(rows)), layout="constrained")
        for factor, colour in SPANS:
            axes.axvspan(1 / factor, factor, color=colour, linewidth=0)
        axes.axvline(1, color="#1a202c", linewidth=0.8)
        for word, (marker, colour) in MARKS.items():
            points = [
                (ratio(c), y + LANES[n % len(LANES)])
                for y, (_, comparisons) in enumerate(rows)
                for n, c in enumerate(comparisons)
                if band(c) == word
            ]
            if points:
                xs, ys = zip(*points, strict=True)
                axes.plot(xs, ys, marker, color=colour, alpha=0.75, markersize=6, markeredgewidth=0, label=word)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}x" if x >= 1 else f"1/{1 / x:g}x")
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("ours over the published number")
        drawn.legend(frameon=False, ncols=4, loc="outside upper center")
        return drawn


def write(figures: Sequence[Figure], stem: Path) -> Path:
    """The picture as an SVG file beside `stem`; returns its path."""
    drawn = draw(figures)
    with plt.rc_context(plotting.STYLE):
        written = plotting.save(drawn, stem)
    plt.close(drawn)
    return next(path for path in written if path.suffix == ".svg")
