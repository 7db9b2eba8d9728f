# SPDX-License-Identifier: BSD-3-Clause
"""Figures as `testbed figures` leaves them, from guests made up here: what the tests of the report read."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

from analysis import figures, persist, scorecard, scorecard_figure
from analysis.drawn import Comparison, Gathered
from conftest import MockExecutor
from testbed import canonical, outputs
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session

KEYS = {"qemu": "1" * 64, "base": "2" * 64, "software": "3" * 64}
NAMES = ("list", "persist")
OPERATIONS = ("insert", "delete", "traverse")
# Engine -> how its time is to PMDK's; some near the published ratios, some far.
SPEED = {"pmdk": 1.0, "snapshot": 0.6, "snapshot-nv": 0.9, "msync-4k": 3.1, "volatile": 0.2}
CAUSE = "Our look-up follows no published code: measured with the look-up alone, it takes 1.7 us"
NOTE = "marks with <angles> & ampersands stay what they are"
# A group that comes in another order than published, each number near its own; and one that is not compared.
MORE = (
    Comparison("list", "list seek", "pmdk", "ms", 4.0, 2.1),
    Comparison("list", "list seek", "snapshot", "ms", 2.0, 2.4),
    Comparison("persist", "scan", "snapshot", "ms", 9.0, 2.0, False, "published scans replay inserts only"),
)


def answer(spec: GuestSpec) -> GuestOutcome:
    """What a guest gives: a list on PMDK takes 2, 4 and 6 us an operation, persisting a third more than published."""
    assert spec.job
    words = spec.job.script.split()
    return GuestOutcome("ok", 0, rows=_list_rows(words) if "list" in words else _persist_rows())


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
    """The figures, their results under `root`, and the index; returns the index."""
    with patch.dict(os.environ, {"TESTBED_RESULTS": str(root)}):
        index = figures.make(Session(MockExecutor(answer), KEYS), list(NAMES), "quick", folder).as_data()
    for figure in index["figures"]:
        figure["notes"].append(NOTE)
        for comparison in figure["comparisons"]:
            comparison["cause"] = CAUSE if comparison["what"] == "snapshot" else ""
        figure["comparisons"] += [asdict(more) for more in MORE if more.figure == figure["name"]]
    drawn = scorecard_figure.drawn(comparisons(index), [], folder)
    index["figures"].append(figures.figure_data(drawn, Gathered({}), "", folder))
    index["scorecard"] = asdict(scorecard.score(comparisons(index)))
    outputs.write(folder / figures.INDEX, canonical.dumps(index))
    return index


def comparisons(index: dict[str, Any]) -> list[Comparison]:
    """Every comparison of an index."""
    return [Comparison(**comparison) for figure in index["figures"] for comparison in figure["comparisons"]]
