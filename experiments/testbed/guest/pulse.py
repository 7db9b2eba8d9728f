# SPDX-License-Identifier: BSD-3-Clause
"""Progress lines of a guest that runs for long: the virtual time that it has reached, and how slowly time passes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from qemu.qmp import QMPClient, QMPError

from ..units import TIME_PS, show_time
from .top import Sample, between, sample

SILENCE_S = 20.0  # host time before the first line, and between lines


def said(before: Sample | None, after: Sample, host_s: float) -> str:
    """One line: the guest's time, the host time that a second of it takes, and the speed in a region of interest."""
    now_ps = int(after.answer["time-ps"])
    line = f"{host_s:.0f} s of this host: the guest is at {show_time(now_ps)} of its own time"
    if before is None:
        return line
    passed_s = (now_ps - int(before.answer["time-ps"])) / TIME_PS["s"]
    span_s = after.host_s - before.host_s
    line += f"; a second of it takes {span_s / passed_s:,.3g} s" if passed_s > 0 else "; none of it passes"
    running = after.answer.get("running")
    if running:
        old, new = between(before.answer.get("running") or running, running)
        instructions = int(new["instructions"]) - int((old or {"instructions": 0})["instructions"])
        line += f", {instructions / span_s / 1e6:,.3g} M instructions a second in region {running['id']}"
    return line


async def beat(socket: Path, tell: Callable[[str], None], silence_s: float) -> None:
    """Report a line every `silence_s` of host time until the guest has ended."""
    begun_s = asyncio.get_running_loop().time()
    before: Sample | None = None
    qmp = QMPClient("pulse")
    with suppress(QMPError, EOFError, OSError):
        await asyncio.sleep(silence_s)
        await qmp.connect(str(socket))
        try:
            while True:
                after = await sample(qmp)
                tell(said(before, after, asyncio.get_running_loop().time() - begun_s))
                before = after
                await asyncio.sleep(silence_s)
        finally:
            with suppress(QMPError, EOFError, OSError):
                await qmp.disconnect()


@asynccontextmanager
async def felt(socket: Path, tell: Callable[[str], None] | None, silence_s: float = SILENCE_S) -> AsyncIterator[None]:
    """Report progress while the context lasts; do nothing without `tell`."""
    if tell is None:
        yield
        return
    task = asyncio.create_task(beat(socket, tell, silence_s))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
