# SPDX-License-Identifier: BSD-3-Clause
"""The guest's measuring programs, compiled and run here: what they print, and what they refuse."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from testbed.paths import REPO

PERCENTILES = ("mean_ns", "p500_ns", "p900_ns", "p950_ns", "p990_ns", "p999_ns")


@pytest.fixture(scope="module")
def calibrate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("programs")
    configure = ["cmake", "-G", "Ninja", "-S", REPO / "guest-image" / "programs", "-B", build]
    compilers = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19"]
    for command in ([*configure, *compilers], ["ninja", "-C", build, "calibrate"]):
        subprocess.run(command, check=True, capture_output=True)
    return build / "calibrate"


def run(program: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TESTBED_RESULT": str(folder / "rows")}
    command = [program, "--file", folder / "file", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def rows(program: Path, folder: Path, *tests: str) -> list[dict[str, object]]:
    done = run(program, folder, "--quick", "--size", "1M", "--cache", "64K", *tests)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (folder / "file").exists()
    return [json.loads(line) for line in (folder / "rows").read_text().splitlines()]


def test_a_chase_doubles_its_working_set_up_to_the_file(calibrate: Path, tmp_path: Path) -> None:
    sets = [row["set_bytes"] for row in rows(calibrate, tmp_path, "chase")]
    assert sets == [4096 << i for i in range(9)]


def test_random_sets_miss_the_device_cache_at_the_rate_they_are_named_by(calibrate: Path, tmp_path: Path) -> None:
    got = [(int(str(row["miss_permille"])), int(str(row["set_bytes"]))) for row in rows(calibrate, tmp_path, "random")]
    assert got[0] == (0, 32 << 10)
    assert [miss for miss, _ in got[1:]] == [163, 500, 918, 938]
    assert all(1 - (64 << 10) / size == pytest.approx(miss / 1000, abs=1e-3) for miss, size in got[1:])


def test_latencies_come_as_ordered_percentiles(calibrate: Path, tmp_path: Path) -> None:
    for row in rows(calibrate, tmp_path, "percentiles", "loaded"):
        values = [float(str(row[name])) for name in PERCENTILES[1:]]
        assert values == sorted(values)
        assert row["mean_ns"]


def test_a_sample_of_the_chases_is_a_row_of_loads(calibrate: Path, tmp_path: Path) -> None:
    """A quarter of half of 1 MiB is 2048 lines: 1024 samples of a quick look, or 256 rows of eight."""
    (tmp_path / "eight").mkdir()
    single = rows(calibrate, tmp_path, "percentiles")[0]
    conditions = ["--row", "8", "--cold", "323", "--cached", "143,89,77,72,68,63,58,36"]
    eight = rows(calibrate, tmp_path / "eight", *conditions, "percentiles")[0]
    assert (single["loads"], single["cold_permille"], single["samples"]) == (1, 1000, 4 * 1024)
    assert (eight["loads"], eight["cold_permille"], eight["samples"]) == (8, 323, 4 * 256)


def test_one_core_passes_over_the_file_in_each_way(calibrate: Path, tmp_path: Path) -> None:
    got = rows(calibrate, tmp_path, "core")
    assert [row["pass"] for row in got] == ["load", "update", "copy", "store", "nt-copy", "nt-store"]
    assert all(float(str(row["bandwidth_mb_s"])) > 0 for row in got)


def test_paced_loads_name_their_region(calibrate: Path, tmp_path: Path) -> None:
    assert [row["roi"] for row in rows(calibrate, tmp_path, "mix", "paced")[5:]] == list(range(6, 20))


def test_bandwidth_and_writes_cover_their_grids(calibrate: Path, tmp_path: Path) -> None:
    got = rows(calibrate, tmp_path, "mix", "far", "far-write")
    assert [(row["reads"], row["writes"]) for row in got] == [(1, 0), (3, 1), (2, 1), (1, 1), (0, 1), (1, 0), (0, 1)]
    assert all(float(str(row["bandwidth_mb_s"])) > 0 for row in got)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage:"),
        (["--size", "1M"], "usage:"),
        (["--size", "3M", "chase"], "--size must be a power of two of at least 1M"),
        (["--size", "1M", "--cache", "1M", "chase"], "--size must be at least twice --cache"),
        (["--size", "1M", "--page", "100", "chase"], "--page must be a multiple of 64"),
        (["--size", "1M", "chess"], "no test 'chess'"),
        (["--size", "much", "chase"], "--size wants a size"),
        (["--size", "1M", "--row", "0", "chase"], "--row wants a number from 1 to 1024, not '0'"),
        (["--size", "1M", "--cold", "1001", "chase"], "--cold wants a number from 1 to 1000, not '1001'"),
        (["--size", "1M", "--cached", "5,x", "chase"], "--cached wants a number from 1 to 1000, not 'x'"),
        (["--size", "1M", "--row", "2", "--cached", "600,600", "chase"], "--cached: together at most 1000, not 1200"),
        (["--size", "1M", "--cached", "1,2", "chase"], "--cached states 2 numbers, but a row has 1 lines"),
    ],
)
def test_bad_arguments_are_refused(calibrate: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run(calibrate, tmp_path, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "file").exists()
