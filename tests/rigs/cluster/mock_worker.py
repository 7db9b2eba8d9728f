# SPDX-License-Identifier: BSD-3-Clause
"""Guests without QEMU for a worker of a test (`dask worker --preload`); the manifest's command says how they end.

`mock SECONDS WORD...` ends after SECONDS with three rows, which hold the words. `mock lost FILE` is lost as long as
FILE does not exist, and makes it. Guests of a crash test are the rig's; with MOCK_MEDIA, their setup writes that text.
"""

import asyncio
import os
import re
from pathlib import Path

from distributed import Worker

from rigs.crash.crash_rig import Played, script_of
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.run.dask_task import EXECUTOR


class MockGuests:
    async def run(self, spec: GuestSpec) -> GuestOutcome:
        assert spec.job
        if spec.media_folder:
            return played(spec, spec.media_folder)
        words = re.findall(r"exec mock (.*)", spec.job.script)[0].split()
        if words[0] == "lost" and not Path(words[1]).exists():
            Path(words[1]).write_text("")
            return GuestOutcome("lost")
        seconds = 0.0 if words[0] == "lost" else float(words[0])
        with Path(os.environ["MOCK_LOG"]).open("a") as log:
            log.write(f"start {os.getpid()} {' '.join(words)}\n")
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            with Path(os.environ["MOCK_LOG"]).open("a") as log:
                log.write(f"cancelled {os.getpid()} {' '.join(words)}\n")
            raise
        return GuestOutcome("ok", 0, rows=[{"words": words, "n": n} for n in range(3)])


def played(spec: GuestSpec, media: Path) -> GuestOutcome:
    """Play a guest of a crash test."""
    with Path(os.environ["MOCK_LOG"]).open("a") as log:
        log.write(f"start {os.getpid()} {'copy' if spec.copy_of else 'setup'}\n")
    outcome = Played([])(spec)
    if "the setup" in script_of(spec) and "MOCK_MEDIA" in os.environ:
        (media / "media.raw").write_text(os.environ["MOCK_MEDIA"])
    return outcome


def dask_setup(worker: Worker) -> None:
    worker.extensions[EXECUTOR] = MockGuests()
