# SPDX-License-Identifier: BSD-3-Clause
"""Oracles that need no check: the dump of a state is compared with dumps of the workload stopped at its marks.

The *reference* of a mark is the dump of a program that was killed at the mark, in a guest that then shut down cleanly.
All data that the program had stored or passed to the kernel is therefore in the reference, durable or not.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from .journal import Journal, Kind

DETAIL_LINES = 40  # shown of a difference or a console
STOPPED = 128 + 9  # a shell's exit status for a program that SIGKILL ended


def passed(run: Journal) -> list[int]:
    """Return the marks of a workload, in the order of the run."""
    return [run.records[index].value for index in run.records.of_kind(Kind.MARK)]


@dataclass(frozen=True)
class References:
    """The dump at each mark, in the order of the run. If `prefix`, a state may equal the dump of any earlier mark."""

    dumps: Mapping[int, bytes]
    prefix: bool = False

    def allowed(self, mark: int) -> list[int]:
        """Return the marks with dumps that a state after `mark` may have: the next mark ends the current operation."""
        marks = list(self.dumps)
        at = marks.index(mark)
        return marks[0 if self.prefix else at : at + 2]

    def fault(self, mark: int, dump: bytes) -> str:
        """Return the difference from the most similar allowed dump; empty if one is equal."""
        allowed = self.allowed(mark)
        if any(self.dumps[number] == dump for number in allowed):
            return ""
        return min((self._difference(number, dump) for number in allowed), key=lambda text: text.count("\n"))

    def _difference(self, mark: int, dump: bytes) -> str:
        before, after = (text.decode(errors="replace").splitlines() for text in (self.dumps[mark], dump))
        lines = list(difflib.unified_diff(before, after, f"at mark {mark}", "after the power cut", lineterm="", n=0))
        more = [f"... {len(lines) - DETAIL_LINES} lines more"] if len(lines) > DETAIL_LINES else []
        return "\n".join([*lines[:DETAIL_LINES], *more]) + "\n"


def first_change(difference: str) -> str:
    """Return the first line of a difference that is present but not allowed, else the first line that is missing."""
    lines = [line for line in difference.splitlines() if not line.startswith(("---", "+++", "@@"))]
    return next((line for line in lines if line.startswith("+")), lines[0] if lines else "")


def stopped_at(workload: str, mark: int) -> str:
    """Return shell lines that run the workload until it passes the mark, at which all its processes are killed."""
    return f"""set -m
(
export CRASH_STOP={mark}
{workload}
) &
status=0
wait $! || status=$?
[ "$status" = {STOPPED} ] || {{ echo "it ended with status $status and was not stopped at mark {mark}" >&2; exit 1; }}
"""
