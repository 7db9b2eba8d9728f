# SPDX-License-Identifier: BSD-3-Clause
"""Regular expressions of users, by RE2: whatever they are, to find a match takes time in proportion to the text."""

from dataclasses import dataclass
from typing import Any

import re2


@dataclass(frozen=True)
class Cells:
    """What each match of a pattern says: the text of its named groups. `^` and `$` are at the ends of lines."""

    pattern: str

    @property
    def names(self) -> list[str]:
        """Of the groups, as they stand in the pattern. ValueError: it is no regular expression."""
        places: dict[str, int] = self._compiled().groupindex
        return sorted(places, key=lambda name: places[name])

    def find(self, text: str) -> list[dict[str, str]]:
        """A row for each match; a group that took no part in it is empty."""
        names, found = self.names, self._compiled().finditer(text)
        return [{name: match.group(name) or "" for name in names} for match in found]

    def _compiled(self) -> Any:
        options = re2.Options()
        options.log_errors = False
        try:
            return re2.compile(f"(?m){self.pattern}", options)
        except re2.error as error:
            why = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
            raise ValueError(f"{why}; look-around and references to groups are no part of RE2's") from error
