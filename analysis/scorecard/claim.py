# SPDX-License-Identifier: BSD-3-Clause
"""A claim without a number to divide by, and helpers for the rules about claims."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from testbed.results.results import Result

from ..data.tables import short
from ..figures import filework

OPTANE = filework.MEASURED
EQUAL = 1.1  # bound for "about equal" and "as before": the scorecard's narrowest bound
Results = Mapping[str, Sequence[Result]]


@dataclass(frozen=True)
class Claim:
    """A published statement in our words, and our measurement. `holds` is None if the statement cannot be judged."""

    system: str
    says: str
    ours: str
    holds: bool | None
    cause: str = ""

    def cells(self) -> list[str]:
        verdict = {True: "yes", False: "no", None: "-"}[self.holds]
        cause = self.cause if self.holds is False else ""
        return [self.system, self.says, verdict, self.ours, cause or ("not tested" if self.holds is False else "")]


def span(values: Iterable[float], digits: int = 2) -> str:
    """Format the range from the least to the most, as one number if both are equal."""
    ends = sorted(values)
    least, most = (f"{short(end, digits):g}" for end in (ends[0], ends[-1]))
    return least if least == most else f"{least} to {most}"
