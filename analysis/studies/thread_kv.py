# SPDX-License-Identifier: BSD-3-Clause
"""One KV store and several threads: requests a second, by engine."""

from collections.abc import Sequence

from ..data.chart import Chart
from ..data.drawn import Drawn, Gathered
from .thread_points import Point, gain, heading, panel, points

NAME = "thread-kv"


def drawn(gathered: Gathered) -> Drawn:
    """Draw the requests a second of one store for the catalogue."""
    results = gathered.results[NAME]
    table = points(results)
    caption = f"Virtual time. {heading(results[0])}."
    return Drawn(
        name=NAME,
        title="One KV store and several threads, each on a CPU of its own",
        caption=caption,
        notes=[
            f"Scaled down: {table[0].operations} requests, dealt to the threads in turn.",
            "pmdk commits each update; the others commit once for all threads that wait for it.",
        ],
        columns=["workload", "engine", "threads", "requests", "ms", "million requests/s", "times 1 thread", "commits"],
        rows=[
            [p.workload, p.engine, p.threads, p.operations, p.time_ns / 1e6, p.rate, gain(p, table), p.commits]
            for p in table
        ],
        chart=chart(table, caption),
    )


def chart(table: Sequence[Point], heading: str) -> Chart:
    """Make a panel for each workload."""
    panels = []
    for workload in dict.fromkeys(p.workload for p in table):
        mine = [p for p in table if p.workload == workload]
        panels.append(panel(mine, [p.rate for p in mine], "million requests a second", f"YCSB {workload}"))
    return Chart([panels], heading, scaled_down=True)
