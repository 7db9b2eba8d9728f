# SPDX-License-Identifier: BSD-3-Clause
"""Templates in manifests: text with {names}. Braces hold a name only, since a format could demand endless text."""

import re
import string
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import TestbedError


def fill(text: str, names: Mapping[str, Any], key: str, origin: Path) -> str:
    """`text`, the value of `key`, with its {names} replaced by their values."""
    if "{" not in text and "}" not in text and "\0" not in text:  # most words of a command have none of these
        return text
    unknown = names_in(text) - names.keys()
    if unknown:
        places = "neither in the matrix nor in workload.scaled or workload.fixed"
        what = "no axis of the matrix" if key.startswith(("cpu.", "device.", "guest.")) else places
        known = ", ".join(sorted(names)) or "none"
        raise TestbedError(f"{origin}: key '{key}' uses {{{min(unknown)}}}, which is {what}; known: {known}")
    try:
        filled = "".join(piece + str(names[name]) if name else piece for piece, name in _pieces(text))
    except ValueError as error:  # unclosed braces
        raise TestbedError(f"{origin}: key '{key}': {error}; write {{{{ for a brace") from error
    if "\0" in filled:
        raise TestbedError(f"{origin}: key '{key}' has a NUL in it, which no command takes; remove it")
    return filled


@lru_cache(maxsize=1024)
def names_in(text: str) -> frozenset[str]:
    """The names in braces."""
    return frozenset(re.findall(r"{(\w*)}", text))


def names_in_all(texts: Iterable[object]) -> set[str]:
    """The names in all values that are text."""
    return {name for text in texts if isinstance(text, str) for name in names_in(text)}


@lru_cache(maxsize=1024)
def _pieces(text: str) -> tuple[tuple[str, str], ...]:
    """Each piece of plain text with the name after it, if any. Raises ValueError if braces hold anything else."""
    found = []
    for piece, name, form, conversion in string.Formatter().parse(text):
        if form or conversion or (name is not None and not re.fullmatch(r"\w+", name)):
            raise ValueError(f"{{{_shown(name, form, conversion)}}} is no name alone")
        found.append((piece, name or ""))
    return tuple(found)


def _shown(name: str | None, form: str | None, conversion: str | None) -> str:
    return (name or "") + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
