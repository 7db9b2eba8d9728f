# SPDX-License-Identifier: BSD-3-Clause
"""The figures beside the figures of engines, from synthetic results: the numbers that they compute and compare."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.charts import files
from analysis.data.drawn import Drawn, Gathered
from analysis.figures import kyoto, msync_share, overhead, persist, store_statistics
from testbed.errors import RunFailed
from testbed.results.results import Result

Rows = list[dict[str, Any]]


def result(rows: Rows, name: str = "optane-dcpmm", **point: str | int) -> Result:
    machine = {"device": {"name": name, "cache_size": 768}, "cpu": {"llc_size": 352 << 10}}
    data = {"point": point, "scale": 128, "rows": rows, "manifest": "m", "identity": {"machine": machine}}
    return Result(Path("r.json"), data)


def transactions(device: str, engine: str, updates: int, roi_ns: int) -> Result:
    row = {"program": "kyoto", "engine": engine, "updates": updates, "transactions": 100, "records": 1000}
    return result([row | {"roi_ns": roi_ns, "commits": 90}], device, device=device)


KYOTO = [
    transactions(device, engine, updates, roi_ns * updates)
    for device in ("optane-dcpmm", "snapshot-paper-mss")
    for updates in (1, 128)
    for engine, roi_ns in (("wal", 4_000_000), ("snapshot", 1_000_000))
]
PERSIST = [
    result(
        [
            {"test": "persist", "method": method, "bytes": size, "writes_per_fence": every, "mean_ns": ns}
            for size in (64, 4096)
            for every in (1, 16, 256)
            for method, ns in (("store_clwb", 200.0), ("ntstore", 100.0))
        ]
    )
]
SHARES = [
    result([{"program": "kv", "engine": e, "workload": w, "roi_ns": 1000, "commit_ns": ns, "records": 9}])
    for w in "AE"
    for e, ns in (("msync-4k", 150), ("msync-2m", 980))
]
OVERHEAD = [
    result([{"program": "kv", "engine": e, "workload": w, "roi_ns": ns, "records": 9}])
    for w, more in (("A", 0), ("G", 20))
    for e, ns in (
        ("volatile", 1000),
        ("volatile-noop", 1010),
        ("volatile-check", 1005),
        ("volatile-each", 1006),
        ("volatile-instrumented", 1000 + more),
    )
]
STORES = [
    result(
        [
            {"program": "kv-snapshot", "instrumented": 20, "coalesced": 10, "stack": 60, "global": 10, "libc uses": 4},
            {"program": "list-snapshot", "instrumented": 10, "stack": 90, "libc uses": 4},
            {"program": "kv-snapshot-nv", "instrumented": 999, "stack": 1},
        ]
    )
]
KINDS = ("pdf", "svg", "png", "plot.json", "txt", "csv")
DRAWERS: dict[str, tuple[Callable[[Gathered], Drawn], list[Result]]] = {
    "kyoto-commits": (kyoto.drawn, KYOTO),
    "persist": (persist.drawn, PERSIST),
    "msync-share": (msync_share.drawn, SHARES),
    "overhead": (overhead.drawn, OVERHEAD),
    "store-statistics": (store_statistics.drawn, STORES),
}


@pytest.mark.parametrize("name", DRAWERS)
def test_equal_results_give_equal_files_of_that_name(name: str, tmp_path: Path) -> None:
    draw, results = DRAWERS[name]
    made = draw(Gathered({name: results}))
    one, two = (files.write(draw(Gathered({name: results})), tmp_path / folder) for folder in "12")
    assert [path.name for path in one] == [f"{name}.{kind}" for kind in KINDS]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    assert all(len(row) == len(made.columns) for row in made.rows)
    assert all(comparison.figure == name for comparison in made.comparisons)


def test_kyoto_compares_the_seconds_of_both_engines() -> None:
    made = kyoto.drawn(Gathered({"kyoto-commits": KYOTO}))
    found: list[tuple[Any, ...]] = [(c.group, c.what, c.ours, c.published) for c in made.comparisons]
    assert found == [
        ("kyoto 1 updates, optane-dcpmm", "wal", pytest.approx(4.0), 3.074),  # 40 us an iteration
        ("kyoto 1 updates, optane-dcpmm", "snapshot", pytest.approx(1.0), 2.144),
        ("kyoto 128 updates, optane-dcpmm", "wal", pytest.approx(4.0), 3.313),
        ("kyoto 128 updates, optane-dcpmm", "snapshot", pytest.approx(1.0), 0.437),
    ]
    assert made.rows[0] == ["optane-dcpmm", 1, 90, 4.0, 1.0, 4.0, 3.074, 2.144, 1.4338]


def test_persist_compares_both_ways_at_each_size_and_interval() -> None:
    made = persist.drawn(Gathered({"persist": PERSIST}))
    assert len(made.comparisons) == 12
    assert [c.published for c in made.comparisons[:2]] == [154.298, 97.1322]


def test_published_writes_are_those_of_the_paper() -> None:
    times = persist.published_ns()
    assert len(times) == 200
    assert times["ntstore", 64, 1] == 97.1322


def test_shares_are_of_the_run_time_and_published_e_is_not_compared() -> None:
    made = msync_share.drawn(Gathered({"msync-share": SHARES}))
    assert made.rows[0] == ["A", 15.0, 98.0, 14.36, 98.03]
    assert [c.comparable for c in made.comparisons] == [True, True, False, False]


def test_overhead_is_over_the_store_without_the_pass() -> None:
    made = overhead.drawn(Gathered({"overhead": OVERHEAD}))
    assert made.rows[1] == ["G", 0.001, 1.0, 0.5, 0.6, 2.0]
    compared = [(c.what, round(c.ours, 6), c.published) for c in made.comparisons]
    assert compared == [("least", 0.001, 0.8), ("most", 2, 4.1)]


def test_store_statistics_are_of_the_snapshot_programs_and_all_of_them() -> None:
    made = store_statistics.drawn(Gathered({"store-statistics": STORES}))
    assert made.rows == [
        ["kv-snapshot", 100, 30.0, 60.0, 10.0],
        ["list-snapshot", 100, 10.0, 90.0, 0.0],
        ["all of them", 200, 20.0, 75.0, 5.0],
    ]


def test_a_guest_without_a_report_is_named() -> None:
    with pytest.raises(RunFailed, match=r"r\.json: the guest has no report of the pass"):
        store_statistics.counts(result([]))
