# SPDX-License-Identifier: BSD-3-Clause
"""What the studies beyond the paper share: a figure, its table as text and CSV, and the `Drawn` of all that."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from testbed.errors import RunFailed
from testbed.results.results import Result

from . import plotting
from .drawn import Cell, Drawn
from .plotting import short


@dataclass(frozen=True)
class Study:
    """The text and the table of one study; `save` adds its figure."""

    name: str
    title: str
    caption: str
    notes: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def save(self, figure: Figure, folder: Path) -> Drawn:
        """Write the figure and the table. In both, numbers have five digits."""
        rows = [[short(cell) if isinstance(cell, float) else cell for cell in row] for row in self.rows]
        shown = [["-" if cell is None else str(cell) for cell in row] for row in rows]
        text = "\n".join([self.title, self.caption, *plotting.aligned([self.columns, *shown]), *self.notes])
        files = plotting.write(figure, folder / self.name, text, self.columns, rows)
        return Drawn(self.name, self.title, self.caption, self.notes, self.columns, rows, [], files)


def row_of(result: Result, key: str) -> dict[str, Any]:
    """The first row of the program that has this key."""
    for row in result.rows:
        if key in row:
            return row
    raise RunFailed(f"{result.path}: the program reported no {key}")
