# SPDX-License-Identifier: BSD-3-Clause
"""What became of the stores of the workloads in the compiler pass, as it reported when the guest was built."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.errors import RunFailed
from testbed.results.results import Result

from . import plotting
from .drawn import Cell, Comparison, Drawn, Gathered
from .plotting import short

NAME = "store-statistics"
# How the published study divides stores, in percent, and which counts of the report each is.
PUBLISHED_PERCENT = {"instrumented": 10.8, "stack": 84.6, "aliasing the stack": 4.54}
GUARDED = ("instrumented", "hoisted", "coalesced", "repeated")
COLOURS = ("#2b6cb0", "#63b3ed", "#a0aec0")
KINDS = ("guarded", "stack", "global and other")
COLUMNS = ("program", "stores", *(f"{kind}_percent" for kind in KINDS))
NOTES = (
    "stores in the code of a program's workload and engine, each counted once; a hoisted, coalesced or repeated one is "
    "guarded by another's guard",
    "the published pass runs before the optimiser, where most stores are to variables on the stack that it then keeps "
    "in registers, and calls 4.54 % aliases of the stack; ours runs after it and knows no such kind",
)
Counts = Mapping[str, int]


def counts(result: Result) -> dict[str, dict[str, int]]:
    """Program -> kind of store -> how many."""
    made = {row["program"]: {kind: n for kind, n in row.items() if kind != "program"} for row in result.rows}
    if not made:
        raise RunFailed(f"{result.path}: the guest has no report of the pass")
    return made


def shares(kinds: Counts) -> tuple[int, list[float]]:
    """All stores, and the percentages of KINDS."""
    guarded = sum(kinds.get(kind, 0) for kind in GUARDED)
    stack = kinds.get("stack", 0)
    other = sum(kinds.get(kind, 0) for kind in ("global", "thread-local", "exception", "segment"))
    total = guarded + stack + other
    return total, [100 * part / total for part in (guarded, stack, other)] if total else [0.0] * 3


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure as the catalogue has it."""
    made = {name: kinds for name, kinds in counts(gathered.results[NAME][0]).items() if name.endswith("-snapshot")}
    made["all of them"] = {k: sum(kinds.get(k, 0) for kinds in made.values()) for kinds in made.values() for k in kinds}
    rows: list[list[Cell]] = []
    for name, kinds in made.items():
        total, percents = shares(kinds)
        rows.append([name, total, *(short(percent, 4) for percent in percents)])
    text = "\n".join([*plotting.aligned([list(COLUMNS), *([str(c) for c in row] for row in rows)]), *NOTES])
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
        files=plotting.write(_figure(rows), folder / NAME, text, COLUMNS, rows),
    )


def _figure(rows: list[list[Cell]]) -> Figure:
    names = [str(row[0]) for row in rows] + ["published"]
    parts = [[float(row[2 + k] or 0) for row in rows] for k in range(len(KINDS))]
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
        left = [0.0] * len(names)
        for kind, part, theirs, colour in zip(KINDS, parts, PUBLISHED_PERCENT.values(), COLOURS, strict=True):
            widths = [*part, theirs]
            axes.barh(names, widths, left=left, color=colour, label=kind)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        axes.invert_yaxis()
        axes.set(xlabel="% of stores (published: the last kind is 'aliasing the stack')", xlim=(0, 100))
        axes.legend(frameon=False, fontsize=7, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.2))
        return figure
