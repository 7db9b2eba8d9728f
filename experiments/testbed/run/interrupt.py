# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C during long work that awaits nothing."""

import asyncio
from contextlib import suppress


def heed_interrupt() -> None:
    """Stop here if the running task was cancelled. Call this about every 0.1 s in work that awaits nothing.

    Ctrl-C cancels the task at once, but asyncio raises CancelledError only where the task awaits.
    """
    with suppress(RuntimeError):  # there is no event loop, so Ctrl-C raises KeyboardInterrupt by itself
        task = asyncio.current_task()
        if task and task.cancelling():
            raise asyncio.CancelledError
