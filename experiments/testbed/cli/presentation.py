# SPDX-License-Identifier: BSD-3-Clause
"""The output of commands that measure or explore: the latency table, and the progress of a crash test."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rich.progress import Progress

from ..build.components import console as progress_console
from ..crash.campaign import Campaign, Found
from ..crash.report import Detail, Report
from ..guest.session import Session
from ..manifest import bases, parse
from ..manifest.render import Runs
from ..paths import results_root
from ..results import host_times
from ..run.runner import drive, run_with_bar
from ..studies import latency
from . import tables

PROGRESS_S = 10.0  # between two lines about the progress of a crash test


def measure_latency(session: Session, name: str = "latency") -> list[latency.Row]:
    """Run a manifest of the `latency` program; print its latency table and return the rows."""
    path = bases.find(name)
    stated = parse.load(path)
    parse.check_one_device(stated, "a table of latencies")
    runs = list(Runs(stated))
    result = run_with_bar(runs, session, results_root())[0]
    rows = latency.table(result, runs[0].guest)
    machine = f"{runs[0].guest.device.name}, {runs[0].guest.cpu.name}, caches at 1/{runs[0].scale}"
    tables.show_latency(rows, f"latency in the guest ({machine})")
    return rows


def time_left(done: int, points: int, spent_s: float) -> str:
    """The host time that a crash test still needs at its pace so far; empty before the first point and after the last.

    The estimate assumes that the rest of the points have as many states as the points so far.
    """
    return f", about {host_times.show(spent_s * (points - done) / done)} left" if 0 < done < points else ""


def run_campaign(campaign: Campaign, test: str) -> Report:
    """Run a campaign with a bar on a terminal, elsewhere a line every PROGRESS_S; Ctrl-C shows the findings so far.

    `test` is the name of the crash test in the user's command, for a suggested command.
    """
    name, begun_s = campaign.plan.name, time.monotonic()
    with Progress(console=progress_console, disable=not progress_console.is_terminal) as bar:
        task, said_s, latest = bar.add_task(name, total=None), time.monotonic(), ""

        def show(done: int, points: int, judged: int, violations: int) -> None:
            nonlocal said_s, latest
            latest = f"{done} of {points} points, {judged} states judged, {violations} violations"
            left = time_left(done, points, time.monotonic() - begun_s)
            bar.update(task, total=points, completed=done, description=f"{name}: {latest}{left}")
            if not progress_console.is_terminal and (done == points or time.monotonic() >= said_s + PROGRESS_S):
                said_s = time.monotonic()
                progress_console.print(f"{latest}{left}", soft_wrap=True)

        def tell(text: str) -> None:
            progress_console.print(text, soft_wrap=True, highlight=False)

        def interrupted(report: Report) -> None:
            bar.stop()
            tables.show_crash(report, f"{name} (interrupted)", test, campaign.guest.cpu.seed)
            tell(f"interrupted: {latest or 'no state judged yet'}; the same command goes on from there")

        return drive(replace(campaign, tell=tell, interrupted=interrupted).run(show))


def show_state(campaign: Campaign, wanted: str, at_shell: Callable[[Path], int] | None) -> Detail:
    """Judge one state again and show it; `at_shell` then opens a shell on the media that the power cut left."""
    judged: list[Detail] = []

    def use(found: Found, media: Path) -> None:
        tables.show_state(found, campaign.plan.name)
        if at_shell:
            at_shell(media)
        judged.append(found.detail)

    drive(campaign.one(wanted, use))
    return judged[0]
