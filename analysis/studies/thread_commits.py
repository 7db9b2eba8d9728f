# SPDX-License-Identifier: BSD-3-Clause
"""Commits by several threads for all of them together: updates a second, and the time of a commit."""

from collections.abc import Sequence

from ..data import records
from ..data.chart import Chart
from ..data.drawn import Drawn, Gathered
from .thread_points import Point, gain, heading, panel, points

NAME = "thread-commits"


def drawn(gathered: Gathered) -> Drawn:
    """Draw the updates a second and the time of a commit for the catalogue."""
    results = gathered.results[NAME]
    table, row = points(results), records.row_of(results[0], "roi_ns")
    rounds = sorted({records.row_of(result, "roi_ns")["rounds"] for result in results})
    caption = f"Virtual time. {heading(results[0])}; a round is {row['batch']} updates of each thread."
    return Drawn(
        name=NAME,
        title="Commits of several threads, each on a CPU of its own",
        caption=caption,
        notes=[
            f"Scaled down: {' or '.join(map(str, rounds))} rounds. Caches and latencies have their full size.",
            "pmdk commits once a round and thread, the others once a round for all threads.",
            "A commit's time is from the last update to its end; that of the barrier before it is in the rate only.",
        ],
        columns=["engine", "threads", "updates", "ms", "million updates/s", "times 1 thread", "commits", "us a commit"],
        rows=[
            [p.engine, p.threads, p.operations, p.time_ns / 1e6, p.rate, gain(p, table), p.commits, p.commit_us]
            for p in table
        ],
        chart=_chart(table, caption),
    )


def _chart(table: Sequence[Point], heading: str) -> Chart:
    rates = panel(table, [p.rate for p in table], "million updates a second")
    return Chart([[rates, panel(table, [p.commit_us for p in table], "us a commit")]], heading, scaled_down=True)
