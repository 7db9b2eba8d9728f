# SPDX-License-Identifier: BSD-3-Clause
"""Figures of several threads, from synthetic results: rates, gains, effects of a tenant on the other, equal files."""

from typing import Any

import pytest
from test_studies import equal_files, result

from analysis.data.chart import Lines
from analysis.data.drawn import Gathered
from analysis.data.values import Value
from analysis.studies import (
    commits_beside,
    tenants,
    thread_commits,
    thread_epochs,
    thread_kv,
    thread_points,
    thread_scaling,
)
from testbed.results.results import Result


def commits(engine: str, threads: int, roi_ns: int, commits: int) -> Result:
    row = {"program": "threads", "engine": engine, "threads": threads, "rounds": 10, "batch": 16}
    more = {"updates": 160 * threads, "roi_ns": roi_ns, "commits": commits, "commit_ns": 2000 * commits}
    return result({"engine": engine, "threads": threads}, [row | more])


def requests(engine: str, workload: str, threads: int, roi_ns: int) -> Result:
    row = {"program": "shared-kv", "engine": engine, "workload": workload, "threads": threads, "records": 1000}
    more = {"operations": 1000, "updates": 500, "roi_ns": roi_ns, "commits": 400}
    return result({"workload": workload, "engine": engine, "threads": threads}, [row | more])


def beside(engine: str, data: str, threads: int, roi_ns: int) -> Result:
    row = {"program": "commits", "engine": engine, "data": data, "threads": threads, "rounds": 10, "batch": 16}
    return result({"engine": engine}, [row | {"transactions": 10 * threads, "roi_ns": roi_ns}])


def shared(policy: str, who: str, histogram: str, scanned_bytes: int) -> Result:
    whole = {"program": "tenants", "tenants": who, "roi_ns": 1000, "scanned_bytes": scanned_bytes}
    rows: list[dict[str, Any]] = [whole | {"points_bytes": 3 << 19, "scan_bytes": 8 << 20}]
    quantiles = {"p50_ns": 150, "p90_ns": 150, "p99_ns": 14000}
    if histogram:
        rows.append({"program": "tenants", "count": 100, "histogram": histogram} | quantiles)
    return result({"policy": policy, "tenants": who}, rows)


COMMITS = [
    commits("snapshot", 1, 100_000, 10),
    commits("snapshot", 2, 160_000, 10),
    commits("pmdk", 1, 200_000, 10),
    commits("pmdk", 2, 200_000, 20),
]
REQUESTS = [requests("pmdk", w, n, 400_000 // n) for w in "AC" for n in (1, 4)]
BESIDE = [beside("snapshot", data, threads, 100_000) for threads in (1, 4) for data in ("regions", "files")]
TENANTS = [
    shared("lru", "points", "150:100", 0),
    shared("lru", "scan", "", 4000),
    shared("lru", "both", "150:50 14000:50", 2000),
]


def test_a_gain_is_over_the_same_engine_with_one_thread() -> None:
    table = thread_points.points(COMMITS)
    assert [point.rate for point in table] == [1.6, 2.0, 0.8, 1.6]
    assert [thread_points.gain(point, table) for point in table] == [1.0, 1.25, 1.0, 2.0]
    assert [point.commit_us for point in table] == [2.0] * 4
    assert thread_points.gain(table[1], table[1:]) is None


@pytest.mark.parametrize(
    ("draw", "name", "results"),
    [
        (thread_commits.drawn, "thread-commits", COMMITS),
        (commits_beside.drawn, "commits-beside", BESIDE),
        (thread_kv.drawn, "thread-kv", REQUESTS),
    ],
)
def test_each_run_has_a_row_and_the_plot_says_that_it_is_scaled_down(draw, name, results, tmp_path) -> None:  # type: ignore[no-untyped-def]
    drawn = equal_files(draw, Gathered({name: results}), tmp_path)
    assert len(drawn.rows) == len(results)
    assert any("Scaled down" in note for note in drawn.notes)
    assert "(scaled down)" in (tmp_path / "1" / f"{name}.svg").read_text()


def test_commits_beside_each_other_are_counted_together_and_by_data(tmp_path) -> None:  # type: ignore[no-untyped-def]
    drawn = equal_files(commits_beside.drawn, Gathered({"commits-beside": BESIDE}), tmp_path)
    device = drawn.rows[0][0]
    assert [list(row) for row in drawn.rows] == [
        [device, data, "snapshot", threads, 10 * threads, 0.1, 100.0 * threads, 1.0 * threads]
        for data in ("regions", "files")
        for threads in (1, 4)
    ]


def test_requests_of_all_threads_are_counted_together(tmp_path) -> None:  # type: ignore[no-untyped-def]
    drawn = equal_files(thread_kv.drawn, Gathered({"thread-kv": REQUESTS}), tmp_path)
    assert list(drawn.rows[1]) == ["A", "pmdk", 4, 1000, 0.1, 10.0, 4.0, 400]


def test_checkpoints_are_above_as_many_threads_in_dram(tmp_path) -> None:  # type: ignore[no-untyped-def]
    dram = [requests("volatile-threads", "A", threads, 400_000 // threads) for threads in (1, 4)]
    mine = [requests("cpnvm", "A", threads, 500_000 // threads) for threads in (1, 4)]
    for made in (*dram, *mine):
        made.rows[0].update({"commits": 0} if made in dram else {"commits": 10, "stop_ns": 20_000})
    drawn = equal_files(thread_epochs.drawn, Gathered({"thread-epochs": [*dram, *mine]}), tmp_path)
    assert list(drawn.rows[1][4:]) == [10.0, 4.0, None, None, None, None]
    assert list(drawn.rows[3]) == ["A", "cpnvm", 4, 0.125, 8.0, 4.0, 25.0, 10, 50.0, 2.0]


def test_tenants_stand_side_by_side(tmp_path) -> None:  # type: ignore[no-untyped-def]
    drawn = equal_files(tenants.drawn, Gathered({"tenants": TENANTS}), tmp_path)
    assert list(drawn.rows[0]) == ["lru", 150.0, 7075.0, 150, 150, 150, 150, 14000, 14000, 4000.0, 2000.0]
    assert "points : scan = 1.5 MiB : 8 MiB" in drawn.caption
    assert "(scaled down)" in (tmp_path / "1" / "tenants.svg").read_text()


def test_a_native_measurement_counts_its_fastest_run_and_shows_the_spread_of_all() -> None:
    found = [
        thread_scaling.Point(engine, threads, 1000 * threads, (125_000, 100_000, 200_000))
        for engine in thread_scaling.ENGINES
        for threads in thread_scaling.THREADS
    ]
    assert found[0].rate == Value(10.0, 5.0, 10.0)
    assert thread_scaling.table_text(found, "here").splitlines()[2].split() == ["1", "10.00", "10.00", "10.00"]
    (panel,) = thread_scaling.chart(found, "here").rows[0]
    assert isinstance(panel, Lines) and [line.label for line in panel.lines] == list(thread_scaling.ENGINES)
    assert all(value.has_spread for line in panel.lines for _, value in line.points)
