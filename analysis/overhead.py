# SPDX-License-Identifier: BSD-3-Clause
"""What instrumentation costs the KV store where nothing is tracked, in parts: no test, the test alone, all of it."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.results.results import Result

from . import plotting, ratios
from .drawn import Cell, Comparison, Drawn, Gathered
from .plotting import short

NAME = "overhead"
BASELINE, WHOLE = "volatile", "volatile-instrumented"
GUARD_EACH = "volatile-each"
VARIANTS = {
    "volatile-noop": ("a call of nothing for each store", "#a0aec0"),
    "volatile-check": ("the range test alone", "#63b3ed"),
    GUARD_EACH: ("a guard for each store", "#4299e1"),
    WHOLE: ("all of it", "#2b6cb0"),
}
# Of run time, by their figure; which workload is which is not in the published data (shared reference of the study).
PUBLISHED_PERCENT = (0.8, 4.1)
COLUMNS = ("workload", "volatile_ms", *(f"{variant}_percent" for variant in VARIANTS))
NOTES = (
    "in DRAM, without a commit: each variant's time over that of the same store compiled without the pass",
    "look-ups compare keys as words: with the published program's comparison requests take longer, and guards do not",
    f"the paper's figure has {PUBLISHED_PERCENT[0]} to {PUBLISHED_PERCENT[1]} %; its least and its most are compared "
    "with ours",
)
Times = dict[tuple[str, str], int]  # (workload, engine) -> ns


def times_ns(results: Sequence[Result]) -> Times:
    rows = [row for result in results for row in result.rows if "roi_ns" in row]
    return {(row["workload"], row["engine"]): int(row["roi_ns"]) for row in rows}


def percent(times: Times, workload: str, variant: str) -> float:
    return 100 * (times[workload, variant] / times[workload, BASELINE] - 1)


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure as the catalogue has it."""
    results = gathered.results[NAME]
    times = times_ns(results)
    workloads = list(dict.fromkeys(workload for workload, _ in times))
    rows: list[list[Cell]] = [
        [w, short(times[w, BASELINE] / 1e6), *(short(percent(times, w, v), 4) for v in VARIANTS)] for w in workloads
    ]
    machine = ratios.text(results[0])
    text = "\n".join([machine, *plotting.aligned([list(COLUMNS), *([str(c) for c in row] for row in rows)]), *NOTES])
    return Drawn(
        name=NAME,
        title="KV store: what instrumentation costs where nothing is tracked",
        caption=f"Run time above that of the store without instrumentation, %; {machine}.",
        notes=NOTES,
        columns=COLUMNS,
        rows=rows,
        comparisons=comparisons(times, WHOLE),
        files=plotting.write(_figure(times, workloads, machine), folder / NAME, text, COLUMNS, rows),
    )


def comparisons(times: Times, variant: str) -> list[Comparison]:
    """The least and the most of the workloads. An overhead of nothing has no logarithm: 0.001 % stands for it."""
    ours = sorted(max(percent(times, w, variant), 0.001) for w, engine in times if engine == variant)
    pairs = zip(("least", "most"), (ours[0], ours[-1]), PUBLISHED_PERCENT, strict=True)
    return [Comparison(NAME, "kv, all instrumentation", what, "%", mine, theirs) for what, mine, theirs in pairs]


def _figure(times: Times, workloads: Sequence[str], machine: str) -> Figure:
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
        for number, (variant, (label, colour)) in enumerate(VARIANTS.items()):
            places = [x - 0.3 + 0.2 * number for x in range(len(workloads))]
            axes.bar(places, [percent(times, w, variant) for w in workloads], 0.19, color=colour, label=label)
        axes.axhspan(*PUBLISHED_PERCENT, color="#fed7aa", alpha=0.5, label="published: all of it", zorder=0)
        axes.axhline(0, color="black", linewidth=0.6)
        axes.set_xticks(range(len(workloads)), workloads)
        axes.set(ylabel="more run time, %", xlabel="YCSB workload")
        axes.set_title(machine, fontsize=7)
        axes.legend(frameon=False, fontsize=7)
        return figure
