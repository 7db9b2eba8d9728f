# SPDX-License-Identifier: BSD-3-Clause
"""Input for the tests of the report: figures as `testbed figures` writes them, from invented guests."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

from analysis.catalogue import make as figures
from analysis.data.drawn import Comparison, Gathered
from analysis.figures import persist
from analysis.scorecard import figure as scorecard_figure
from analysis.scorecard import score as scorecard
from conftest import MockExecutor
from rigs import report_gallery
from testbed import canonical, outputs
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.paths import FIGURES_INDEX

KEYS = {"qemu": "1" * 64, "base": "2" * 64, "tools": "3" * 64}
NAMES = ("list", "persist")
OPERATIONS = ("insert", "delete", "traverse")
# Engine -> its time relative to PMDK; some ratios are near the published ones, some far.
SPEED = {"pmdk": 1.0, "snapshot": 0.6, "snapshot-nv": 0.9, "msync-4k": 3.1, "volatile": 0.2}
CAUSE = "Our look-up follows no published code: measured with the look-up alone, it takes 1.7 us"
NOTE = "marks with <angles> & ampersands stay what they are"
# A group in another order than published, each number near its own published one; and a number outside the comparison.
MORE = (
    Comparison("list", "list seek", "pmdk", "ms", 4.0, 2.1),
    Comparison("list", "list seek", "snapshot", "ms", 2.0, 2.4),
    Comparison("persist", "scan", "snapshot", "ms", 9.0, 2.0, False, "published scans replay inserts only"),
)


def answer(spec: GuestSpec) -> GuestOutcome:
    """Return a guest's rows: a list on PMDK takes 2, 4 and 6 us an operation, persisting 4/3 of the published time."""
    assert spec.job
    words = spec.job.script.split()
    if "list" not in words:
        return GuestOutcome("ok", 0, rows=_persist_rows())
    return GuestOutcome("ok", 0, rows=_list_rows(words), rois=[roi(len(spec.job.script))])


def roi(length: int) -> dict[str, Any]:
    """Return a region of interest of two CPUs; its times depend on `length`."""
    stalls = {"stall-cxl-hit-ps": 20, "stall-cxl-miss-ps": 5 * length, "stall-fence-ps": 3 * length}
    counters = {**{name: value * 10**6 for name, value in stalls.items()}, "cache-hits": 123_456, "cache-misses": 789}
    vcpus = [{"time-ps": 10**9 * time, "idle-ps": idle, "instructions": 10**6} for time, idle in ((4, 0), (3, 10**9))]
    doubled = {name: 2 * value for name, value in counters.items()}
    return {"begin-ps": 10**9, "end-ps": 5 * 10**9, "counters": doubled, "vcpus": vcpus, "cores": [counters, counters]}


def _list_rows(words: list[str]) -> list[dict[str, Any]]:
    engine, nodes = (words[words.index(flag) + 1] for flag in ("--engine", "--nodes"))
    row = {"program": "list", "engine": engine, "nodes": int(nodes)}
    each_ns = 2000 * SPEED.get(engine, 24)
    return [row | {"phase": name, "roi_ns": round(int(nodes) * each_ns * i)} for i, name in enumerate(OPERATIONS, 1)]


def _persist_rows() -> list[dict[str, Any]]:
    keys = ("method", "bytes", "writes_per_fence")
    published = persist.published_ns().items()
    return [{"test": "persist", "mean_ns": 4 * ns / 3, **dict(zip(keys, what, strict=True))} for what, ns in published]


def write(folder: Path, root: Path) -> dict[str, Any]:
    """Write the figures, their results under `root`, and the index; return the index."""
    with patch.dict(os.environ, {"TESTBED_RESULTS": str(root)}):
        index = figures.make(Session(MockExecutor(answer), KEYS), list(NAMES), "quick", folder).as_data()
    for figure in index["figures"]:
        figure["notes"].append(NOTE)
        for comparison in figure["comparisons"]:
            comparison["cause"] = CAUSE if comparison["what"] == "snapshot" else ""
        figure["comparisons"] += [asdict(more) for more in MORE if more.figure == figure["name"]]
    for more in (report_gallery.drawn(), scorecard_figure.drawn(comparisons(index), [])):
        index["figures"].append(figures.written(more, Gathered({}), "", folder))
    index["scorecard"] = asdict(scorecard.score(comparisons(index)))
    outputs.write(folder / FIGURES_INDEX, canonical.dumps(index))
    return index


def comparisons(index: dict[str, Any]) -> list[Comparison]:
    """Return every comparison of an index."""
    return [Comparison(**comparison) for figure in index["figures"] for comparison in figure["comparisons"]]
