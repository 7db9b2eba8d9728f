# SPDX-License-Identifier: BSD-3-Clause
"""Engines beside the published ones, from synthetic results."""

import csv
from pathlib import Path

import pytest

from analysis.charts import files
from analysis.data.drawn import Gathered
from analysis.figures import engines
from testbed.errors import RunFailed
from testbed.results.results import Result

SIZES = {"cache_size": 2 << 20}


def result(device: str, engine: str, times: dict[str, int], nodes: int = 15625) -> Result:
    rows = [
        {"program": "list", "engine": engine, "phase": phase, "roi_ns": ns, "nodes": nodes, "passes": 100}
        for phase, ns in times.items()
    ]
    machine = {"device": {"name": device, **SIZES}, "cpu": {"llc_size": 352 << 10}}
    data = {"point": {"engine": engine}, "scale": 64, "rows": rows, "manifest": "list"}
    return Result(Path("r.json"), data | {"identity": {"machine": machine}})


def on(device: str) -> list[Result]:
    return [
        result(device, "pmdk", {"insert": 4_000_000, "traverse": 2_000_000}),
        result(device, "snapshot", {"insert": 1_000_000, "traverse": 2_000_000}),
        result(device, "msync-journal", {"insert": 4_000_000, "traverse": 125_000}, nodes=977),
    ]


RESULTS = on("optane-dcpmm")


def kv(workload: str, engine: str, roi_ns: int) -> Result:
    row = {"program": "kv", "engine": engine, "workload": workload, "roi_ns": roi_ns, "records": 78125}
    machine = {"device": {"name": "snapshot-paper-mss", **SIZES}, "cpu": {"llc_size": 352 << 10}}
    data = {"point": {"engine": engine}, "scale": 64, "rows": [row | {"operations": 78125}], "manifest": "kv-ycsb"}
    return Result(Path("r.json"), data | {"identity": {"machine": machine}})


def table(results: list[Result]) -> engines.Table:
    return engines.tables_of(results)[0]


def test_times_and_ratios_are_of_as_many_operations_as_published() -> None:
    cell = table(RESULTS).cells["insert", "snapshot"]
    assert cell.full_s == pytest.approx(0.064)
    assert cell.published_s == 4.133
    assert table(RESULTS).ratio(cell) == 4
    assert cell.published_ratio == pytest.approx(3.368 / 4.133)


def test_an_engine_that_makes_fewer_operations_is_compared_by_its_pace_and_not_by_its_reads() -> None:
    made = table(RESULTS)
    insert, traverse = made.cells["insert", "msync-journal"], made.cells["traverse", "msync-journal"]
    assert made.ratio(insert) == pytest.approx(1 / 16, rel=0.001)
    assert (insert.fewer, insert.comparable, traverse.comparable) == (16, True, False)
    assert "msync-journal made 1/16 of the operations, to come to an end" in made.notes


def test_snapshot_nv_is_compared_with_pmdk_of_the_same_run() -> None:
    timing = engines.Timing("optane-dcpmm", "kv", "A", "snapshot-nv", 1, 1, 1)
    assert timing.published_ratio == pytest.approx(46.254 / 25.794)
    assert engines.Timing("cmm-h", "kv", "A", "snapshot-nv", 1, 1, 1).published_ratio is None


def test_published_e_is_shown_but_not_compared() -> None:
    made = table([kv("E", "pmdk", 3), kv("E", "snapshot", 1)])
    assert "3.00 (0.81)*" in made.text()
    assert "* E: published E replays only the inserts" in made.text()
    assert [c.comparable for c in engines.comparisons("f", made)] == [False, False]


def test_the_figure_of_published_e_has_the_star_and_its_reason(tmp_path: Path) -> None:
    results = [kv(workload, engine, 3) for workload in "DE" for engine in ("pmdk", "snapshot")]
    files.write(engines.drawn("kv", "kv", "KV")(Gathered({"kv": results})), tmp_path)
    svg = (tmp_path / "kv.svg").read_text()
    assert ">E*<" in svg and ">D<" in svg and ">E<" not in svg
    assert "published E replays only the inserts" in svg


def test_the_text_states_scale_ratios_and_what_is_published() -> None:
    text = table(RESULTS).text()
    assert "scale 1/64, data : device cache : LLC = 244 KiB : 2 MiB : 352 KiB" in text
    assert "4.00 (0.81)" in text
    assert "4.00 ms" in text


def test_comparisons_are_grouped_by_operation_and_device() -> None:
    made = engines.comparisons("list", table(RESULTS))
    assert {c.group for c in made} == {"list insert, optane-dcpmm", "list traverse, optane-dcpmm"}
    assert [c.what for c in made if c.group.startswith("list insert")] == ["pmdk", "snapshot", "msync-journal"]


def test_equal_results_give_equal_files_with_a_panel_a_device(tmp_path: Path) -> None:
    results = RESULTS + on("snapshot-paper-mss")
    made = engines.drawn("list", "list", "Lists")(Gathered({"list": results}))
    one, two = (files.write(made, tmp_path / name) for name in "12")
    assert [p.suffix for p in one] == [".pdf", ".svg", ".png", ".json", ".txt", ".csv"]
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]
    svg = one[1].read_text()
    assert "list on optane-dcpmm, scale 1/64" in svg
    assert "list on snapshot-paper-mss, scale 1/64" in svg
    parsed = list(csv.DictReader(one[5].read_text().splitlines()))
    assert [line["engine"] for line in parsed[:6]] == ["pmdk"] * 2 + ["snapshot"] * 2 + ["msync-journal"] * 2
    assert len(parsed) == len(made.rows) == 12


def test_another_axis_of_the_matrix_has_tables_of_its_own() -> None:
    twice = [kv("C", engine, ns) for engine, ns in (("pmdk", 8), ("snapshot", 2), ("pmdk", 6), ("snapshot", 3))]
    for made, compare in zip(twice, ("strings", "strings", "words", "words"), strict=True):
        made.data["point"] |= {"compare": compare}
    tables = engines.tables_of(twice)
    assert [t.ratio(t.cells["C", "snapshot"]) for t in tables] == [4, 2]
    assert ", compare words, " in tables[1].title


def test_a_result_without_a_time_is_named() -> None:
    with pytest.raises(RunFailed, match=r"r\.json: the program reported no roi_ns"):
        engines.tables_of([*RESULTS, result("optane-dcpmm", "volatile", {})])
