# SPDX-License-Identifier: BSD-3-Clause
"""What a crash test has found: violations, and what was explored under which operation."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .journal import Journal, Kind
from .states import Counts, State, points_among

ID_DIGITS = 12  # of the image's hash
MEASURED = re.compile(r"^measured ([a-z][a-z0-9_]*) ([0-9]+)$", re.MULTILINE)  # a line of the check's


@dataclass(frozen=True)
class Detail:
    """What recovery, check and oracle say of a state."""

    outcome: str  # ok; differs; failed, panic, timeout and lost as of a guest
    said: str  # in a line
    text: str  # in many


@dataclass(frozen=True)
class Violation:
    """A state on which recovery or check failed, or that is another one than the oracle allows."""

    state: str  # its name
    mark: int  # the last that was passed; 0 if none
    lost: tuple[tuple[int, int], ...]  # device and address of each line that has not its newest bytes
    stores: tuple[str, ...]  # where these came from, in the order of the run
    outcome: str
    said: str
    cut: str = ""  # where the power was cut: just before this has any effect
    text: str = ""
    pcs: tuple[int, ...] = ()  # of the stores
    cut_pc: int = 0

    def as_data(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("pcs", "cut_pc")}


@dataclass(frozen=True)
class Operation:
    """What was under way after a mark, and what was explored of it."""

    mark: int
    name: str
    points: int
    states: int
    images: int  # distinct ones, of which no earlier operation had any
    violations: int


@dataclass(frozen=True)
class Measured:
    """A number that recovery and check said of states without a violation, and how it is distributed over these."""

    name: str
    states: int
    least: int
    half: int  # which so many of them do not exceed
    nine_tenths: int
    most: int


@dataclass(frozen=True)
class Report:
    counts: Counts
    violations: list[Violation] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        measured = {"measured": [asdict(number) for number in self.measured]} if self.measured else {}
        return {
            "counts": asdict(self.counts),
            "operations": [asdict(operation) for operation in self.operations],
            "violations": [violation.as_data() for violation in self.violations],
        } | measured

    def least(self) -> list[Violation]:
        """Of each mark and each set of stores the one that loses fewest lines; those that lose least come first."""
        found: dict[tuple[int, tuple[str, ...]], Violation] = {}
        for violation in sorted(self.violations, key=lambda v: len(v.lost)):
            found.setdefault((violation.mark, violation.stores), violation)
        return list(found.values())

    def name_of(self, mark: int) -> str:
        """Of the operation after the mark."""
        return next((operation.name for operation in self.operations if operation.mark == mark), "")


def state_id(state: State) -> str:
    """The same in every run of an unchanged manifest: the mark, and the image."""
    return f"{state.point.mark or 0}-{state.digest.hex()[:ID_DIGITS]}"


def measured(details: Iterable[Detail]) -> list[Measured]:
    """By name, of the states that are good: of others recovery may not have come to its end."""
    numbers: dict[str, list[int]] = {}
    for detail in details:
        for name, value in MEASURED.findall(detail.text) if detail.outcome == "ok" else ():
            numbers.setdefault(name, []).append(int(value))
    return [_distribution(name, sorted(values)) for name, values in sorted(numbers.items())]


def _distribution(name: str, values: Sequence[int]) -> Measured:
    half, nine_tenths = (values[-(-len(values) * tenths // 10) - 1] for tenths in (5, 9))
    return Measured(name, len(values), values[0], half, nine_tenths, values[-1])


def operations(
    run: Journal, states: Sequence[State], violations: Sequence[Violation], names: Sequence[str]
) -> list[Operation]:
    """By mark, in the order of the run. The last mark ends the last operation."""
    marks = run.records.of_kind(Kind.MARK)
    points: dict[int, int] = {}
    for before, after in itertools.pairwise(marks):
        mark = run.records[before].value
        points[mark] = points.get(mark, 0) + points_among(run, range(before + 1, after + 1))
    found, seen = [], set[bytes]()
    for number, at in enumerate(points):
        its = [state for state in states if state.point.mark == at]
        images = {state.digest for state in its} - seen
        seen |= images
        bad = sum(violation.mark == at for violation in violations)
        name = names[number] if number < len(names) else f"after mark {at}"
        found.append(Operation(at, name, points[at], len(its), len(images), bad))
    return found
