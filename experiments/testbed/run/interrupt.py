# SPDX-License-Identifier: BSD-3-Clause
"""Long work without anything to await, which Ctrl-C can interrupt all the same.

Ctrl-C cancels a task only where it awaits. So such work is a generator that yields often, and returns its result.
"""

import asyncio
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]


async def interruptible(steps: Steps[T]) -> T:
    """The result of the work; other tasks run meanwhile."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


def at_once(steps: Steps[T]) -> T:
    """The result of the work, where there is no event loop."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
