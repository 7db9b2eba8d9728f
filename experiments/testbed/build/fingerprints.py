# SPDX-License-Identifier: BSD-3-Clause
"""Stores the results of resolving package lists, since apt takes seconds for each answer.

An answer is valid as long as Debian's package lists are the same; the lists are renewed after a day.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .. import canonical, outputs
from ..errors import TestbedError

LISTS_FRESH_S = 24 * 3600  # as lists_max_age_minutes in guest-image/image/lib/archive.sh


def remembered(cache: Path, question: str, ask: Callable[[], str]) -> str:
    """The answer to `question`, which states all inputs of the answer except the package lists in `cache`."""
    before = _lists_time_ns(cache)
    if before is None:
        return ask()
    path = cache / "fingerprints" / canonical.digest([question, before])[:32]
    if path.exists():
        return path.read_text()
    answer = ask()
    if _lists_time_ns(cache) == before:
        with suppress(TestbedError):  # the cache may belong to another user
            outputs.write(path, answer)
    return answer


def _lists_time_ns(cache: Path) -> int | None:
    """The time at which the package lists were read; None if there are no lists or if they are too old."""
    mark = cache / "debian-lists" / "fresh"
    if not mark.exists() or mark.stat().st_mtime < time.time() - LISTS_FRESH_S:
        return None
    return mark.stat().st_mtime_ns
