# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a crash test and its options, made into a campaign."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import scratch
from ..crash import plan as crash_plan
from ..crash.campaign import Campaign
from ..guest.kernel_images import check_is_here
from ..guest.session import Session
from ..manifest import bases
from ..paths import results_root
from ..replay import verdicts
from . import machine_options


@contextmanager
def campaign(
    plan: crash_plan.Plan,
    file: Path,
    seed: int | None,
    scheduler: str | None,
    jobs: int,
    every: bool,
    open_session: Callable[..., Session],
) -> Iterator[Campaign]:
    """The crash test with a seed; its programs exist while the context lasts."""
    own = machine_options.with_seed(plan.of_machine(), seed)
    guest = plan.guest(verdicts.machine_of(bases.find(plan.machine), own), file)
    with scratch.folder("programs") as folder:
        check_is_here(guest.kernel, scheduler)
        programs = crash_plan.programs(plan, file, folder)
        session = open_session(scheduler=scheduler)
        yield Campaign(plan, file, guest, programs, session, jobs, every, results_root())
