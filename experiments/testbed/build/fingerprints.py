# SPDX-License-Identifier: BSD-3-Clause
"""Remembers what resolving package lists gave: apt takes seconds to give the same answer again.

An answer holds as long as Debian's package lists are the ones that it was made from; they are renewed after a day.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .. import canonical, outputs
from ..errors import TestbedError

LISTS_FRESH_S = 24 * 3600  # as lists_max_age_minutes in guest-image/lib/archive.sh


def remembered(cache: Path, question: str, ask: Callable[[], str]) -> str:
    """The answer to `question`, a hash of all that it depends on beside the package lists in `cache`."""
    before = _lists_time_ns(cache)
    if before is None:
        return ask()
    path = cache / "fingerprints" / canonical.digest([question, before])[:32]
    if path.exists():
        return path.read_text()
    answer = ask()
    if _lists_time_ns(cache) == before:
        with suppress(TestbedError):  # in a cache that is another user's
            outputs.write(path, answer)
    return answer


def _lists_time_ns(cache: Path) -> int | None:
    """When the package lists were read; nothing if there are none that are still fresh."""
    mark = cache / "debian-lists" / "fresh"
    if not mark.exists() or mark.stat().st_mtime < time.time() - LISTS_FRESH_S:
        return None
    return mark.stat().st_mtime_ns
