# SPDX-License-Identifier: BSD-3-Clause
"""The findings of a crash test: violations, and the states explored under each operation."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .journal import Journal, Kind
from .states import Counts, State, points_among

ID_DIGITS = 12  # hex digits of the image's hash
MEASURED = re.compile(r"^measured ([a-z][a-z0-9_]*) ([0-9]+)$", re.MULTILINE)  # a line of the check's output


@dataclass(frozen=True)
class Detail:
    """The verdict of recovery, check and oracle on a state."""

    outcome: str  # ok; differs; or failed, panic, timeout, lost: the outcome of the guest
    said: str  # one line
    text: str  # many lines


@dataclass(frozen=True)
class Violation:
    """A state on which recovery or check failed, or that the oracle does not allow.

    Attributes:
        state: Name of the state, for `testbed crash --state`.
        mark: Last mark that was passed; 0 before the first.
        lost: Device number and address in bytes of each 64-byte line that lacks its newest content.
        stores: Code of the lost stores, in the order of the run.
        outcome: "differs"; or "failed", "panic", "timeout" or "lost", the outcome of the guest.
        said: Reason, in one line.
        cut: Code at which the power was cut, before it has any effect.
        text: Output of recovery and check.
        pcs: Instruction addresses of the lost stores.
        cut_pc: Instruction address of `cut`.
    """

    state: str
    mark: int
    lost: tuple[tuple[int, int], ...]
    stores: tuple[str, ...]
    outcome: str
    said: str
    cut: str = ""
    text: str = ""
    pcs: tuple[int, ...] = ()
    cut_pc: int = 0

    def as_data(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("pcs", "cut_pc")}


@dataclass(frozen=True)
class Operation:
    """The operation under way after a mark, and the extent of its exploration.

    Attributes:
        mark: Mark that the program passed before the operation.
        name: Name of the operation; empty if unknown.
        points: Number of instants at which the power was cut.
        states: Number of states at these instants.
        images: Number of distinct images that no earlier operation had.
        violations: Number of bad states.
    """

    mark: int
    name: str
    points: int
    states: int
    images: int
    violations: int


@dataclass(frozen=True)
class Measured:
    """A number that recovery and check printed for states without a violation, and its distribution over them."""

    name: str
    states: int
    least: int
    half: int  # half of the states do not exceed this number
    nine_tenths: int
    most: int


@dataclass(frozen=True)
class Report:
    """The report of a crash test.

    Attributes:
        counts: Numbers of points, states and images of the whole test.
        violations: Bad states; empty if the test passes.
        operations: One entry for each mark, in the order of the run.
        measured: Distributions of the numbers that recovery and check printed.
    """

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
        """Return the violation with the fewest lost lines for each mark and set of stores, fewest lost lines first."""
        found: dict[tuple[int, tuple[str, ...]], Violation] = {}
        for violation in sorted(self.violations, key=lambda v: len(v.lost)):
            found.setdefault((violation.mark, violation.stores), violation)
        return list(found.values())

    def name_of(self, mark: int) -> str:
        """Return the name of the operation after the mark; empty if unknown."""
        return next((operation.name for operation in self.operations if operation.mark == mark), "")


def state_id(state: State) -> str:
    """Name a state by mark and image: the name is the same in every run of an unchanged manifest."""
    return f"{state.point.mark or 0}-{state.digest.hex()[:ID_DIGITS]}"


def measured(details: Iterable[Detail]) -> list[Measured]:
    """Collect numbers by name, from states without a violation: on other states recovery may not have finished."""
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
    """Return the operations by mark, in the order of the run. At the point behind the last mark, none is under way."""
    marks = run.records.of_kind(Kind.MARK)
    points: dict[int, int] = {}
    for before, after in itertools.pairwise(marks):
        mark = run.records[before].value
        points[mark] = points.get(mark, 0) + points_among(run, range(before + 1, after + 1))
    last = run.records[marks[-1]].value
    points[last] = points.get(last, 0) + 1
    found, seen = [], set[bytes]()
    for number, at in enumerate(points):
        its = [state for state in states if state.point.mark == at]
        images = {state.digest for state in its} - seen
        seen |= images
        bad = sum(violation.mark == at for violation in violations)
        name = names[number] if number < len(names) else f"after mark {at}"
        found.append(Operation(at, name, points[at], len(its), len(images), bad))
    return found
