# SPDX-License-Identifier: BSD-3-Clause
"""Where the time of a run went: shares of the time of all CPUs, which add up to all of it.

Each CPU has a clock of its own, and QEMU counts how far it advanced and how long the CPU was halted. The model counts
the stalls of each CPU. What is neither is the time of instructions, those that serialise among them. So the parts of
one CPU add up to its clock, and a mean over CPUs is the sum of their parts by the sum of their clocks: the stalls of
several CPUs never stand against one clock.

A load that the CPU waits for is counted where its line came from. One that runs beside others is not, as the CPU
waits for the oldest of several: that wait is a share of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import RunFailed

BAR_CELLS = 30
Roi = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """Where time goes, its letter in a bar, and its counter; the first place has the time that the others leave."""

    name: str
    letter: str
    counter: str


PLACES = (
    Place("instructions", "i", ""),
    Place("idle", "n", "idle-ps"),
    Place("L2, LLC, other CPUs", "c", "stall-cache-ps"),
    Place("local DRAM", "d", "stall-dram-ps"),
    Place("device-cache hits", "h", "stall-cxl-hit-ps"),
    Place("device-cache misses: flash", "f", "stall-cxl-miss-ps"),
    Place("loads side by side", "s", "stall-overlap-ps"),
    Place("store buffer full", "b", "stall-store-ps"),
    Place("fences and flushes", "w", "stall-fence-ps"),
)


@dataclass(frozen=True)
class Share:
    """The ps of virtual time of one place, and of all places, summed over `cpus` CPUs."""

    place: Place
    time_ps: int
    of_ps: int
    cpus: int = 1

    @property
    def percent(self) -> float:
        return 100 * self.time_ps / self.of_ps if self.of_ps else 0.0

    @property
    def mean_ps(self) -> int:
        """Of one CPU."""
        return self.time_ps // self.cpus

    @property
    def bar(self) -> str:
        return "█" * round(BAR_CELLS * self.percent / 100)


def cpu_counters(roi: Roi) -> list[dict[str, int]]:
    """What each CPU counted in a region of interest, with its own time, idle time and instructions."""
    counted = roi.get("cores") or [roi["counters"]]  # the counters of the only CPU are those of all
    return [{**counters, **vcpu} for vcpu, counters in zip(roi["vcpus"], counted, strict=True)]


def by_cpu(rois: Sequence[Roi]) -> list[list[Share]]:
    """The shares of each CPU, over all these regions of interest of one machine."""
    regions = [cpu_counters(roi) for roi in rois]
    return [_shares(counted, 1) for counted in zip(*regions, strict=True)]


def shares(rois: Sequence[Roi]) -> list[Share]:
    """The mean over CPUs, of all these regions of interest together, in the order of PLACES, empty places too."""
    regions = [cpu_counters(roi) for roi in rois]
    return _shares([counters for region in regions for counters in region], max(map(len, regions), default=1))


def _shares(counted: Sequence[Mapping[str, int]], cpus: int) -> list[Share]:
    parts = [_parts(counters) for counters in counted]
    of_ps = sum(map(sum, parts))
    times = [sum(part) for part in zip(*parts, strict=True)] or [0] * len(PLACES)
    return [Share(place, time_ps, of_ps, cpus) for place, time_ps in zip(PLACES, times, strict=True)]


def _parts(counters: Mapping[str, int]) -> list[int]:
    """The time of one CPU by PLACES."""
    told = [counters.get(place.counter, 0) for place in PLACES[1:]]
    rest_ps = counters["time-ps"] - sum(told)
    if rest_ps < 0:
        raise RunFailed(
            f"a CPU has {sum(told)} ps of stalls and idle time in {counters['time-ps']} ps of its clock; "
            "QEMU's counters contradict each other, which is a fault of the testbed"
        )
    return [rest_ps, *told]


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
