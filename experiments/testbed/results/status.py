# SPDX-License-Identifier: BSD-3-Clause
"""The state of a manifest's runs: results, failures with their reason, and the time that the rest would take."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import TestbedError
from ..manifest.render import Run
from . import results
from .host_times import HostTimes, show

SHOWN_MAX = 1000  # runs shown in one table


@dataclass(frozen=True)
class State:
    """One run: `there`, `missing`, `damaged`, how it last failed, or why it cannot be made; and the file's path."""

    run: Run
    word: str
    path: Path
    seconds: float | None

    def cells(self) -> tuple[str, str, str, str]:
        takes = "" if self.word == "there" or self.seconds is None else show(self.seconds)
        return (self.run.title, self.word, takes, "" if self.word == "missing" else str(self.path))

    def as_data(self) -> dict[str, Any]:
        argv = list(self.run.argv)
        return {
            "manifest": self.run.manifest,
            "run": self.run.label,
            "seed": self.run.guest.cpu.seed,
            "argv": argv,
            "state": self.word,
            "path": str(self.path),
            "seconds": self.seconds,
        }


def states(runs: Collection[Run], keys: dict[str, str], root: Path, refused: Sequence[str] = ()) -> Iterator[State]:
    """Yield the state of every run without booting or building. `refused` gives for each why it cannot be made."""
    times, places, listed = HostTimes(root), results.Places(root, keys), dict[str, set[str]]()
    for run, why in zip(runs, refused or itertools.repeat("", len(runs)), strict=True):
        path = places.of(run)
        if run.manifest not in listed:  # list a folder once: for each of many runs this would take longest
            listed[run.manifest] = _names(path.parent)
        word, path = _state(path, listed[run.manifest])
        yield State(run, f"refused: {why}" if why and word != "there" else word, path, times.guess(run))


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def _state(path: Path, there: set[str]) -> tuple[str, Path]:
    """Return the state of the result with this path; `there` holds the names in its folder."""
    if path.name in there:
        try:
            results.load(path)
        except TestbedError:
            return "damaged", path
        return "there", path
    if f"{path.stem}.failed" in there:
        failed = path.with_suffix(".failed")
        outcome = failed / "outcome.txt"
        return f"failed: {outcome.read_text().strip() if outcome.exists() else 'unknown'}", failed
    return "missing", path


@dataclass
class Tally:
    """Counts over the states of many runs. Only the first SHOWN_MAX states are kept, for people to read."""

    first: list[State] = field(default_factory=list)
    refused: list[State] = field(default_factory=list)  # the first runs that cannot be made
    there: int = 0
    missing: int = 0
    failed: int = 0  # or damaged, or cannot be made
    refusals: int = 0
    seconds: float = 0.0  # estimated host time of the runs without a result, as far as known
    known: int = 0

    @staticmethod
    def of(found: Iterable[State]) -> "Tally":
        """Count all of these states."""
        tally = Tally()
        for state in found:
            tally.add(state)
        return tally

    @property
    def all(self) -> int:
        return self.there + self.missing + self.failed

    def add(self, state: State) -> None:
        _keep(self.first, state)
        if state.word == "there":
            self.there += 1
            return
        if state.word.startswith("refused: "):
            self.refusals += 1
            _keep(self.refused, state)
        self.missing += state.word == "missing"
        self.failed += state.word != "missing"
        if state.seconds is not None:
            self.seconds, self.known = self.seconds + state.seconds, self.known + 1

    def summary(self, at_once: int) -> str:
        """Return one line: how many results exist, and how long the rest takes with `at_once` guests at a time."""
        to_run = self.missing + self.failed
        text = f"{self.there} of {self.all} are there (hits), {to_run} to run (misses)"
        if to_run and self.known == to_run:
            text += f", about {show(self.seconds / at_once)} at {at_once} guests a time"
        return text

    def counts(self) -> tuple[int, int, int]:
        """Return how many are there, how many are missing, and how many failed, are damaged or cannot be made."""
        return self.there, self.missing, self.failed


def _keep(kept: list[State], state: State) -> None:
    if len(kept) < SHOWN_MAX:
        kept.append(state)
