# SPDX-License-Identifier: BSD-3-Clause
"""The console for standard output, and a function that prints a table."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

out = Console()


def show(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    console: Console = out,
    left: tuple[int, ...] = (0,),
) -> None:
    """Print one table; the columns `left` are aligned to the left, all others to the right."""
    table = Table(title=title, title_justify="left", show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    console.print(table)
