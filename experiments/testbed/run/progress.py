# SPDX-License-Identifier: BSD-3-Clause
"""The display of progress while runs are made: a bar on a terminal, plain lines elsewhere, and the time left."""

import time
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..build.components import console
from ..manifest.render import Run
from ..results import host_times
from ..results.host_times import HostTimes


class Reporter(Protocol):
    """Receives the start and the end of every run; the progress bar implements it."""

    def start(self, run: Run) -> None: ...
    def finish(self, run: Run, outcome: str, cached: bool) -> None: ...
    def say(self, text: str) -> None: ...


class ProgressBar:
    """A bar on a terminal; plain lines elsewhere."""

    def __init__(self, runs: list[Run], title: str, times: HostTimes) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        left = TextColumn("{task.fields[left]}")
        self._progress = Progress(*columns, left, console=console, disable=not console.is_terminal)
        self._task = self._progress.add_task(title, total=len(runs), left="")
        self._title, self._times = title, times
        self._waiting = {id(run): run for run in runs}
        self._running: dict[int, tuple[Run, float]] = {}
        self._most_at_once = 1

    def __enter__(self) -> "ProgressBar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def start(self, run: Run) -> None:
        self._waiting.pop(id(run), None)
        self._running[id(run)] = run, time.monotonic()
        self._most_at_once = max(self._most_at_once, len(self._running))
        self._show()

    def finish(self, run: Run, outcome: str, cached: bool) -> None:
        self._waiting.pop(id(run), None)
        _, started = self._running.pop(id(run), (run, None))
        if outcome == "ok" and started is not None:
            self._times.note(run, time.monotonic() - started)
        self._progress.advance(self._task)
        self._show()
        if outcome != "ok" or (not console.is_terminal and not cached):
            left = self._left()
            self.say(f"{_name(run)}: {outcome}{f' ({left})' if left else ''}")

    def say(self, text: str) -> None:
        console.print(text, soft_wrap=True, markup=False, highlight=False)

    def _left(self) -> str:
        """The time left, by earlier times of these or other runs; empty if no time is known or no run is left."""
        to_do = self._times.guess_all([*self._waiting.values(), *(run for run, _ in self._running.values())])
        if to_do is None or not (self._waiting or self._running):
            return ""
        now = time.monotonic()
        done = sum(min(now - start, self._times.guess(run) or 0) for run, start in self._running.values())
        return f"about {host_times.show((to_do - done) / self._most_at_once)} left"

    def _show(self) -> None:
        running = ", ".join(_name(run) for run, _ in self._running.values())
        self._progress.update(self._task, description=running or self._title, left=self._left())


def _name(run: Run) -> str:
    return f"{run.manifest} {run.title}"
