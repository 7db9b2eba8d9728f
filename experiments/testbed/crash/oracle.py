# SPDX-License-Identifier: BSD-3-Clause
"""What is to hold after a power cut where no check says it: states are compared with those that the marks ended.

The *reference* of a mark is what the dump prints of a program that was killed there, in a guest that went on to its
clean end. So all that the program had stored, or had given to the kernel, is in it, durable or not.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from .journal import Journal, Kind

DETAIL_LINES = 40  # of a difference
STOPPED = 128 + 9  # what a shell says of a program that was killed


def passed(run: Journal) -> list[int]:
    """The marks of a workload, in the order of the run."""
    return [run.records[index].value for index in run.records.of_kind(Kind.MARK)]


@dataclass(frozen=True)
class References:
    """What the dump prints at each mark, in the order of the run, and how many before the cut a state may be."""

    dumps: Mapping[int, bytes]
    prefix: bool = False

    def allowed(self, mark: int) -> list[int]:
        """The marks whose dumps a state after this one may have: the next is the end of what was under way."""
        marks = list(self.dumps)
        at = marks.index(mark)
        return marks[0 if self.prefix else at : at + 2]

    def fault(self, mark: int, dump: bytes) -> str:
        """What differs from the allowed dump that is most alike; nothing if one is equal."""
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
    """Of a difference what is there and was not allowed, or what is missing."""
    lines = [line for line in difference.splitlines() if not line.startswith(("---", "+++", "@@"))]
    return next((line for line in lines if line.startswith("+")), lines[0] if lines else "")


def stopped_at(workload: str, mark: int) -> str:
    """Shell lines that run the workload until it passes the mark, where all its processes are killed."""
    return f"""set -m
(
export CRASH_STOP={mark}
{workload}
) &
status=0
wait $! || status=$?
[ "$status" = {STOPPED} ] || {{ echo "it ended with status $status and was not stopped at mark {mark}" >&2; exit 1; }}
"""
