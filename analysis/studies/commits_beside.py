# SPDX-License-Identifier: BSD-3-Clause
"""Threads that commit concurrently on one device: commits a second, by the kind of data."""

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.results.results import Result

from ..data import records
from ..data.chart import Chart
from ..data.drawn import Drawn, Gathered
from .thread_points import panel

NAME = "commits-beside"


@dataclass(frozen=True)
class Beside:
    """A run of threads that commit concurrently on one device, with one kind of data."""

    device: str
    data: str
    engine: str
    threads: int
    commits: int  # of all threads together
    time_ns: int

    @property
    def rate(self) -> float:
        """Thousand commits a second, of all threads together."""
        return self.commits * 1e6 / self.time_ns

    def gain(self, among: Sequence["Beside"]) -> float | None:
        """The rate over the rate of one thread; None if `among` has no such run."""
        mine = (self.device, self.data, self.engine, 1)
        return next((self.rate / p.rate for p in among if (p.device, p.data, p.engine, p.threads) == mine), None)


def points(results: Sequence[Result]) -> list[Beside]:
    """Return the runs by device and data, then in the order of the results."""
    found = []
    for result in results:
        row = records.row_of(result, "roi_ns")
        device = result.data["identity"]["machine"]["device"]["name"]
        found.append(Beside(device, row["data"], row["engine"], row["threads"], row["transactions"], row["roi_ns"]))
    order = list(dict.fromkeys((p.device, p.data) for p in found))
    return sorted(found, key=lambda p: order.index((p.device, p.data)))


def drawn(gathered: Gathered) -> Drawn:
    """Draw the commits a second for the catalogue."""
    results = gathered.results[NAME]
    table, rows = points(results), [records.row_of(result, "roi_ns") for result in results]
    rounds = sorted({row["rounds"] for row in rows})
    caption = f"Virtual time. Caches have their full size; {rows[0]['batch']} updates before each commit."
    return Drawn(
        name=NAME,
        title="Threads that commit beside each other, each on a CPU of its own",
        caption=caption,
        notes=[
            f"Scaled down: {' or '.join(map(str, rounds))} commits of each thread.",
            "regions: of one file, no page in common; files: one for each thread.",
            "shared: all threads change the same cells, under locks.",
        ],
        columns=["device", "data", "engine", "threads", "commits", "ms", "thousand commits/s", "times 1 thread"],
        rows=[
            [p.device, p.data, p.engine, p.threads, p.commits, p.time_ns / 1e6, p.rate, p.gain(table)] for p in table
        ],
        chart=_chart(table, caption),
    )


def _chart(table: Sequence[Beside], heading: str) -> Chart:
    devices, kinds = (list(dict.fromkeys(getattr(p, name) for p in table)) for name in ("device", "data"))
    rows = []
    for device in devices:
        of_kinds = {data: [p for p in table if (p.device, p.data) == (device, data)] for data in kinds}
        rows.append(
            [
                panel(mine, [p.rate for p in mine], "thousand commits a second", f"{data}, {device}")
                for data, mine in of_kinds.items()
            ]
        )
    return Chart(rows, heading, scaled_down=True, share_y="row")
