# SPDX-License-Identifier: BSD-3-Clause
"""Figures as `testbed figures` leaves them, from results made up here: what the tests of the report read."""

from pathlib import Path
from typing import Any

from analysis import engines, scorecard
from analysis.drawn import Comparison, Drawn, Gathered
from testbed import canonical, manifest, results
from testbed.figures import INDEX, Index, figure_data
from testbed.results import Result

KEYS = {"qemu": "1" * 64, "base": "2" * 64, "software": "3" * 64}
OPERATIONS = {"list": ("insert", "delete", "traverse"), "btree": ("insert", "delete", "traverse")}
# Engine -> how its time is to PMDK's; some near the published ratios, some far, and on one operation another order.
SPEED = {"pmdk": 1.0, "snapshot": 0.6, "snapshot-nv": 0.9, "msync-4k": 3.1, "msync-journal": 24.0, "volatile": 0.2}
CAUSE = "Our look-up follows no published code: measured with the look-up alone, it takes 1.7 us"

# A group that comes in another order than published, each number near its own.
TURNED = (
    Comparison("list", "list seek", "pmdk", "ms", 4.0, 2.1),
    Comparison("list", "list seek", "snapshot", "ms", 2.0, 2.4),
)


def outcome(program: str, engine: str) -> dict[str, Any]:
    """What a guest gives that ran every operation of a program."""
    rows = [
        {"program": program, "engine": engine, "phase": operation, "roi_ns": round(40e6 * SPEED[engine] * (i + 1))}
        for i, operation in enumerate(OPERATIONS[program])
    ]
    return {"outcome": "ok", "exit_status": 0, "boot": {}, "rows": rows, "rois": [], "stdout": "", "stderr": ""}


def stored(name: str, root: Path) -> list[Result]:
    """A result for each run of a manifest that ships."""
    runs = manifest.runs(manifest.find(name))
    return [
        results.store(results.path_for(root, run, KEYS), run, KEYS, outcome(name, str(run.point["engine"])))
        for run in runs
    ]


def compared(name: str, row: engines.EngineRow) -> Comparison:
    cause = CAUSE if row.engine == "snapshot" else ""
    assert row.published
    return Comparison(
        name,
        f"{name} {row.operation}",
        row.engine,
        "times PMDK",
        row.ratio,
        row.published,
        row.operation != "delete",
        cause,
    )


def figure(name: str, folder: Path, root: Path) -> dict[str, Any]:
    """One figure of the index, drawn from results under `root`."""
    found = stored(name, root)
    table = engines.rows(found)
    drawn = Drawn(
        name=name,
        title=f"{name}: all operations & engines",
        caption=f"Times faster than PMDK; scale 1/{found[0].data['scale']}. Black marks are the published <ratios>.",
        notes=["Three seeds give the same order."],
        columns=list(table[0].as_data()),
        rows=[list(row.as_data().values()) for row in table],
        comparisons=[compared(name, row) for row in table if row.published] + [c for c in TURNED if c.figure == name],
        files=engines.write(table, found, folder),
    )
    return figure_data(drawn, Gathered({name: found}), "", folder)


def write(folder: Path, root: Path) -> dict[str, Any]:
    """The figures, their results and the index; returns the index."""
    figures = [figure(name, folder, root) for name in OPERATIONS]
    comparisons = [Comparison(**comparison) for figure in figures for comparison in figure["comparisons"]]
    index = Index("quick", figures, scorecard.score(comparisons)).as_data()
    canonical.write_atomically(folder / INDEX, canonical.dumps(index))
    return index


def comparisons(index: dict[str, Any]) -> list[Comparison]:
    """Every comparison of an index."""
    return [Comparison(**comparison) for figure in index["figures"] for comparison in figure["comparisons"]]
