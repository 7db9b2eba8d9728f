# SPDX-License-Identifier: BSD-3-Clause
"""What the studies beyond the paper share: a figure, its table as text and CSV."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from testbed.errors import RunFailed
from testbed.results.results import Result

from . import plotting
from .drawn import Drawn
from .plotting import short


def saved(drawn: Drawn, figure: Figure, folder: Path) -> Drawn:
    """What is drawn with its figure and its table written. In both, numbers have five digits."""
    rows = [[short(cell) if isinstance(cell, float) else cell for cell in row] for row in drawn.rows]
    shown = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    text = "\n".join([drawn.title, drawn.caption, *plotting.aligned([drawn.columns, *shown]), *drawn.notes])
    return replace(drawn, rows=rows, files=plotting.write(figure, folder / drawn.name, text, drawn.columns, rows))


def row_of(result: Result, key: str) -> dict[str, Any]:
    """The first row of the program that has this key."""
    for row in result.rows:
        if key in row:
            return row
    raise RunFailed(f"{result.path}: the program reported no {key}")
