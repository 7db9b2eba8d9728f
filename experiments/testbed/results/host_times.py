# SPDX-License-Identifier: BSD-3-Clause
"""Host times of runs, stored beside the results and in no result. Estimates for later runs are made from them."""

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from statistics import mean

from ..manifest.render import Run


class HostTimes:
    """The last host time of each run, by its manifest, scale and point. Losing the file costs estimates only."""

    def __init__(self, root: Path) -> None:
        self._path = root / "host-times.jsonl"
        self._seconds: dict[tuple[str, str], float] = {}
        self._means: dict[str, float | None] = {}
        with suppress(OSError, ValueError, KeyError):
            for line in self._path.read_text().splitlines():
                entry = json.loads(line)
                self._seconds[entry["manifest"], entry["run"]] = float(entry["seconds"])

    def note(self, run: Run, seconds: float) -> None:
        """Record how long a run took."""
        self._seconds[_name(run)] = seconds
        self._means.clear()
        manifest, point = _name(run)
        line = json.dumps({"manifest": manifest, "run": point, "seconds": round(seconds, 1)})
        with suppress(OSError), self._path.open("a") as file:
            file.write(line + "\n")

    def guess(self, run: Run) -> float | None:
        """Estimate a run: its last time, else the mean of its manifest at this scale, else the mean of all runs."""
        name = _name(run)
        if name in self._seconds:
            return self._seconds[name]
        if name[0] not in self._means:
            self._means[name[0]] = self._mean(name[0])
        return self._means[name[0]]

    def _mean(self, manifest: str) -> float | None:
        alike = [seconds for (of, _), seconds in self._seconds.items() if of == manifest]
        known = alike or list(self._seconds.values())
        return mean(known) if known else None

    def guess_all(self, runs: Iterable[Run]) -> float | None:
        """Return the sum of the estimates; None if no times are known."""
        guesses = [self.guess(run) for run in runs]
        return sum(guess for guess in guesses if guess is not None) if None not in guesses else None


def _name(run: Run) -> tuple[str, str]:
    return f"{run.manifest} 1/{run.scale}", run.label


def show(seconds: float) -> str:
    """Format a span of host time for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
