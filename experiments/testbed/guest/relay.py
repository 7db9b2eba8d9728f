# SPDX-License-Identifier: BSD-3-Clause
"""Hands on what the files of a running guest receive, as it comes, to whoever reads this process's output.

A reader may be slow, or stop: it holds up the thread of its stream and nothing else, neither the guest nor what ends
it. All there is is handed on before the context ends. Of one that was interrupted, a reader that takes nothing for a
while is left.
"""

import asyncio
import os
import select
import stat
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

LOOK_S = 0.02  # how often for more
PIECE_BYTES = 2**20
PATIENCE_S = 5.0  # with a reader that takes nothing, once the guest was interrupted


class Relay:
    """Files by the descriptors that they are copied to while they grow."""

    def __init__(self, ways: Mapping[Path, int]) -> None:
        self.error: OSError | None = None
        self.left_bytes = 0
        self._ended, self._hurried = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._carry, args=way, daemon=True) for way in ways.items()]
        self._loop = asyncio.get_running_loop()

    def start(self, task: "asyncio.Task[object]") -> None:
        """Begin; the task is cancelled if a descriptor cannot be written to."""
        self._task = task
        for thread in self._threads:
            thread.start()

    def hurry(self) -> None:
        """Wait for no reader any more that takes nothing."""
        self._hurried.set()

    async def finish(self) -> None:
        """The files have all their content: return when that is handed on."""
        self._ended.set()
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    def _carry(self, path: Path, descriptor: int) -> None:
        try:
            with path.open("rb", buffering=0) as file:
                more = True
                while more:
                    more = not self._ended.is_set()
                    while piece := file.read(PIECE_BYTES):
                        if not self._write(descriptor, memoryview(piece)):
                            self.left_bytes += path.stat().st_size - file.tell()
                            return
                    if more:
                        self._ended.wait(LOOK_S)
        except OSError as error:
            if not self.error and not self._ended.is_set():
                self._loop.call_soon_threadsafe(self._task.cancel)
            self.error = self.error or error

    def _write(self, descriptor: int, piece: memoryview) -> bool:
        """Whether the reader took it all. No more at a time than a pipe takes that is ready: nothing else may wait."""
        at_once = PIECE_BYTES if stat.S_ISREG(os.fstat(descriptor).st_mode) else select.PIPE_BUF
        last_s = time.monotonic()
        while piece:
            if select.select([], [descriptor], [], 0.2)[1]:
                piece = piece[os.write(descriptor, piece[:at_once]) :]
                last_s = time.monotonic()
            elif not self._hurried.is_set():
                last_s = time.monotonic()
            elif time.monotonic() - last_s > PATIENCE_S:
                self.left_bytes += len(piece)
                return False
        return True


@asynccontextmanager
async def relayed(ways: Mapping[Path, int]) -> AsyncIterator[None]:
    """While the context lasts the files are handed on as they grow, and all of them when it ends, however that is.

    What keeps a descriptor from being written to (no reader, no room) ends the context.
    """
    task = asyncio.current_task()
    assert task
    relay = Relay(ways)
    relay.start(task)
    try:
        try:
            yield
        except asyncio.CancelledError:
            relay.hurry()
            raise
        finally:
            await relay.finish()
    except asyncio.CancelledError:
        relay.hurry()
        await relay.finish()
        if relay.error and task.cancelling() == 1:
            task.uncancel()
            raise relay.error from None
        raise
    if relay.error:
        raise relay.error
