# SPDX-License-Identifier: BSD-3-Clause
"""Causes: which experiment speaks of which number, and how much of the difference it takes away."""

from pathlib import Path

import pytest

from analysis import causes, engines
from analysis.drawn import Comparison
from testbed import manifest
from testbed.errors import TestbedError

GROUP = "kv G, snapshot-paper-mss"
OURS = Comparison("kv-ycsb", GROUP, "snapshot", "s", 10.0, 40.0)


def run(seconds: float) -> engines.Timing:
    return engines.Timing("snapshot-paper-mss", "kv", "G", "snapshot", 5_000_000, round(seconds * 1e9), 1)


def explained_by(**runs: float) -> list[causes.Tested]:
    rows = [
        causes.Cause(figure="kv-*", what="snapshot", text=f"with {name}", run=f"{name}/{{operation}}") for name in runs
    ]
    return causes.tested([OURS], {(f"{name}/G", "G"): run(s) for name, s in runs.items()}, rows)


@pytest.mark.parametrize(("then", "share"), [(40.0, 1.0), (20.0, 0.5), (10.0, 0.0), (5.0, -0.5), (80.0, 0.5)])
def test_a_cause_explains_the_share_of_the_difference_that_goes(then: float, share: float) -> None:
    assert explained_by(undo=then)[0].explains == pytest.approx(share)


def test_the_cause_that_explains_most_is_shown() -> None:
    explained = causes.applied([OURS], explained_by(undo=12.0, words=20.0))
    assert explained[0].cause == "tested (words/G): with words, 20 s: 50 % of the difference goes"


def test_what_explains_nothing_is_said_not_to_be_the_cause() -> None:
    assert causes.applied([OURS], explained_by(undo=9.0))[0].cause.endswith("with undo, 9 s: not the cause")


def test_numbers_without_an_experiment_keep_no_cause() -> None:
    other = Comparison("kv-ycsb", GROUP, "pmdk", "s", 10.0, 40.0)
    assert causes.applied([other], explained_by(undo=20.0))[0].cause == ""
    assert (
        causes.tested([Comparison("kv-ycsb", GROUP, "snapshot", "s", 1, 2, comparable=False)], {}, causes.load()) == []
    )


def test_every_cause_names_runs_that_there_are() -> None:
    """Of an experiment's manifest every run is spoken of, and no cause points beside it."""
    labels = {f"{name}/{run.label}" for name in causes.manifests() for run in manifest.runs(manifest.find(name))}
    for cause in causes.load():
        pattern = cause.run.format(operation="G", engine="snapshot")
        assert pattern in labels, cause.run


def test_a_bad_file_names_the_key(tmp_path: Path) -> None:
    path = tmp_path / "causes.toml"
    path.write_text('[[cause]]\nfigure = "f"\ntext = "t"\nruns = "r"\n')
    with pytest.raises(TestbedError, match=r"causes\.toml"):
        causes.load(path)
