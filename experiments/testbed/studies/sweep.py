# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps: every point of a manifest's matrix on every device configuration of its grid, with one capture for a point.

A point runs once in a guest, with its trace kept beside its result; the grid is then replayed on all cores. Each replay
is stored as soon as it exists, under the hash of its inputs (the trace, the replayer, the device), so an interrupted
sweep resumes where it stopped.
"""

import asyncio
import csv
import hashlib
import io
import itertools
import os
import re
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .. import canonical, outputs
from ..build.components import console
from ..errors import RunFailed, TestbedError
from ..guest.executor import GuestOutcome
from ..guest.session import Session, open_session
from ..manifest import profiles
from ..manifest.parse import Manifest
from ..manifest.render import Run
from ..paths import results_root
from ..replay import verdicts
from ..replay.grid import Configuration, capture_runs
from ..replay.replayer import Replayer, open_replayer
from ..results import results
from ..results.host_times import HostTimes
from ..run.errand import Errand
from ..run.progress import ProgressBar, Reporter
from ..run.runner import Failure, check_before, drive, keep_failure, open_fleet, raise_failures

if TYPE_CHECKING:
    from ..run.fleet import Fleet

FORMAT = 1
CHUNK = 8  # configurations of one process, which share one decoding of the trace


@dataclass(frozen=True)
class Replayed:
    """One configuration's replay of one point, as its file states it."""

    point: str
    values: dict[str, Any]
    data: dict[str, Any]

    @property
    def roi_ps(self) -> int:
        """The length of the last region of interest."""
        return int(self._last["end-ps"]) - int(self._last["begin-ps"])

    @property
    def captured_ps(self) -> int:
        return int(self._last["captured-end-ps"]) - int(self._last["captured-begin-ps"])

    @property
    def counters(self) -> dict[str, int]:
        return dict(self._last["counters"])

    @property
    def hit_rate(self) -> float:
        hits, misses = self.counters["cache-hits"], self.counters["cache-misses"]
        return hits / (hits + misses) if hits + misses else 1.0

    @property
    def _last(self) -> dict[str, Any]:
        return dict([region for region in self.data["regions"] if region["whole"]][-1])

    def row(self) -> dict[str, Any]:
        """The row for JSON and CSV: first the parameters, then the measurements."""
        counters = {k.replace("-", "_"): v for k, v in self.counters.items()}
        return {
            "point": self.point,
            **self.values,
            "roi_ps": self.roi_ps,
            "hit_rate": round(self.hit_rate, 6),
        } | counters


# ---- Captures ----


def trace_path(root: Path, run: Run, keys: dict[str, str]) -> Path:
    """Return the path of a run's trace, beside its result."""
    return results.path_for(root, run, keys).with_suffix(".trace")


async def capture_all(
    runs: list[Run],
    session: Session,
    root: Path,
    reporter: Reporter,
) -> list[Path]:
    """Return every run's trace in order: found if it exists, else captured now, on this host, with the run's result."""
    paths = [trace_path(root, run, session.keys) for run in runs]
    missing = [(run, path) for run, path in zip(runs, paths, strict=True) if not path.exists()]
    for run, path in zip(runs, paths, strict=True):
        if (run, path) not in missing:
            reporter.finish(run, "ok", cached=True)
    failures = check_before([run for run, _ in missing], session, root) if missing else []
    missing = [(run, path) for run, path in missing if all(run is not failure.run for failure in failures)]
    if missing:
        async with open_fleet(replace(session, scheduler=None), reporter) as fleet:
            await fleet.check(Errand.of(run) for run, _ in missing)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(_capture(run, session.keys, fleet, path, reporter)) for run, path in missing]
        failures += [failure for task in tasks if (failure := task.result())]
    raise_failures(failures, len(runs))
    return paths


async def _capture(run: Run, keys: dict[str, str], fleet: "Fleet", path: Path, reporter: Reporter) -> Failure | None:
    """Run once with a trace, which gets its name when it is whole. Return the failure, if any."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = outputs.beside(path)
    result = path.with_suffix(".json")
    try:
        outcome = await fleet.run(Errand.of(run, partial), lambda: reporter.start(run))
        reporter.finish(run, outcome.outcome, cached=False)
        if outcome.outcome == "ok" and not partial.exists():
            outcome = replace(outcome, outcome="lost", error="QEMU wrote no trace")
        if outcome.outcome != "ok":
            when = f"{outcome.outcome} while its trace was captured"
            return Failure(run, when, outcome.error, keep_failure(result, outcome))
        results.store(result, run, keys, results.guest_data(outcome))
        partial.replace(path)
        return None
    except RunFailed as error:  # only this run fails: the others go on
        return Failure(run, "lost", str(error), keep_failure(result, GuestOutcome(error=str(error))))
    finally:
        partial.unlink(missing_ok=True)


# ---- Replays ----


class Watcher(Protocol):
    """Receives the number of finished replays; `cached` replays existed before the sweep."""

    def replayed(self, count: int, cached: bool) -> None: ...


@dataclass(frozen=True)
class Point:
    """A trace to replay the grid on: the label of its run, and the identity that enters its replays' hashes."""

    label: str
    trace: Path
    identity: Any


def points_of(runs: list[Run], keys: dict[str, str], traces: list[Path]) -> list[Point]:
    return [Point(r.label, t, results.identity(r, keys)) for r, t in zip(runs, traces, strict=True)]


def point_of_file(trace: Path) -> Point:
    """Return the point of a user's trace, which its bytes identify. TestbedError: the file cannot be read."""
    try:
        with trace.open("rb") as file:
            return Point(trace.stem, trace, hashlib.file_digest(file, "sha256").hexdigest())
    except OSError as error:
        raise TestbedError(f"cannot read {trace}: {error.strerror}") from error


def replay_path(folder: Path, point: Point, configuration: Configuration, replayer: Replayer) -> Path:
    """Return the path of a replay, named by the hash of everything that can influence the replay."""
    identity = {
        "format": FORMAT,
        "trace": point.identity,
        "replayer": replayer.key,
        "device": profiles.as_data(configuration.device),
        "changed": sorted(configuration.values),
    }
    return outputs.within(folder, "replays", point.label, f"-{canonical.digest(identity)[:16]}.replay")


async def replay_all(
    points: Sequence[Point],
    grid: Sequence[Configuration],
    replayer: Replayer,
    folder: Path,
    progress: Watcher,
    at_once: int | None = None,
) -> list[Replayed]:
    """Return the replay of every point on every configuration, in order: found if it exists, else made now."""
    slots = asyncio.Semaphore(at_once or os.cpu_count() or 1)

    async def chunk(point: Point, configurations: Sequence[Configuration]) -> None:
        async with slots, aclosing(replayer.run(point.trace, [c.assignments for c in configurations])) as lines:
            async for data in lines:
                configuration = configurations[data.pop("index")]
                _store(replay_path(folder, point, configuration, replayer), point, configuration, data)
                progress.replayed(1, cached=False)

    async with asyncio.TaskGroup() as group:
        for point in points:
            missing = [c for c in grid if not replay_path(folder, point, c, replayer).exists()]
            progress.replayed(len(grid) - len(missing), cached=True)
            for first in range(0, len(missing), CHUNK):
                group.create_task(chunk(point, missing[first : first + CHUNK]))
    return [_load(replay_path(folder, point, c, replayer), point, c) for point in points for c in grid]


def check_all(points: Sequence[Point], grid: Sequence[Configuration], replayer: Replayer, origin: Path) -> None:
    """Check that the model accepts every configuration, before hours are spent on some."""
    for point in points:
        try:
            replayer.check(point.trace, [c.assignments for c in grid])
        except TestbedError as error:
            raise type(error)(f"{origin}: {_name_line(str(error), grid)}") from error


def _name_line(message: str, grid: Sequence[Configuration]) -> str:
    """Replace a line number of memsys-replay's input, in its message, by the configuration's values."""
    match = re.match(r"-: line (\d+): (.*)", message)
    return f"replay.grid at {grid[int(match[1]) - 1].label}: {match[2]}" if match else message


def _store(path: Path, point: Point, configuration: Configuration, data: dict[str, Any]) -> None:
    if not any(region["whole"] for region in data["regions"]):
        raise RunFailed(f"{point.trace} holds no whole region of interest; mark one in the program (testbed_roi.h)")
    whole = {"point": point.label, "values": configuration.values, "replay": data}
    outputs.write(path, canonical.dumps(whole | {"checksum": canonical.digest(whole)}))


def _load(path: Path, point: Point, configuration: Configuration) -> Replayed:
    return Replayed(point.label, configuration.values, results.load(path).data["replay"])


# ---- Tables ----


def csv_text(rows: Sequence[Replayed]) -> str:
    """Return all rows as CSV, for other programs."""
    out = io.StringIO()
    data = [row.row() for row in rows]
    writer = csv.DictWriter(out, list(data[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(data)
    return out.getvalue()


def summary(rows: Sequence[Replayed]) -> list[tuple[str, str, Replayed]]:
    """Return the fastest, the middle and the slowest configuration of each point."""
    found = []
    for point, group in itertools.groupby(rows, key=lambda row: row.point):
        ranked = sorted(group, key=lambda row: row.roi_ps)
        picks = {"best": ranked[0], "median": ranked[len(ranked) // 2], "worst": ranked[-1]}
        found += [(point, name, row) for name, row in picks.items()]
    return found


# ---- The whole sweep ----


def run_sweep(stated: Manifest, grid: list[Configuration], trace: Path | None) -> list[Replayed]:
    """Make missing captures and missing replays, return all replays. Ctrl-C loses nothing that is finished."""
    replayer, folder = open_replayer(), results_root() / outputs.plain_name(stated.name)
    verdicts.check_grid(stated, grid, replayer)
    points = [point_of_file(trace)] if trace else _captured(stated)
    check_all(points, grid, replayer, stated.origin)
    with ReplayBar(len(points) * len(grid), f"{stated.origin.stem}: replays") as bar:
        return drive(replay_all(points, grid, replayer, folder, bar))


def _captured(stated: Manifest) -> list[Point]:
    runs = capture_runs(stated)
    session = open_session()
    with ProgressBar(runs, f"{stated.origin.stem}: captures", HostTimes(results_root())) as bar:
        traces = drive(capture_all(runs, session, results_root(), bar))
    return points_of(runs, session.keys, traces)


class ReplayBar:
    """A bar on a terminal; a line at the end elsewhere. Replays that existed before do not count into the speed."""

    def __init__(self, total: int, title: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._progress.add_task(title, total=total)
        self._made = 0
        self._started = time.monotonic()

    def __enter__(self) -> "ReplayBar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
        seconds = time.monotonic() - self._started
        console.print(f"{self._made} configurations replayed in {seconds:.1f} s")

    def replayed(self, count: int, cached: bool) -> None:
        self._made += 0 if cached else count
        self._progress.advance(self._task, count)
