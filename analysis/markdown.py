# SPDX-License-Identifier: BSD-3-Clause
"""Tables as the documents have them, and the parts of documents that are made."""

import re
from collections.abc import Callable, Sequence

from .drawn import Cell

END = "<!-- to here -->"


def table(head: Sequence[str], lines: Sequence[Sequence[Cell]]) -> str:
    made = [f"| {' | '.join(map(str, cells))} |" for cells in (head, *lines)]
    return "\n".join([made[0], "|---" * len(head) + "|", *made[1:]])


def begin(command: str) -> str:
    """The pattern of the mark before a part that `command` makes; its group `name` says which."""
    return rf"<!-- by python -m {re.escape(command)}: (?P<name>[a-z0-9-]+) -->"


def names(text: str, command: str) -> list[str]:
    """The parts that `command` makes of a document."""
    return [match["name"] for match in re.finditer(begin(command), text)]


def with_parts(text: str, command: str, part: Callable[[str], str]) -> str:
    """The document with the parts that `command` makes made anew."""
    between = re.compile(rf"(?P<begin>{begin(command)}\n\n)(?:.*?\n\n)??{END}", re.DOTALL)
    return between.sub(lambda match: f"{match['begin']}{part(match['name'])}\n\n{END}", text)
