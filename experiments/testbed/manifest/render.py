# SPDX-License-Identifier: BSD-3-Clause
"""Fourth step: every point of a manifest becomes a run, a machine and the job that it runs."""

import itertools
import math
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..build import workloads
from ..errors import TestbedError
from ..program import files_back
from ..program.bundle import pack
from ..program.job_archive import Job, command_job
from ..validation import named
from . import parse, resolve, scale
from .guest_config import FullSize, GuestConfig
from .parse import Axis, Manifest, Point
from .templates import fill

SEVERAL_OPTIONS = re.compile(r"-[^=\s]*\s|-.*\s-")  # matches "-n 4" and "--a=1 --b=2", but not "--text=one two"
POINTS_MAX = 10**6  # checking a million points takes a minute


@dataclass(frozen=True, kw_only=True)
class Run:
    """One point of a manifest's matrix: one guest."""

    manifest: str
    scale: int
    point: Point
    argv: tuple[str, ...]
    guest: GuestConfig
    full: FullSize = field(compare=False)  # the machine before it is scaled, for messages
    program: Job | None = None  # the job of a manifest with a [program] or files to bring back
    origin: str = field(default="", compare=False)  # the manifest's file, for messages

    @property
    def label(self) -> str:
        return "-".join(str(value) for value in self.point.values()) or "run"

    @property
    def title(self) -> str:
        """The label for people, with a seed that is not 0, which distinguishes the runs of one point."""
        return f"{self.label} seed {seed}" if (seed := self.guest.cpu.seed) else self.label

    @property
    def workloads(self) -> tuple[str, ...]:
        """The workloads with programs in the guest, sorted by name."""
        named = self.program.all_workloads if self.program else workloads.named_in(shlex.join(self.argv))
        return tuple(sorted({*self.guest.workloads, *named}))

    @property
    def job(self) -> Job:
        """The job that the guest runs."""
        return self.program or command_job(self.argv)


def runs(path: Path, scale: int | None = None) -> list[Run]:
    """Every run of the manifest in `path`, in the order of its matrix, at its own scale or at 1/`scale`."""
    return list(Runs(parse.load(path, scale)))


def with_seeds(runs: Sequence[Run], count: int) -> list[Run]:
    """Each of the runs with the seeds from 0 to `count` - 1; runs that share a machine still share it for each seed."""
    machines: dict[tuple[int, int], GuestConfig] = {}

    def seeded(guest: GuestConfig, seed: int) -> GuestConfig:
        return machines.setdefault((id(guest), seed), replace(guest, cpu=replace(guest.cpu, seed=seed)))

    return [
        replace(run, guest=seeded(run.guest, seed), full=FullSize(seeded(run.full, seed)))
        for run in runs
        for seed in range(count)
    ]


class Runs(Collection[Run]):
    """The runs of a manifest. Each run is made when it is asked for, so that a million of them take no memory.

    The constructor finds all faults of machines and values. Runs with equal machines share one object.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._points = math.prod(len(values) for values in manifest.matrix.values())
        if self._points > POINTS_MAX:
            many = f"it has {self._points:,} points, and there may be {POINTS_MAX:,}"
            fix = "leave out values, or make several manifests"
            raise TestbedError(f"{manifest.origin}: key 'matrix': {many}; {fix}")
        self._bundle = pack(manifest.program, manifest.origin) if manifest.program else None
        self._machine_axes = resolve.machine_axes(manifest)
        self._machines: dict[tuple[str | int, ...], tuple[FullSize, GuestConfig]] = {}
        self._check()

    def __len__(self) -> int:
        return self._points

    def __contains__(self, run: object) -> bool:
        return any(one == run for one in self)

    def __iter__(self) -> Iterator[Run]:
        return map(self._at, _points(self._manifest.matrix))

    def _at(self, point: Point) -> Run:
        manifest, (full, guest) = self._manifest, self._machine(point)
        argv, program = self._command(point, guest)
        return Run(
            manifest=manifest.name,
            scale=manifest.scale,
            point=point,
            argv=argv,
            guest=guest,
            full=full,
            program=program,
            origin=str(manifest.origin),
        )

    def _machine(self, point: Point) -> tuple[FullSize, GuestConfig]:
        """The machine of a point, at full size and as scaled."""
        which = tuple(point[axis] for axis in self._machine_axes)
        if which not in self._machines:
            self._machines[which] = scale.machines(self._manifest, point)
        return self._machines[which]

    def _command(self, point: Point, guest: GuestConfig) -> tuple[tuple[str, ...], Job | None]:
        """The words of the command, and the job of a manifest with a [program] or files to bring back."""
        manifest, names = self._manifest, _names(self._manifest, point, guest)
        argv = _words(manifest.workload.command, names, manifest.origin)
        program = None
        if manifest.program and self._bundle:
            setup = fill(manifest.program.setup, names, "program.setup", manifest.origin)
            finish = fill(manifest.program.finish, names, "program.finish", manifest.origin)
            program = self._bundle.job(argv, setup, finish)
        if manifest.results.files:
            program = files_back.job(program or command_job(argv), manifest.results.files)
        return argv, program

    def _check(self) -> None:
        """Make every machine, and a run for every value of every axis, so that their faults are found here."""
        first, matrix = self._manifest.first_point, self._manifest.matrix
        self._at(first)
        for own in _points({axis: matrix[axis] for axis in self._machine_axes}):
            self._machine(first | own)
        for axis, values in matrix.items():
            for value in values:
                self._at(first | {axis: value})
                _check_word(self._manifest, axis, value)


def _points(matrix: Mapping[str, Axis]) -> Iterator[Point]:
    """Every combination of the values, in order."""
    return (dict(zip(matrix, values, strict=True)) for values in itertools.product(*matrix.values()))


def _names(manifest: Manifest, point: Point, guest: GuestConfig) -> dict[str, Any]:
    """The values of {names} in a command."""
    machine = {
        "cpus": guest.cpu.cores,
        "l1d_size": guest.cpu.l1d_size,
        "llc_size": guest.cpu.llc_size,
        "cache_size": guest.device.cache_size,
        "cache_page_size": guest.device.cache_page_size,
    }
    return machine | scale.scaled_numbers(manifest, point) | manifest.workload.fixed | point


def _check_word(manifest: Manifest, axis: str, value: str | int) -> None:
    """Refuse a value with several options: a value is always one word of the command, so they would be one argument."""
    if f"{{{axis}}}" in _split(manifest.workload.command) and SEVERAL_OPTIONS.match(str(value)):
        remedy = "make an axis of each, or write the value without the options' names"
        what = f"'{value}' would be one word of the command; {remedy}"
        raise TestbedError(f"{manifest.origin}: key 'matrix.{axis}': {what}")


_split = lru_cache(maxsize=1024)(shlex.split)


def _words(command: str, names: dict[str, Any], origin: Path) -> tuple[str, ...]:
    with named(origin, "workload.command"):  # unclosed quotes
        words = _split(command)
    argv = tuple(fill(word, names, "workload.command", origin) for word in words)
    if not argv or not argv[0]:
        raise TestbedError(f"{origin}: key 'workload.command': it is empty; write a program and its arguments")
    return argv
