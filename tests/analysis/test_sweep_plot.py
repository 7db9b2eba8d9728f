# SPDX-License-Identifier: BSD-3-Clause
"""The table and figure of a manifest with a [plot], from synthetic results."""

from pathlib import Path
from typing import Any

import pytest

from analysis.charts import files
from analysis.data import records
from analysis.data.drawn import Gathered
from analysis.studies import sweep_plot
from conftest import MANIFEST
from testbed.errors import TestbedError
from testbed.manifest import parse
from testbed.results.results import Result
from testbed.studies.sweep import Replayed

PLOT = """cache_size = ["64MiB", "256MiB", "1GiB"]
[results]
pattern = '^(?P<test>[A-Z]+) (?P<rate>[0-9.]+)$'
[plot]
x = "cache_size"
y = ["time", "rate"]
series = "test"
"""
PATTERN = r"^(?P<test>[A-Z]+) (?P<rate>[0-9.]+)$"


def result(size: str, misses: int, stdout: str, rows: list[dict[str, Any]] | None = None) -> Result:
    roi = {
        "begin-ps": 10**6,
        "end-ps": 10**6 + misses * 10**7,
        "counters": {"cache-hits": 3 * misses, "cache-misses": misses},
    }
    return Result(Path("r.json"), {"point": {"cache_size": size}, "rois": [roi], "rows": rows or [], "stdout": stdout})


RESULTS = [result(size, misses, "SET 12.5\nGET 40\n") for size, misses in (("64MiB", 400), ("256MiB", 20), ("1GiB", 1))]


@pytest.fixture
def study(small_manifest: Path) -> sweep_plot.Study:
    text = MANIFEST.replace('-mss"', '-mss"\noverride = { cache_size = "{cache_size}" }')
    small_manifest.write_text(
        text.replace('engine = ["snapshot", "pmdk", "volatile"]\n', PLOT).replace("{engine}", "e")
    )
    return sweep_plot.of_results(parse.load(small_manifest), RESULTS)


def test_a_record_is_a_row_at_its_point_with_the_models_counts() -> None:
    found = records.of_results(RESULTS, PATTERN)
    assert found.stated == ["test", "rate"]
    assert found.all[1] == {
        "test": "GET", "rate": 40, "cache_size": "64MiB", "cache-hits": 1200, "cache-misses": 400, "time": 4 * 10**9,
        "hit_rate": 0.75,
    }  # fmt: skip


def test_rows_that_the_program_wrote_come_with_those_in_its_output() -> None:
    found = records.of_results([result("64MiB", 1, "SET 1.5", [{"test": "own", "list": [1]}])], PATTERN)
    assert [record["test"] for record in found.all] == ["own", "SET"]
    assert "list" not in found.all[0]


def test_a_run_without_rows_or_region_is_a_record() -> None:
    lone = Result(Path("r.json"), {"point": {"a": 1}, "rois": [], "rows": [], "stdout": ""})
    assert records.of_results([lone]).all == [{"a": 1}]


def test_a_replay_is_a_record_at_the_point_it_was_captured_at() -> None:
    region = {"whole": True, "begin-ps": 0, "end-ps": 7, "counters": {"cache-hits": 1, "cache-misses": 1}}
    replay = Replayed("p", {"cache_size": "64MiB"}, {"regions": [region]})
    found = records.of_replays([replay], {"p": {"test": "SET", "cache_size": "1GiB"}})
    assert found.all[0] | {"test": "SET", "cache_size": "64MiB", "time": 7, "hit_rate": 0.5} == found.all[0]


def test_the_table_states_scale_ratios_and_every_row(study: sweep_plot.Study) -> None:
    text = sweep_plot.table_text(study)
    assert "scale 1/64, snapshot-paper-mss; in the guest: device cache 1 MiB to 16 MiB, LLC " in text
    assert "(ratio 2." in text
    assert [line.split()[:3] for line in text.splitlines()[3:5]] == [["64MiB", "SET", "12.5"], ["64MiB", "GET", "40"]]


def test_lines_are_the_series_over_the_axis(study: sweep_plot.Study) -> None:
    assert sweep_plot.lines_of(study, "rate")["GET"] == [("64MiB", 40.0), ("256MiB", 40.0), ("1GiB", 40.0)]
    assert [sweep_plot.quantity(x) for x in ("64MiB", "3us", 5, "lru")] == [64 << 20, 3e6, 5.0, None]


def test_equal_results_give_equal_files(study: sweep_plot.Study, tmp_path: Path) -> None:
    one, two = (files.write(sweep_plot.figure(study), tmp_path / name) for name in ("1", "2"))
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]
    assert {p.suffix for p in one} == {".svg", ".pdf", ".png", ".json", ".txt", ".csv"}
    assert "cache-hits" in (tmp_path / "1" / "small.csv").read_text().splitlines()[0]


@pytest.mark.parametrize(("key", "value"), [("x", "cache"), ("y", ["rates"]), ("series", "tests")])
def test_a_name_that_no_result_has_is_refused(study: sweep_plot.Study, key: str, value: Any) -> None:
    plot = study.plot.model_copy(update={key: value})
    wrong = sweep_plot.Study(study.manifest.model_copy(update={"plot": plot}), study.machines, study.records)
    with pytest.raises(TestbedError, match=rf"small\.toml: key 'plot\.{key}': .* is not in the results; there are: ca"):
        sweep_plot.check(wrong)


def test_the_catalogue_draws_a_manifest_that_ships(tmp_path: Path) -> None:
    text = '"test","rps"\n"SET","41322.31","0.189","0.064","0.183","0.263","0.327","1.015"\n'
    mine = [result(size, 4, text) for size in ("16MiB", "1GiB")]
    mine = [Result(r.path, r.data | {"scale": 64, "point": r.point | {"fsync": "always"}}) for r in mine]
    drawn = sweep_plot.drawn("redis")(Gathered({"redis": mine}))
    first = dict(zip(drawn.columns, drawn.rows[0], strict=True))
    assert (drawn.name, len(drawn.rows)) == ("redis", 2)
    assert first | {"test": "SET", "requests_per_s": 41322.0, "p99_ms": 0.327, "time, ms": 0.04} == first
    assert "device cache 256 KiB to 16 MiB, LLC " in drawn.caption
    assert {path.name for path in files.write(drawn, tmp_path)} == {
        f"redis.{kind}" for kind in ("svg", "pdf", "png", "plot.json", "txt", "csv")
    }
