# SPDX-License-Identifier: BSD-3-Clause
"""The page of the documentation that explains the key in an error message."""

import re

# Pattern of an error message -> the page; the first match counts.
PAGES = (
    (r"calibration\.toml: .*\bkey '", "docs/howto/calibrate.md"),
    (r"/profiles/\w+/[\w.-]+\.toml: .*\bkey '", "docs/howto/add.md"),
    (r"\b(device|cpu) key '|\bkey '(device|cpu)\.override\.", "docs/reference/parameters.md"),
    (r"\bkey 'replay\.", "docs/howto/replay.md"),
    (r"\bkey 'crash\.", "docs/reference/crash-tests.md"),
    (r"\bkey '", "docs/reference/manifest.md"),
)


def page_of(error: str) -> str | None:
    """The page, relative to the clone; None if the error names no key."""
    return next((page for pattern, page in PAGES if re.search(pattern, error)), None)


def with_page(error: str) -> str:
    """The error message for a user, with its page if there is one."""
    page = page_of(error)
    return f"{error} (see {page})" if page else error
