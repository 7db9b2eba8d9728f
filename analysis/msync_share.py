# SPDX-License-Identifier: BSD-3-Clause
"""How much of the KV store's run time is spent in msync(), with pages of 4 KiB and of 2 MiB, on Optane memory."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.results.results import Result

from . import plotting, published, ratios
from .drawn import Cell, Comparison, Drawn, Gathered
from .engines import NOT_COMPARABLE
from .plotting import short

NAME = "msync-share"
REFERENCE = "msync-overhead-pm"
ENGINES = {"msync-4k": ("msync_4k_pct", "#dd6b20"), "msync-2m": ("msync_2m_pct", "#f6ad55")}
COLUMNS = ("workload", "msync-4k_percent", "msync-2m_percent", "published_4k_percent", "published_2m_percent")
Shares = dict[tuple[str, str], float]  # (workload, engine) -> percent


def measured(results: Sequence[Result]) -> Shares:
    rows = [row for result in results for row in result.rows if "commit_ns" in row]
    return {(row["workload"], row["engine"]): 100 * row["commit_ns"] / row["roi_ns"] for row in rows}


def group(workload: str) -> str:
    """What is ordered: the page sizes under one workload."""
    return f"kv {workload}, share in msync()"


def published_shares() -> Shares:
    rows = published.table(REFERENCE)
    return {(row["workload"], engine): float(row[column]) for row in rows for engine, (column, _) in ENGINES.items()}


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure as the catalogue has it."""
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
    text = "\n".join([machine, *plotting.aligned(lines), *notes])
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
        files=plotting.write(_figure(workloads, ours, theirs, machine), folder / NAME, text, COLUMNS, rows),
    )


def _figure(workloads: Sequence[str], ours: Shares, theirs: Shares, machine: str) -> Figure:
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
        for number, (engine, (_, colour)) in enumerate(ENGINES.items()):
            places = [x - 0.2 + 0.4 * number for x in range(len(workloads))]
            axes.bar(places, [ours[w, engine] for w in workloads], 0.38, color=colour, label=engine)
            marks = [theirs[w, engine] for w in workloads]
            axes.plot(places, marks, "k_", ms=10, label=None if number else "published")
        axes.set_xticks(range(len(workloads)), [w + "*" * (("kv", w) in NOT_COMPARABLE) for w in workloads])
        shown = [f"* {w}: {NOT_COMPARABLE['kv', w]}" for w in workloads if ("kv", w) in NOT_COMPARABLE]
        axes.set(ylabel="% of the run time in msync()", xlabel="\n".join(["YCSB workload", *shown]))
        axes.set_title(machine, fontsize=7)
        axes.legend(frameon=False, fontsize=7)
        return figure
