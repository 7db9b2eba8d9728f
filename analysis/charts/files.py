# SPDX-License-Identifier: BSD-3-Clause
"""Charts and their tables as files. The bytes depend only on the data.

The PDF, SVG and PNG are for documents. The JSON file `NAME.plot.json` is the same chart for the report's page.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from testbed import canonical, outputs

from ..data import tables
from ..data.chart import Chart
from ..data.drawn import Cell, Drawn
from . import interactive
from .page import figure_of

# The folder of matplotlib's fonts, in which charts are set.
FONT_FOLDER = Path(matplotlib.get_data_path()) / "fonts" / "ttf"

# SVG identifiers are hashes with this salt, not random. No file turns text into outlines, so that text stays text.
STYLE: Any = {
    "svg.hashsalt": "cxl-ssd-testbed",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}

PLOT_SUFFIX = ".plot.json"

# No dates and no versions in the files.
METADATA = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}


def write(drawn: Drawn, folder: Path, state: str = "") -> list[Path]:
    """Write a figure's chart in three formats and for the report, and its table for people and for programs.

    The table for people ends with `state`, a line that says of which results the figure is.
    """
    chart, stem = drawn.chart, folder / drawn.name
    assert chart.states_scale, f"{drawn.name}: a chart states the scale of its runs, or that they are not scaled down"
    rows = tables.rounded(drawn.rows)
    text = "\n".join(filter(None, (drawn.text or _text(drawn, rows), state)))
    table = drawn.csv or tables.csv_text(drawn.columns, rows)
    return [*draw(chart, stem), write_plot(chart, stem), *tables.write(stem, text + "\n", table)]


def _text(drawn: Drawn, rows: Sequence[Sequence[Cell]]) -> str:
    shown = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    return "\n".join([drawn.title, drawn.caption, *tables.aligned([drawn.columns, *shown]), *drawn.notes])


def write_plot(chart: Chart, stem: Path) -> Path:
    """Write the chart as data for Plotly."""
    path = stem.with_name(stem.name + PLOT_SUFFIX)
    outputs.write(path, canonical.dumps(interactive.as_json_data(chart)))
    return path


def draw(chart: Chart, stem: Path) -> list[Path]:
    """Write the chart in three formats."""
    with matplotlib.rc_context(STYLE):
        return save(figure_of(chart), stem)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PDF, SVG and PNG into one folder."""
    assert not cut_bars(figure), f"{stem.name}: bars need a linear axis that shows 0; draw points"
    written = []
    for kind, metadata in METADATA.items():
        drawn = io.BytesIO()
        figure.savefig(drawn, format=kind, dpi=160, metadata=metadata)
        written.append(stem.with_suffix(f".{kind}"))
        outputs.write(written[-1], drawn.getvalue())
    return written


def cut_bars(figure: Figure) -> list[str]:
    """List the titles of panels with meaningless lengths of bars: the axis is logarithmic or does not show zero."""
    return [axes.get_title() for axes in figure.axes if any(_is_cut(axes, bars) for bars in axes.containers)]


def _is_cut(axes: Any, bars: Any) -> bool:
    if not isinstance(bars, BarContainer):
        return False
    axis = axes.xaxis if bars.orientation == "horizontal" else axes.yaxis
    low, high = sorted(axis.get_view_interval())
    return axis.get_scale() != "linear" or not low <= 0 <= high
