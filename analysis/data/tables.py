# SPDX-License-Identifier: BSD-3-Clause
"""Tables as text for people and as CSV for programs."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from testbed import outputs

from .drawn import Cell


def write(stem: Path, text: str, table: str) -> list[Path]:
    """Write the table for people (.txt) and the table for programs (.csv)."""
    paths = [stem.with_suffix(".txt"), stem.with_suffix(".csv")]
    for path, content in zip(paths, (text, table), strict=True):
        outputs.write(path, content)
    return paths


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue()


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Format the lines of a table with columns flush right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def rounded(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Round the numbers of a table to the digits of short()."""
    return [[short(cell) if isinstance(cell, float) else cell for cell in row] for row in rows]


def short(value: float | None, digits: int = 5) -> float | None:
    """Round to the significant digits that a table of a measurement shows."""
    return None if value is None else float(f"{value:.{digits}g}")
