# SPDX-License-Identifier: BSD-3-Clause
"""Copies of guests on a Dask cluster.

The initial media are not sent: each worker runs the setup itself, and a worker with different media as a result is left
out. Only states and verdicts travel over the network.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..guest.executor import GuestExecutor, GuestOutcome, GuestSpec
from ..guest.session import Session
from ..program.job_archive import Job
from ..run import fleet
from ..run.errand import Begin, Errand, media_digest


@dataclass(frozen=True)
class Spread:
    """A GuestExecutor that sends copies to workers, with room for `room` at a time, and runs other guests `here`."""

    here: GuestExecutor
    workers: fleet.Fleet
    room: int
    common: Errand
    setup: Job
    digests: dict[Path, str] = field(default_factory=dict)  # of the media folders that copies begin with

    async def run(self, spec: GuestSpec) -> GuestOutcome:
        if not spec.copy_of:
            return await self.here.run(spec)
        assert spec.media_folder
        if spec.media_folder not in self.digests:
            self.digests[spec.media_folder] = await asyncio.to_thread(media_digest, spec.media_folder)
        begin = Begin(self.setup, self.digests[spec.media_folder])
        errand = replace(self.common, spec=replace(spec, media_folder=None), begin=begin)
        return await self.workers.run(errand, lambda: None)


@asynccontextmanager
async def opened(
    session: Session, here: GuestExecutor, common: Errand, setup: Job, say: fleet.Say
) -> AsyncIterator[Spread]:
    """Connect to the cluster of the session's scheduler, for guests that are like the `common` one."""
    assert session.scheduler
    async with fleet.elsewhere(session.scheduler, session.keys, say) as workers:
        yield Spread(here, workers, await workers.check([common]), common, setup)
