# SPDX-License-Identifier: BSD-3-Clause
"""Causes: the numbers that an experiment explains, and the share of the difference that it removes."""

import fnmatch
from pathlib import Path

import pytest

from analysis.data.drawn import Comparison
from analysis.scorecard import causes
from analysis.scorecard import score as scorecard
from testbed.errors import TestbedError
from testbed.manifest import bases, render
from testbed.results.results import Result

GROUP = "kv G, snapshot-paper-mss"
MACHINE = {"machine": {"device": {"name": "optane-dcpmm"}}}
OURS = Comparison("kv-ycsb", GROUP, "snapshot", "s", 10.0, 40.0)


def explained_by(**runs: float) -> list[causes.Tested]:
    rows = [
        causes.Cause(figure="kv-*", what="snapshot", text=f"with {name}", run=f"{name}/{{operation}}") for name in runs
    ]
    return causes.tested([OURS], {(f"{name}/G", "G"): seconds for name, seconds in runs.items()}, rows)


@pytest.mark.parametrize(("then", "share"), [(40.0, 1.0), (20.0, 0.5), (10.0, 0.0), (5.0, -0.5), (80.0, 0.5)])
def test_a_cause_explains_the_share_of_the_difference_that_goes(then: float, share: float) -> None:
    assert explained_by(undo=then)[0].explains == pytest.approx(share)


def test_the_cause_that_explains_most_is_shown() -> None:
    explained = causes.applied([OURS], explained_by(undo=12.0, words=20.0))
    assert explained[0].cause == "tested (words/G): with words, 20 s: 50 % of the difference goes"


def test_what_explains_nothing_is_said_not_to_be_the_cause() -> None:
    assert causes.applied([OURS], explained_by(undo=9.0))[0].cause.endswith("with undo, 9 s: not the cause")


def test_another_operation_and_number_may_stand_in() -> None:
    row = causes.Cause(figure="kv-*", text="as C", run="turbo/C-{engine}", operation="C", number="msync-4k")
    tested = causes.tested([OURS], {("turbo/C-msync-4k", "C"): 20.0, ("turbo/C-snapshot", "C"): 40.0}, [row])
    assert [test.then for test in tested] == [20.0]


def test_an_ordering_is_looked_at_again_with_what_was_tested() -> None:
    other = Comparison("kv-ycsb", GROUP, "pmdk", "s", 20.0, 30.0)
    for seconds, agrees in ((36.0, True), (15.0, False), (9.0, False)):  # the last explains nothing and is left out
        then = causes.changed([OURS, other], explained_by(undo=seconds))
        assert then[1] == other and (then[0] == OURS) == (seconds < OURS.ours)
        assert scorecard.orderings(then) == {("kv-ycsb", GROUP): agrees}


def test_numbers_without_an_experiment_keep_no_cause() -> None:
    other = Comparison("kv-ycsb", GROUP, "pmdk", "s", 10.0, 40.0)
    assert causes.applied([other], explained_by(undo=20.0))[0].cause == ""
    assert (
        causes.tested([Comparison("kv-ycsb", GROUP, "snapshot", "s", 1, 2, comparable=False)], {}, causes.load()) == []
    )


def test_every_cause_names_runs_that_there_are() -> None:
    """Each cause matches a run of its experiment for the cause's engine."""
    labels = {f"{name}/{run.label}" for name in causes.manifests() for run in render.runs(bases.find(name))}
    labels |= set(causes.manifests())
    for cause in causes.load():
        engine = cause.number or (cause.what if cause.what.replace("-", "").isalnum() else "snapshot")
        pattern = cause.run.format(operation=cause.operation or "[A-G]", engine=engine)
        assert fnmatch.filter(labels, pattern), cause.run


def test_an_experiment_has_the_numbers_of_its_figure() -> None:
    """Seconds of engines are stored by run and operation, compared numbers of other figures by group."""
    kv = {"program": "kv", "engine": "msync-4k", "workload": "A", "operations": 1000, "roi_ns": 4000, "commit_ns": 1000}
    write = {"test": "persist", "method": "ntstore", "bytes": 64, "writes_per_fence": 4, "mean_ns": 16.0}
    kyoto = {"program": "kyoto", "engine": "wal", "updates": 2, "transactions": 50, "commits": 60, "roi_ns": 10**6}
    made = [("A-msync-4k-0.json", "cached", kv), ("run-0.json", "plain", write), ("2-wal-0.json", "log", kyoto)]
    for engine, roi_ns in (("volatile", 1000), ("volatile-each", 1030)):
        made.append((f"A-{engine}-0.json", "guards", kv | {"engine": engine, "roi_ns": roi_ns}))
    results = [
        Result(Path(path), {"manifest": name, "point": {}, "rows": [row], "identity": MACHINE})
        for path, name, row in made
    ]
    for policy, roi_ns in (("cow", 10**6), ("hybrid", 2 * 10**6)):
        row = {"program": "filework", "flow": "varmail", "operations": 1000, "roi_ns": roi_ns}
        point = {"device": "optane-dcpmm", "flow": "varmail", "threads": 10, "policy": policy}
        results.append(Result(Path("r.json"), {"manifest": "narrow", "point": point, "rows": [row]}))
    assert causes.numbers_of(results) == {
        ("narrow", "varmail, 10 threads"): 0.5,
        ("cached/A-msync-4k", "A"): pytest.approx(0.02),  # of 5 M requests
        ("cached", "kv A, share in msync(), msync-4k"): 25.0,
        ("plain", "64 B, fence every 4, ntstore"): 16.0,
        ("log", "kyoto 2 updates, optane-dcpmm, wal"): pytest.approx(1.0),  # 10 us an iteration
        ("guards", "kv, all instrumentation, least"): pytest.approx(3.0),
        ("guards", "kv, all instrumentation, most"): pytest.approx(3.0),
    }


def test_a_bad_file_names_the_key(tmp_path: Path) -> None:
    path = tmp_path / "causes.toml"
    path.write_text('[[cause]]\nfigure = "f"\ntext = "t"\nruns = "r"\n')
    with pytest.raises(TestbedError, match=r"causes\.toml"):
        causes.load(path)
