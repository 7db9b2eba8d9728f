# SPDX-License-Identifier: BSD-3-Clause
"""The KV figure and its tables, from results made up here."""

import csv
from pathlib import Path

import pytest

from analysis import kv_speedup
from testbed.errors import RunFailed
from testbed.results import Result


def result(workload: str, engine: str, roi_ns: int, seed: int = 1) -> Result:
    point = {"workload": workload, "engine": engine, "seed": seed}
    machine = {"device": {"cache_size": 2 << 20}, "cpu": {"llc_size": 352 << 10}}
    data = {"point": point, "scale": 64, "rows": [{"roi_ns": roi_ns}], "manifest": "kv-ycsb"}
    return Result(Path("r.json"), data | {"identity": {"machine": machine}})


RESULTS = [
    result(workload, engine, ns)
    for workload in "ABCDEFG"
    for engine, ns in (("pmdk", 5_000_000), ("snapshot", 1_000_000), ("volatile", 500_000))
]


def test_published_times_come_from_the_reference() -> None:
    published = kv_speedup.published()
    assert sorted(published) == list("ABCDEFG")
    assert published["A"] == (222.289, 40.167)
    assert kv_speedup.rows(RESULTS)[4].published < 1


def test_rows_compare_ours_with_the_published() -> None:
    row = kv_speedup.rows(RESULTS)[0]
    assert (row.workload, row.scale, row.speedup) == ("A", 64, 5.0)
    assert row.error_percent == pytest.approx(100 * (5 / (222.289 / 40.167) - 1))
    assert row.time_errors_percent[0] == pytest.approx(100 * (64 * 0.005 / 222.289 - 1))
    assert row.time_errors_percent[1] == pytest.approx(100 * (64 * 0.001 / 40.167 - 1))


def test_published_e_is_shown_but_not_compared() -> None:
    row = kv_speedup.rows(RESULTS)[4]
    assert row.error_percent is None
    text = kv_speedup.table_text([row])
    assert "not comparable" in text
    assert "replays only the inserts" in text


def test_several_seeds_are_averaged() -> None:
    several = [*RESULTS, result("A", "pmdk", 7_000_000, seed=2)]
    assert kv_speedup.rows(several)[0].pmdk_ns == 6_000_000


def test_the_table_states_the_scale_and_reads_as_csv() -> None:
    rows = kv_speedup.rows(RESULTS)
    assert "scale 1/64" in kv_speedup.table_text(rows)
    parsed = list(csv.DictReader(kv_speedup.table_csv(rows).splitlines()))
    assert [line["workload"] for line in parsed] == list("ABCDEFG")
    assert parsed[0]["scale"] == "1/64"


def test_equal_results_give_equal_files(tmp_path: Path) -> None:
    rows = kv_speedup.rows(RESULTS)
    one, two = kv_speedup.write(rows, tmp_path / "1"), kv_speedup.write(rows, tmp_path / "2")
    assert [p.suffix for p in one] == [".pdf", ".svg", ".png", ".txt", ".csv"]
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]
    svg = one[1].read_text()
    assert "scale 1/64 (device cache 2 MiB, LLC 352 KiB)" in svg
    assert "published" in svg


def test_a_result_without_a_time_is_named() -> None:
    broken = Result(Path("broken.json"), RESULTS[0].data | {"rows": []})
    with pytest.raises(RunFailed, match=r"broken\.json: the program reported no roi_ns"):
        kv_speedup.rows([broken])
