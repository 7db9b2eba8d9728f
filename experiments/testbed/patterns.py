# SPDX-License-Identifier: BSD-3-Clause
"""Users' regular expressions, matched by RE2, which takes time in proportion to the text for every pattern."""

from dataclasses import dataclass
from typing import Any

import re2


@dataclass(frozen=True)
class Cells:
    """The cells that each match of a pattern gives: the text of its named groups. `^` and `$` match at line ends."""

    pattern: str

    @property
    def names(self) -> list[str]:
        """The names of the groups, in pattern order. Raises ValueError if the pattern is no regular expression."""
        places: dict[str, int] = self._compiled().groupindex
        return sorted(places, key=lambda name: places[name])

    def find(self, text: str) -> list[dict[str, str]]:
        """A row for each match; a group that took no part in the match is empty."""
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
