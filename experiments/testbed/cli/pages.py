# SPDX-License-Identifier: BSD-3-Clause
"""Which page of the documentation explains the key that an error names."""

import re

# In this order: what an error says -> the page.
PAGES = (
    (r"calibration\.toml: .*\bkey '", "docs/calibration.md"),
    (r"/profiles/\w+/[\w.-]+\.toml: .*\bkey '", "docs/adding.md"),
    (r"\b(device|cpu) key '|\bkey '(device|cpu)\.override\.", "docs/model.md"),
    (r"\bkey 'replay\.", "docs/replay.md"),
    (r"\bkey 'crash\.", "docs/crash.md"),
    (r"\bkey '", "docs/running.md"),
)


def page_of(error: str) -> str | None:
    """The page, from the folder of the clone; None if the error names no key."""
    return next((page for pattern, page in PAGES if re.search(pattern, error)), None)


def with_page(error: str) -> str:
    """The sentence for a user."""
    page = page_of(error)
    return f"{error} (see {page})" if page else error
