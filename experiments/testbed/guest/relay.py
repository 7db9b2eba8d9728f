# SPDX-License-Identifier: BSD-3-Clause
"""Copies the files of a running guest, while they grow, to descriptors of this process, for a reader of its output.

A reader that is slow, or stops, delays the thread of its stream, but neither the guest nor the code that ends the
guest. The files are copied completely before the context ends. After an interrupt, the relay gives up a reader that
takes nothing for a while.
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

LOOK_S = 0.02  # interval between looks for more content
PIECE_BYTES = 2**20
PATIENCE_S = 5.0  # how long to wait for a reader that takes nothing, once the guest was interrupted


class Relay:
    """Copies each file to its descriptor while the file grows, with one thread for each."""

    def __init__(self, ways: Mapping[Path, int]) -> None:
        self.error: OSError | None = None
        self.left_bytes = 0
        self._ended, self._hurried = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._carry, args=way, daemon=True) for way in ways.items()]
        self._loop = asyncio.get_running_loop()

    def start(self, task: "asyncio.Task[object]") -> None:
        """Start the threads; they cancel the task if a descriptor cannot be written to."""
        self._task = task
        for thread in self._threads:
            thread.start()

    def hurry(self) -> None:
        """From now on, give up a reader that takes nothing for PATIENCE_S."""
        self._hurried.set()

    async def finish(self) -> None:
        """Return when all content is copied. The files must be complete."""
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
        """Write the piece; False if the reader was given up.

        Unless the descriptor is a file, each write has at most PIPE_BUF bytes, which a ready pipe takes without
        blocking, so the thread waits only in select().
        """
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
    """Copy the files as they grow while the context lasts, and the rest of them when it ends, also by an exception.

    A failed write to a descriptor (no reader, no room) ends the context with that OSError.
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
