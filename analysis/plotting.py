# SPDX-License-Identifier: BSD-3-Clause
"""What all figures share: one style, and files whose bytes depend on the data only."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot
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


def save(figure: Figure, stem: Path) -> list[Path]:
    """The figure as PDF, SVG and PNG beside each other."""
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
