# SPDX-License-Identifier: BSD-3-Clause
"""The table and figure of all engines, from results made up here."""

from pathlib import Path

import pytest

from analysis import engines
from testbed.errors import RunFailed
from testbed.results import Result

MACHINE = {"device": {"name": "optane-dcpmm", "cache_size": 2 << 20}, "cpu": {"llc_size": 352 << 10}}


def result(engine: str, times: dict[str, int]) -> Result:
    rows = [{"program": "list", "engine": engine, "phase": phase, "roi_ns": ns} for phase, ns in times.items()]
    data = {"point": {"engine": engine}, "scale": 64, "rows": rows, "manifest": "list"}
    return Result(Path("r.json"), data | {"identity": {"machine": MACHINE}})


RESULTS = [
    result("pmdk", {"insert": 4_000_000, "traverse": 2_000_000}),
    result("snapshot", {"insert": 1_000_000, "traverse": 2_000_000}),
    result("famus-snap", {"insert": 80_000_000, "traverse": 2_000_000}),
]


def test_ratios_are_to_pmdk_beside_the_published_of_the_same_device() -> None:
    table = {(row.operation, row.engine): row for row in engines.rows(RESULTS)}
    assert table["insert", "snapshot"].ratio == 4
    assert table["insert", "snapshot"].published == pytest.approx(3.368 / 4.133)
    assert table["insert", "famus-snap"].ratio == pytest.approx(0.05)
    assert table["insert", "famus-snap"].published is None


def test_snapshot_nv_is_compared_with_pmdk_of_the_same_run() -> None:
    assert engines.published("kv", "pm")["E", "snapshot-nv"] == pytest.approx(5.875 / 8.827)
    assert engines.published("kv", None) == {}


def test_the_table_states_scale_and_both_ratios() -> None:
    text = engines.table_text(engines.rows(RESULTS), RESULTS)
    assert "scale 1/64" in text
    assert "4.00 (0.81)" in text
    assert "4.000 ms" in text


def test_equal_results_give_equal_files(tmp_path: Path) -> None:
    table = engines.rows(RESULTS)
    one, two = (engines.write(table, RESULTS, tmp_path / name) for name in ("1", "2"))
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]


def test_a_result_without_a_time_is_named() -> None:
    with pytest.raises(RunFailed, match=r"r\.json: the program reported no roi_ns"):
        engines.rows([*RESULTS, result("volatile", {})])
