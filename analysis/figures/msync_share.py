# SPDX-License-Identifier: BSD-3-Clause
"""How much of the KV store's run time is spent in msync(), with pages of 4 KiB and of 2 MiB, on Optane memory."""

from collections.abc import Sequence

from testbed.results.results import Result

from ..data import published, ratios, tables
from ..data.chart import Bars, Chart, Group
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.tables import short
from ..data.values import by_name
from .engines import NOT_COMPARABLE

NAME = "msync-share"
REFERENCE = "msync-overhead-pm"
ENGINES = {"msync-4k": "msync_4k_pct", "msync-2m": "msync_2m_pct"}
COLUMNS = ("workload", "msync-4k_percent", "msync-2m_percent", "published_4k_percent", "published_2m_percent")
Shares = dict[tuple[str, str], float]  # (workload, engine) -> percent


def measured(results: Sequence[Result]) -> Shares:
    rows = [row for result in results for row in result.rows if "commit_ns" in row]
    return {(row["workload"], row["engine"]): 100 * row["commit_ns"] / row["roi_ns"] for row in rows}


def group(workload: str) -> str:
    """Name the group of a workload, within which the scorecard checks the order of the page sizes."""
    return f"kv {workload}, share in msync()"


def published_shares() -> Shares:
    rows = published.table(REFERENCE)
    return {(row["workload"], engine): float(row[column]) for row in rows for engine, column in ENGINES.items()}


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure for the catalogue."""
    results = gathered.results[NAME]
    ours, theirs = measured(results), published_shares()
    workloads = list(dict.fromkeys(workload for workload, _ in ours))
    rows: list[list[Cell]] = [
        [w, *(short(ours[w, e]) for e in ENGINES), *(theirs[w, e] for e in ENGINES)] for w in workloads
    ]
    machine = f"{results[0].data['identity']['machine']['device']['name']}, {ratios.text(results[0])}"
    notes = [f"{w}: {why}" for (program, w), why in NOT_COMPARABLE.items() if program == "kv"]
    notes.append("a workload without updates makes no commit here: nothing of nothing is not compared")
    notes.append("reading the clock around each commit, as here, makes the run a little longer")
    lines = [list(COLUMNS), *([str(cell) for cell in row] for row in rows)]
    text = "\n".join([machine, *tables.aligned(lines), *notes])
    return Drawn(
        name=NAME,
        title="KV store on Optane memory: share of the run time in msync()",
        caption=f"Bars: ours; marks: published. {machine}.",
        notes=notes,
        columns=COLUMNS,
        rows=rows,
        comparisons=[
            Comparison(
                NAME,
                group(w),
                e,
                "%",
                ours[w, e],
                theirs[w, e],
                ours[w, e] > 0 and ("kv", w) not in NOT_COMPARABLE,
            )
            for w, e in ours
        ],
        chart=_chart(workloads, ours, theirs, machine),
        text=text,
    )


def _chart(workloads: Sequence[str], ours: Shares, theirs: Shares, machine: str) -> Chart:
    names = {w: w + "*" * (("kv", w) in NOT_COMPARABLE) for w in workloads}
    groups = [
        Group(
            e, by_name((names[w], ours[w, e]) for w in workloads), published={names[w]: theirs[w, e] for w in workloads}
        )
        for e in ENGINES
    ]
    notes = [f"* {w}: {NOT_COMPARABLE['kv', w]}" for w in workloads if ("kv", w) in NOT_COMPARABLE]
    label = "% of the run time in msync()"
    return Chart([[Bars(list(names.values()), groups, label, machine, "YCSB workload", notes)]])
