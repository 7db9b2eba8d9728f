# SPDX-License-Identifier: BSD-3-Clause
"""Where the time of a run went, as the model's counters of stalls tell: shares that add up to all of it.

A load that the CPU waits for is counted where its line came from. One that runs beside others is not, as the CPU
waits for the oldest of several: what it then waits for is a share of its own. Instructions have all the rest: their
own time, that of those that serialise, and what an idle guest slept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BAR_CELLS = 30


@dataclass(frozen=True)
class Place:
    """Where time goes, the letter of it in a bar, and the counter; the first has what the others leave."""

    name: str
    letter: str
    counter: str


PLACES = (
    Place("instructions", "i", ""),
    Place("L2 and LLC", "c", "stall-cache-ps"),
    Place("local DRAM", "d", "stall-dram-ps"),
    Place("device-cache hits", "h", "stall-cxl-hit-ps"),
    Place("device-cache misses: flash", "f", "stall-cxl-miss-ps"),
    Place("loads side by side", "s", "stall-overlap-ps"),
    Place("store buffer full", "b", "stall-store-ps"),
    Place("fences and flushes", "w", "stall-fence-ps"),
)


@dataclass(frozen=True)
class Share:
    """What one place has, in ps of virtual time, and of how much in all."""

    place: Place
    time_ps: int
    of_ps: int

    @property
    def percent(self) -> float:
        return 100 * self.time_ps / self.of_ps if self.of_ps else 0.0

    @property
    def bar(self) -> str:
        return "█" * round(BAR_CELLS * self.percent / 100)


def shares(rois: Sequence[Mapping[str, Any]]) -> list[Share]:
    """Those of all regions of interest together, in the order of PLACES, those with no time too."""
    of_ps = sum(roi["end-ps"] - roi["begin-ps"] for roi in rois)
    stalls = [sum(roi["counters"].get(place.counter, 0) for roi in rois) for place in PLACES[1:]]
    times = (of_ps - sum(stalls), *stalls)
    return [Share(place, time_ps, of_ps) for place, time_ps in zip(PLACES, times, strict=True)]


def bar(found: Sequence[Share]) -> str:
    """All of the time as BAR_CELLS letters: a place has those whose end lies in its part."""
    letters, end = "", 0.0
    for share in found:
        end += share.percent
        letters += share.place.letter * (round(BAR_CELLS * end / 100) - len(letters))
    return letters


def legend(every: Sequence[Sequence[Share]]) -> str:
    """What the letters of these bars mean."""
    used = [place for place in PLACES if any(place.letter in bar(found) for found in every)]
    return ", ".join(f"{place.letter} {place.name}" for place in used)
