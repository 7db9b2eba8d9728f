# SPDX-License-Identifier: BSD-3-Clause
"""The counts of the crash tests that ship: experiments/crash/findings.csv, one line for each test.

`testbed crash TEST --update` writes the line of a test. The documents show the lines as a table, and a guest test makes
the counts again.
"""

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from .. import outputs
from ..errors import TestbedError
from ..paths import CRASH_TESTS
from .report import Report

FINDINGS = CRASH_TESTS / "findings.csv"
HEAD = (
    "# SPDX-License-Identifier: BSD-3-Clause\n"
    "# What each crash test found, by testbed crash TEST --update, with the builds of QEMU and image.\n"
)
EVERY = " --every"  # ends the name of a test whose states were all judged
KEY_DIGITS = 8  # of a build


@dataclass(frozen=True)
class Finding:
    """The counts of a whole test, and the keys of the builds that they are of."""

    states: int
    points: int
    points_in_part: int
    violations: int
    qemu: str
    image: str


def of_report(report: Report, builds: Mapping[str, str]) -> Finding:
    """Return the counts of a report; `builds` maps each component to its key."""
    counts, keys = report.counts, (builds[name][:KEY_DIGITS] for name in ("qemu", "base"))
    return Finding(counts.states, counts.points, counts.points_in_part, len(report.violations), *keys)


def name_of(test: str, every: bool) -> str:
    """Return the name of a line: the test, and whether each state was judged."""
    return test + EVERY * every


def load(path: Path = FINDINGS) -> dict[str, Finding]:
    """Load the findings by name. Raises TestbedError for a line that is none."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise TestbedError(f"cannot read {path}: {error.strerror}; restore that file") from error
    rows = csv.reader(line for line in lines if not line.startswith("#"))
    if next(rows, None) != _columns():
        raise TestbedError(f"{path}: its columns are not {','.join(_columns())}; restore that file")
    return dict(_finding(path, row) for row in rows)


def _finding(path: Path, row: list[str]) -> tuple[str, Finding]:
    try:
        name, *counts, qemu, image = row
        states, points, in_part, violations = map(int, counts)
    except ValueError as error:
        raise TestbedError(f"{path}: '{','.join(row)}' is not {','.join(_columns())}; restore that line") from error
    return name, Finding(states, points, in_part, violations, qemu, image)


def save(findings: Mapping[str, Finding], path: Path = FINDINGS) -> None:
    """Write the findings in the order of their names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_columns())
    writer.writerows([name, *asdict(finding).values()] for name, finding in sorted(findings.items()))
    outputs.write(path, HEAD + text.getvalue())


def update(name: str, finding: Finding, path: Path = FINDINGS) -> None:
    """Write one line, and keep the others."""
    save(load(path) | {name: finding}, path)


def _columns() -> list[str]:
    return ["test", *(field.name for field in fields(Finding))]
