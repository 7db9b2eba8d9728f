# SPDX-License-Identifier: BSD-3-Clause
"""Markdown tables, and the generated parts of documents."""

import re
from collections.abc import Callable, Sequence

from .drawn import Cell

END = "<!-- to here -->"


def table(head: Sequence[str], lines: Sequence[Sequence[Cell]]) -> str:
    made = [f"| {' | '.join(map(str, cells))} |" for cells in (head, *lines)]
    return "\n".join([made[0], "|---" * len(head) + "|", *made[1:]])


def begin(command: str) -> str:
    """Return the pattern of the mark before a part that `command` generates; its group `name` is the part's name."""
    return rf"<!-- by python -m {re.escape(command)}: (?P<name>[a-z0-9-]+) -->"


def names(text: str, command: str) -> list[str]:
    """List the parts of a document that `command` generates."""
    return [match["name"] for match in re.finditer(begin(command), text)]


def with_parts(text: str, command: str, part: Callable[[str], str]) -> str:
    """Return the document after regenerating the parts that `command` generates."""
    between = re.compile(rf"(?P<begin>{begin(command)}\n\n)(?:.*?\n\n)??{END}", re.DOTALL)
    return between.sub(lambda match: f"{match['begin']}{part(match['name'])}\n\n{END}", text)
