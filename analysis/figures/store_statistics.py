# SPDX-License-Identifier: BSD-3-Clause
"""How the compiler pass treats the stores of the workloads, from the pass's report when the guest was built."""

from collections.abc import Mapping

from testbed.errors import RunFailed
from testbed.results.results import Result

from ..data import tables
from ..data.chart import Axis, Chart, Group, Parts
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.tables import short
from ..data.values import by_name

NAME = "store-statistics"
# Shares of stores in the published study, in percent. GUARDED lists the counts of the report in the first share.
PUBLISHED_PERCENT = {"instrumented": 10.8, "stack": 84.6, "aliasing the stack": 4.54}
GUARDED = ("instrumented", "hoisted", "coalesced", "repeated")
KINDS = ("guarded", "stack", "global and other")
COLUMNS = ("program", "stores", *(f"{kind}_percent" for kind in KINDS))
PUBLISHED = "published, not comparable"  # the name of its bar
NOTES = (
    "stores in the code of a program's workload and engine, each counted once; a hoisted, coalesced or repeated one is "
    "guarded by another's guard",
    "the published pass runs before the optimiser, where most stores are to variables on the stack that it then keeps "
    "in registers, and calls 4.54 % aliases of the stack; ours runs after it and knows no such kind",
)
Counts = Mapping[str, int]


def counts(result: Result) -> dict[str, dict[str, int]]:
    """Return the counts: program -> kind of store -> count. RunFailed if the guest has no report of the pass."""
    made = {row["program"]: {kind: n for kind, n in row.items() if kind != "program"} for row in result.rows}
    if not made:
        raise RunFailed(f"{result.path}: the guest has no report of the pass")
    return made


def shares(kinds: Counts) -> tuple[int, list[float]]:
    """Return the number of all stores, and the percentages of KINDS."""
    guarded = sum(kinds.get(kind, 0) for kind in GUARDED)
    stack = kinds.get("stack", 0)
    other = sum(kinds.get(kind, 0) for kind in ("global", "thread-local", "exception", "segment"))
    total = guarded + stack + other
    return total, [100 * part / total for part in (guarded, stack, other)] if total else [0.0] * 3


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure for the catalogue."""
    made = {name: kinds for name, kinds in counts(gathered.results[NAME][0]).items() if name.endswith("-snapshot")}
    made["all of them"] = {k: sum(kinds.get(k, 0) for kinds in made.values()) for kinds in made.values() for k in kinds}
    rows: list[list[Cell]] = []
    for name, kinds in made.items():
        total, percents = shares(kinds)
        rows.append([name, total, *(short(percent, 4) for percent in percents)])
    text = "\n".join([*tables.aligned([list(COLUMNS), *([str(c) for c in row] for row in rows)]), *NOTES])
    _, (guarded, stack, _) = shares(made["all of them"])
    ours = {"instrumented": guarded, "stack": stack}
    return Drawn(
        name=NAME,
        title="What becomes of stores in the compiler pass",
        caption="Stores of each program by what the pass made of them, counted when the guest was built.",
        notes=NOTES,
        columns=COLUMNS,
        rows=rows,
        comparisons=[
            Comparison(NAME, "share of stores", kind, "%", percent, PUBLISHED_PERCENT[kind], comparable=False)
            for kind, percent in ours.items()
        ],
        chart=_chart(rows),
        text=text,
    )


def _chart(rows: list[list[Cell]]) -> Chart:
    names = [str(row[0]) for row in rows] + [PUBLISHED]
    shares = [[float(row[2 + k] or 0) for row in rows] for k in range(len(KINDS))]
    parts = [
        Group(kind, by_name(zip(names, [*ours, theirs], strict=True)))
        for kind, ours, theirs in zip(KINDS, shares, PUBLISHED_PERCENT.values(), strict=True)
    ]
    x = Axis("% of stores (published: the last kind is 'aliasing the stack')", limits=(0, 100))
    return Chart([[Parts(names, parts, x, published=[PUBLISHED])]], unscaled=True)
