# SPDX-License-Identifier: BSD-3-Clause
"""Where the time of a run went: shares of the time of all CPUs, which add up to all of it.

Each CPU has its own clock; QEMU counts how far it advanced and how long the CPU was halted. The model counts the stalls
of each CPU. All remaining time belongs to instructions, including serialising ones. The parts of one CPU therefore add
up to its clock. A mean over CPUs is the sum of their parts divided by the sum of their clocks, so that the stalls of
several CPUs are never compared with one clock.

A load that the CPU waits for is counted by the source of its line. A load that runs beside others is not, because the
CPU waits for the oldest of several: that wait is a separate share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import RunFailed

BAR_CELLS = 30
Roi = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """A place where time goes, its letter in a bar, and its counter; the first place gets the remaining time."""

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
    """The virtual time in ps of one place and of all places, summed over `cpus` CPUs."""

    place: Place
    time_ps: int
    of_ps: int
    cpus: int = 1

    @property
    def percent(self) -> float:
        return 100 * self.time_ps / self.of_ps if self.of_ps else 0.0

    @property
    def mean_ps(self) -> int:
        """The mean time for one CPU."""
        return self.time_ps // self.cpus

    @property
    def bar(self) -> str:
        return "█" * round(BAR_CELLS * self.percent / 100)


def cpu_counters(roi: Roi) -> list[dict[str, int]]:
    """Return each CPU's counters in a region of interest, with its own time, idle time and instructions."""
    counted = roi.get("cores") or [roi["counters"]]  # a single CPU has no separate counters
    return [{**counters, **vcpu} for vcpu, counters in zip(roi["vcpus"], counted, strict=True)]


def by_cpu(rois: Sequence[Roi]) -> list[list[Share]]:
    """Return the shares of each CPU, over all these regions of interest of one machine."""
    regions = [cpu_counters(roi) for roi in rois]
    return [_shares(counted, 1) for counted in zip(*regions, strict=True)]


def shares(rois: Sequence[Roi]) -> list[Share]:
    """Return the mean over CPUs, for all these regions of interest together, in the order of PLACES, empty ones too."""
    regions = [cpu_counters(roi) for roi in rois]
    return _shares([counters for region in regions for counters in region], max(map(len, regions), default=1))


def _shares(counted: Sequence[Mapping[str, int]], cpus: int) -> list[Share]:
    parts = [_parts(counters) for counters in counted]
    of_ps = sum(map(sum, parts))
    times = [sum(part) for part in zip(*parts, strict=True)] or [0] * len(PLACES)
    return [Share(place, time_ps, of_ps, cpus) for place, time_ps in zip(PLACES, times, strict=True)]


def _parts(counters: Mapping[str, int]) -> list[int]:
    """Return the time of one CPU by PLACES. RunFailed: its stalls and idle time exceed its clock."""
    told = [counters.get(place.counter, 0) for place in PLACES[1:]]
    rest_ps = counters["time-ps"] - sum(told)
    if rest_ps < 0:
        raise RunFailed(
            f"a CPU has {sum(told)} ps of stalls and idle time in {counters['time-ps']} ps of its clock; "
            "QEMU's counters contradict each other, which is a fault of the testbed"
        )
    return [rest_ps, *told]


def bar(found: Sequence[Share]) -> str:
    """Draw all of the time as BAR_CELLS letters. A cell belongs to the place in which the cell ends."""
    letters, end = "", 0.0
    for share in found:
        end += share.percent
        letters += share.place.letter * (round(BAR_CELLS * end / 100) - len(letters))
    return letters


def legend(every: Sequence[Sequence[Share]]) -> str:
    """Explain the letters in these bars."""
    used = [place for place in PLACES if any(place.letter in bar(found) for found in every)]
    return ", ".join(f"{place.letter} {place.name}" for place in used)
