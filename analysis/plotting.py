# SPDX-License-Identifier: BSD-3-Clause
"""What all figures share: one style, and files whose bytes depend on the data only."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from testbed import outputs

from .drawn import Cell

matplotlib.use("Agg")

# Names instead of random identifiers in SVG; fonts as outlines in no file, so that text stays text.
STYLE: Any = {
    "svg.hashsalt": "cxl-ssd-testbed",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}

# No dates and no versions in the files.
METADATA = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}


def points(axes: Axes, places: Sequence[float], values: Sequence[float], colour: str, label: str) -> None:
    """Markers, for a logarithmic axis. It has no zero, so the length of a bar there would be arbitrary."""
    axes.plot(places, values, "o", color=colour, markersize=4, label=label)


def cut_bars(figure: Figure) -> list[str]:
    """The titles of panels with bars whose length says nothing: their axis is logarithmic or does not show zero."""
    return [axes.get_title() for axes in figure.axes if any(_is_cut(axes, bars) for bars in axes.containers)]


def _is_cut(axes: Axes, bars: Any) -> bool:
    if not isinstance(bars, BarContainer):
        return False
    axis = axes.xaxis if bars.orientation == "horizontal" else axes.yaxis
    low, high = sorted(axis.get_view_interval())
    return axis.get_scale() != "linear" or not low <= 0 <= high


def save(figure: Figure, stem: Path) -> list[Path]:
    """The figure as PDF, SVG and PNG beside each other."""
    assert not cut_bars(figure), f"{stem.name}: bars need a linear axis that shows 0; draw points"
    written = []
    for kind, metadata in METADATA.items():
        drawn = io.BytesIO()
        figure.savefig(drawn, format=kind, dpi=160, metadata=metadata)
        written.append(stem.with_suffix(f".{kind}"))
        outputs.write(written[-1], drawn.getvalue())
    return written


def write(figure: Figure, stem: Path, text: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[Path]:
    """The figure in three formats, its table for people and the one for programs; closes the figure."""
    with pyplot.rc_context(STYLE):
        written = save(figure, stem)
    pyplot.close(figure)
    return written + write_tables(stem, text + "\n", csv_text(columns, rows))


def write_tables(stem: Path, text: str, table: str) -> list[Path]:
    """The table for people and the one for programs."""
    paths = [stem.with_suffix(".txt"), stem.with_suffix(".csv")]
    for path, content in zip(paths, (text, table), strict=True):
        outputs.write(path, content)
    return paths


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue()


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table with columns flush right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def short(value: float | None, digits: int = 5) -> float | None:
    """To so many significant digits: what a table of a measurement shows."""
    return None if value is None else float(f"{value:.{digits}g}")
