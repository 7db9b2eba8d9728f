# SPDX-License-Identifier: BSD-3-Clause
"""What of a manifest is there: results, failures with their reason, and what the rest would take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import TestbedError
from ..manifest.manifest import Run
from . import results
from .host_times import HostTimes, show


@dataclass(frozen=True)
class State:
    """One run: `there`, `missing`, `damaged`, how it failed the last time, or why it cannot be; and where that is."""

    run: Run
    word: str
    path: Path
    seconds: float | None

    def cells(self) -> tuple[str, str, str, str]:
        takes = "" if self.word == "there" or self.seconds is None else show(self.seconds)
        return (self.run.label, self.word, takes, "" if self.word == "missing" else str(self.path))

    def as_data(self) -> dict[str, Any]:
        argv = list(self.run.argv)
        return {
            "manifest": self.run.manifest,
            "run": self.run.label,
            "argv": argv,
            "state": self.word,
            "path": str(self.path),
            "seconds": self.seconds,
        }


def states(runs: list[Run], keys: dict[str, str], root: Path, refused: Sequence[str] = ()) -> list[State]:
    """The state of every run; nothing is booted or built. `refused` says of each why it cannot be."""
    times = HostTimes(root)
    found = [State(run, *_state(results.path_for(root, run, keys)), times.guess(run)) for run in runs]
    said = refused or [""] * len(runs)
    return [
        replace(state, word=f"refused: {why}") if why and state.word != "there" else state
        for state, why in zip(found, said, strict=True)
    ]


def _state(path: Path) -> tuple[str, Path]:
    if path.exists():
        try:
            results.load(path)
        except TestbedError:
            return "damaged", path
        return "there", path
    failed = path.with_suffix(".failed")
    if failed.is_dir():
        outcome = failed / "outcome.txt"
        return f"failed: {outcome.read_text().strip() if outcome.exists() else 'unknown'}", failed
    return "missing", path


def summary(found: list[State], at_once: int) -> str:
    """One line: how much is there, and what the rest takes if so many guests run at a time."""
    to_run = [state for state in found if state.word != "there"]
    known = [state.seconds for state in to_run if state.seconds is not None]
    text = f"{len(found) - len(to_run)} of {len(found)} are there (hits), {len(to_run)} to run (misses)"
    if to_run and len(known) == len(to_run):
        text += f", about {show(sum(known) / at_once)} at {at_once} guests a time"
    return text


def counts(found: list[State]) -> tuple[int, int, int]:
    """How many are there, missing, and failed or damaged."""
    words = [state.word for state in found]
    there, missing = words.count("there"), words.count("missing")
    return there, missing, len(words) - there - missing
