# SPDX-License-Identifier: BSD-3-Clause
"""How a guest mapped files on persistent memory: page faults by page size, and lines that its kernel flushed.

Linux flushes a whole page for each msync() of any part of it: 64 lines of a page of 4 KiB, 32,768 of one of 2 MiB.
Points of a matrix that map files by different page sizes therefore differ mainly by the page size.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LINES_DIFFER = 8  # least ratio of lines a call for a warning; a page of 2 MiB has 512 times the lines of 4 KiB
KEY = "mappings"  # of these counters in a region of interest


@dataclass(frozen=True)
class Mapped:
    """Sums over the regions of interest of one point."""

    point: str
    asked: str  # guest.page_size, if the manifest states one
    faults_4k: int
    faults_2m: int
    kernel_flushes: int
    sync_calls: int

    @property
    def lines_a_call(self) -> float:
        return self.kernel_flushes / self.sync_calls if self.sync_calls else 0.0

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        lines = f"{self.lines_a_call:,.0f}" if self.sync_calls else "-"
        return (self.point, f"{self.faults_4k:,}", f"{self.faults_2m:,}", f"{self.sync_calls:,}", lines)


def counters(roi: Mapping[str, Any]) -> dict[str, int]:
    """Return the counters of a region of interest with lines for each call; empty if the build did not count them."""
    counted: dict[str, int] = dict(roi.get(KEY, {}))
    if counted.get("sync-calls"):
        counted["kernel-flushes-per-sync-call"] = round(counted["kernel-flushes"] / counted["sync-calls"])
    return counted


def of_point(point: str, asked: str, rois: Iterable[Mapping[str, Any]]) -> Mapped | None:
    """Sum the counters over all regions of interest of a point; None if the build did not count them."""
    found = [roi.get(KEY) for roi in rois]
    if not all(found):
        return None
    keys = ("page-faults-4k", "page-faults-2m", "kernel-flushes", "sync-calls")
    return Mapped(point, asked, *(sum(one[key] for one in found if one) for key in keys))


def warnings(points: Sequence[Mapped]) -> Iterator[str]:
    """Yield a sentence for each reason why points of one matrix cannot be compared."""
    large = [one for one in points if one.faults_2m]
    small = [one for one in points if one.faults_4k and not one.faults_2m]
    if large and small:
        yield (
            f"files are mapped by pages of 2 MiB at {_places(large)}, and by pages of 4 KiB alone at {_places(small)}; "
            'guest.page_size = "4KiB" or "2MiB" gives all points the same'
        )
    calling = sorted((one for one in points if one.lines_a_call), key=lambda one: one.lines_a_call)
    if calling and calling[-1].lines_a_call >= LINES_DIFFER * calling[0].lines_a_call:
        least, most = calling[0], calling[-1]
        yield (
            f"a call of msync() or fsync() flushes {most.lines_a_call:,.0f} lines at {most.point}, and "
            f"{least.lines_a_call:,.0f} at {least.point}; see docs/reference/manifest.md on page sizes"
        )
    for one in points:
        if one.asked == "4KiB" and one.faults_2m:
            yield (
                f"{one.point} asks for pages of 4 KiB, and {one.faults_2m:,} page faults were served by pages of "
                "2 MiB: blocks lay so by chance"
            )


def _places(points: Sequence[Mapped]) -> str:
    more = f" and {len(points) - 1} more" if len(points) > 1 else ""
    return f"{points[0].point}{more}"
