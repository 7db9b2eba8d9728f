# SPDX-License-Identifier: BSD-3-Clause
"""`testbed top`: how a running guest uses the device, live, in virtual time.

Every guest listens on a second QMP socket in its folder. Two answers to `query-cxl-ssd`, some host seconds apart, give
one view: its rates and percentiles cover the virtual time between the answers.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qemu.qmp import QMPClient, QMPError
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .. import console
from ..errors import TestbedError
from ..units import TIME_PS, show_time
from .qemu_line import WATCH_SOCKET

PERMILLE = (500, 900, 990, 999)
CORE_COUNTERS = ("loads", "stores", "l1-misses", "l2-misses", "llc-misses", "fences")
Answer = dict[str, Any]


def find_socket(given: Path | None) -> Path:
    """The monitor to watch: the given one, or the monitor of the guest that this user started last."""
    if given:
        return given
    root = Path(tempfile.gettempdir())
    own = (folder for folder in root.glob("testbed-guest-*") if folder.lstat().st_uid == os.geteuid())
    sockets = (folder / WATCH_SOCKET for folder in own)
    found = sorted(filter(Path.exists, sockets), key=lambda path: path.stat().st_mtime)
    if not found:
        raise TestbedError("no guest is running; start one with testbed run, exec or shell, then watch it from here")
    return found[-1]


@dataclass(frozen=True)
class Sample:
    """One answer, and the host time at which it arrived."""

    host_s: float
    answer: Answer

    @property
    def roi(self) -> Answer | None:
        """The region of interest under way, otherwise the last one."""
        running: Answer | None = self.answer.get("running")
        rois: list[Answer] = self.answer.get("rois", [])
        return running or (rois[-1] if rois else None)


def between(before: Answer, after: Answer) -> tuple[Answer, Answer]:
    """The answers to subtract; `before` is empty if it is of another region of interest, or the counts began anew."""
    same = before["id"] == after["id"] and before["begin-ps"] == after["begin-ps"]
    grown = same and all(after["counters"][name] >= value for name, value in before["counters"].items())
    return (before if grown and before["end-ps"] < after["end-ps"] else {}), after


def counted(before: Answer, after: Answer) -> dict[str, int]:
    """The differences of the counters between two answers."""
    return _difference(before.get("counters", {}), after["counters"])


def counted_by(part: str, before: Answer, after: Answer) -> list[dict[str, int]]:
    """The same for each of the `devices` or `cores`. A guest with only one core reports no list of cores."""
    parts: list[Answer] = after.get(part, [])
    old: list[Answer] = before.get(part) or [{}] * len(parts)
    return [_difference(*pair) for pair in zip(old, parts, strict=True)]


def _difference(old: Answer, new: Answer) -> dict[str, int]:
    return {name: int(value) - int(old.get(name, 0)) for name, value in new.items()}


def buckets(before: Answer, after: Answer) -> dict[str, list[tuple[int, int]]]:
    """Cause -> (upper bound in ps, count) for the latencies between the two answers, without empty buckets."""
    result = {}
    old = {h["cause"]: {b["upper-ps"]: b["count"] for b in h["buckets"]} for h in before.get("histograms", [])}
    for histogram in after.get("histograms", []):
        seen = old.get(histogram["cause"], {})
        rest = [(b["upper-ps"], b["count"] - seen.get(b["upper-ps"], 0)) for b in histogram["buckets"]]
        result[histogram["cause"]] = [bucket for bucket in rest if bucket[1]]
    return {cause: found for cause, found in result.items() if found}


def percentile_ps(histogram: Sequence[tuple[int, int]], permille: int) -> int:
    """The upper bound of the bucket that holds the percentile. The buckets must be in order and not all empty."""
    total = sum(count for _, count in histogram)
    wanted, seen = -(-total * permille // 1000), 0
    for upper_ps, count in histogram:
        seen += count
        if seen >= wanted:
            return upper_ps
    raise AssertionError("the counts add up to their total")


def share(part: int, rest: int) -> str:
    return f"{100 * part / (part + rest):.1f} %" if part + rest else "-"


def rate(size_bytes: int, span_ps: int) -> str:
    return f"{size_bytes * TIME_PS['s'] / span_ps / 1e9:.2f} GB/s" if span_ps else "-"


def summary(before: Sample, after: Sample) -> list[tuple[str, str]]:
    """The activity of guest and device between two samples of one region of interest."""
    assert after.roi, "the caller has looked"
    old, new = between(before.roi or after.roi, after.roi)
    count, host_s = counted(old, new), after.host_s - before.host_s
    span_ps = elapsed_ps(old, new)
    instructions: int = new["instructions"] - (old or {"instructions": 0})["instructions"]
    speed = f"{instructions / host_s / 1e6:.1f} MIPS" if host_s > 0 else "-"
    return [
        ("region of interest", f"{new['id']}, {show_time(int(new['end-ps']) - int(new['begin-ps']))} so far"),
        ("guest speed", speed),
        ("virtual time a host second", show_time(span_ps / host_s) if host_s > 0 else "-"),
        ("LLC misses to the device", share(count["cxl-reads"], count["dram-reads"])),
        *traffic(count, span_ps),
    ]


def traffic(count: dict[str, int], span_ps: int) -> list[tuple[str, str]]:
    """The activity of one device, or of all devices together."""
    return [
        ("device-cache hits", share(count["cache-hits"], count["cache-misses"])),
        ("read from the device", rate(count["link-read-bytes"], span_ps)),
        ("written to the device", rate(count["link-write-bytes"], span_ps)),
        ("flash pages read, programmed", f"{count['flash-reads']:,}, {count['flash-programs']:,}"),
    ]


def by_device(before: Sample, after: Sample) -> list[tuple[str, ...]]:
    """A header row, then a row for each device; empty if the guest has only one."""
    assert after.roi, "the caller has looked"
    old, new = between(before.roi or after.roi, after.roi)
    names = [str(device["path"]).rpartition("/")[2] for device in after.answer["devices"]]
    if len(names) < 2:
        return []
    found = [traffic(count, elapsed_ps(old, new)) for count in counted_by("devices", old, new)]
    head = ("device", *(what for what, _ in found[0]))
    return [head, *((name, *(value for _, value in values)) for name, values in zip(names, found, strict=True))]


def by_core(before: Sample, after: Sample) -> list[tuple[str, ...]]:
    """A header row, then a row for each core; empty if the guest has only one."""
    assert after.roi, "the caller has looked"
    found = counted_by("cores", *between(before.roi or after.roi, after.roi))
    head = ("core", *CORE_COUNTERS)
    rows = [(str(core), *(f"{count[name]:,}" for name in CORE_COUNTERS)) for core, count in enumerate(found)]
    return [head, *rows] if rows else []


def elapsed_ps(before: Answer, after: Answer) -> int:
    """Virtual time between two answers about one region of interest, or since its begin if `before` is empty."""
    return int(after["end-ps"]) - int(before["end-ps"] if before else after["begin-ps"])


def view(before: Sample, after: Sample) -> Group | Text:
    """The tables of one view, or a sentence if no region of interest has begun."""
    if not after.roi:
        return Text(f"no region of interest yet, virtual time {show_time(int(after.answer['time-ps']))}")
    rates = Table(show_header=False, show_edge=False)
    for name, value in summary(before, after):
        rates.add_row(name, value)
    latencies = Table(title="latencies", title_justify="left", show_edge=False)
    for column in ("cause", "count", *(f"p{permille / 10:g}" for permille in PERMILLE)):
        latencies.add_column(column, justify="left" if column == "cause" else "right")
    for cause, histogram in buckets(*between(before.roi or after.roi, after.roi)).items():
        shown = [show_time(percentile_ps(histogram, permille)) for permille in PERMILLE]
        latencies.add_row(cause, f"{sum(count for _, count in histogram):,}", *shown)
    tables = [rates, latencies]
    for title, rows in (("cores", by_core(before, after)), ("devices", by_device(before, after))):
        if rows:
            parts = Table(*rows[0], title=title, title_justify="left", show_edge=False)
            for row in rows[1:]:
                parts.add_row(*row)
            tables.insert(1, parts)
    return Group(*tables)


async def watch(socket: Path, interval_s: float, show: Callable[[Group | Text], None], views: int = 0) -> None:
    """Show a view every `interval_s` of host time until the guest ends, or until `views` are shown (0: no limit)."""
    qmp = QMPClient("top")
    try:
        await qmp.connect(str(socket))
    except (QMPError, OSError) as error:
        raise TestbedError(f"cannot watch {socket}: no guest listens there") from error
    try:
        before = await sample(qmp)
        shown = 0
        while not views or shown < views:
            await asyncio.sleep(interval_s)
            after = await sample(qmp)
            show(view(before, after))
            before, shown = after, shown + 1
    except (QMPError, EOFError):
        return  # the guest has ended
    finally:
        with suppress(QMPError, EOFError, OSError):
            await qmp.disconnect()


async def sample(qmp: QMPClient) -> Sample:
    """Query the guest, and note the host time."""
    answer = await qmp.execute("query-cxl-ssd")
    assert isinstance(answer, dict), "QAPI says that this is an object"
    return Sample(time.monotonic(), answer)


def run_top(socket: Path | None, interval_s: float, views: int) -> None:
    """Update one live screen on a terminal; elsewhere print the views one after the other, without colour."""
    path = find_socket(socket)
    if not console.out.is_terminal:
        asyncio.run(watch(path, interval_s, print_view, views))
        return
    with Live(auto_refresh=False, vertical_overflow="visible") as live:
        asyncio.run(watch(path, interval_s, lambda shown: live.update(shown, refresh=True), views))


def print_view(shown: Group | Text) -> None:
    """Print one view below the previous one; a reader at the end of a pipe gets it at once."""
    console.out.print(shown)
    console.out.print()
    console.out.file.flush()
