# SPDX-License-Identifier: BSD-3-Clause
"""One KV store and several threads that make checkpoints together: the overhead over as many threads in DRAM."""

from collections.abc import Sequence
from typing import Any

from ..data import records
from ..data.drawn import Cell, Drawn, Gathered
from .thread_kv import chart
from .thread_points import Point, gain, heading, points

NAME = "thread-epochs"
IN_DRAM = "volatile-threads"


def drawn(gathered: Gathered) -> Drawn:
    """Draw the overhead of checkpoints for the catalogue."""
    results = gathered.results[NAME]
    table = points(results)
    rows = [records.row_of(result, "roi_ns") for result in results]
    caption = f"Virtual time. {heading(results[0])}."
    return Drawn(
        name=NAME,
        title="One KV store and several threads that make checkpoints together, each on a CPU of its own",
        caption=caption,
        notes=[
            f"Scaled down: {table[0].operations} requests, dealt to the threads in turn. An epoch has 1 ms.",
            f"Overhead is above {IN_DRAM} with as many threads, whose requests take no turns either.",
            "A stop is from the last thread's coming to a point to its going on, replay included.",
        ],
        columns=[
            *("workload", "engine", "threads", "ms", "million requests/s", "times 1 thread", "overhead %"),
            *("checkpoints", "updates each", "stop us"),
        ],
        rows=[[*_rates(p, table), *_stops(p, row)] for p, row in zip(table, rows, strict=True)],
        chart=chart(table, caption),
    )


def _rates(point: Point, among: Sequence[Point]) -> list[Cell]:
    """Return the cells of a point, with its overhead above the same number of threads in DRAM."""
    dram = next(p for p in among if (p.workload, p.engine, p.threads) == (point.workload, IN_DRAM, point.threads))
    over = None if point.engine == IN_DRAM else 100 * (point.time_ns / dram.time_ns - 1)
    head: list[Cell] = [point.workload, point.engine, point.threads, point.time_ns / 1e6, point.rate]
    return [*head, gain(point, among), over]


def _stops(point: Point, row: dict[str, Any]) -> list[Cell]:
    if not point.commits:
        return [None, None, None]
    return [point.commits, row["updates"] / point.commits, row["stop_ns"] / point.commits / 1e3]
