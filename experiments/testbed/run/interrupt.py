# SPDX-License-Identifier: BSD-3-Clause
"""Long computations without an await, which Ctrl-C can still interrupt.

Ctrl-C cancels a task only where it awaits. So the computation is a generator that yields often and returns its result.
"""

import asyncio
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]


async def interruptible(steps: Steps[T]) -> T:
    """The result of the computation; other tasks run in between."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


def at_once(steps: Steps[T]) -> T:
    """The result of the computation, for callers without an event loop."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
