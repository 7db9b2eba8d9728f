# SPDX-License-Identifier: BSD-3-Clause
"""The cost of instrumentation to the KV store if nothing is tracked, in parts: no test, the test alone, all of it."""

from collections.abc import Sequence

from testbed.results.results import Result

from ..data import ratios, tables
from ..data.chart import Band, Bars, Chart, Group
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.tables import short
from ..data.values import by_name

NAME = "overhead"
BASELINE, WHOLE = "volatile", "volatile-instrumented"
GUARD_EACH = "volatile-each"
VARIANTS = {
    "volatile-noop": "a call of nothing for each store",
    "volatile-check": "the range test alone",
    GUARD_EACH: "a guard for each store",
    WHOLE: "all of it",
}
# Of run time, from the paper's figure. The published data (shared reference of the study) do not name the workloads.
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


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure for the catalogue."""
    results = gathered.results[NAME]
    times = times_ns(results)
    workloads = list(dict.fromkeys(workload for workload, _ in times))
    rows: list[list[Cell]] = [
        [w, short(times[w, BASELINE] / 1e6), *(short(percent(times, w, v), 4) for v in VARIANTS)] for w in workloads
    ]
    machine = ratios.text(results[0])
    text = "\n".join([machine, *tables.aligned([list(COLUMNS), *([str(c) for c in row] for row in rows)]), *NOTES])
    return Drawn(
        name=NAME,
        title="KV store: what instrumentation costs where nothing is tracked",
        caption=f"Run time above that of the store without instrumentation, %; {machine}.",
        notes=NOTES,
        columns=COLUMNS,
        rows=rows,
        comparisons=comparisons(times, WHOLE),
        chart=_chart(times, workloads, machine),
        text=text,
    )


def comparisons(times: Times, variant: str) -> list[Comparison]:
    """Compare the least and the most over the workloads. At least 0.001 % is assumed, because 0 has no logarithm."""
    ours = sorted(max(percent(times, w, variant), 0.001) for w, engine in times if engine == variant)
    pairs = zip(("least", "most"), (ours[0], ours[-1]), PUBLISHED_PERCENT, strict=True)
    return [Comparison(NAME, "kv, all instrumentation", what, "%", mine, theirs) for what, mine, theirs in pairs]


def _chart(times: Times, workloads: Sequence[str], machine: str) -> Chart:
    groups = [
        Group(label, by_name((w, percent(times, w, variant)) for w in workloads), variant)
        for variant, label in VARIANTS.items()
    ]
    theirs = Band(*PUBLISHED_PERCENT, "published: all of it")
    return Chart([[Bars(workloads, groups, "more run time, %", machine, "YCSB workload", bands=[theirs])]])
