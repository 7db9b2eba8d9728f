# SPDX-License-Identifier: BSD-3-Clause
"""The guest's measuring programs, compiled and run on the host: their output, and arguments that they reject."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from testbed.paths import REPO

PERCENTILES = ("mean_ns", "p500_ns", "p900_ns", "p950_ns", "p990_ns", "p999_ns")


def built(project: str, program: str, build: Path) -> Path:
    configure: list[str | Path] = ["cmake", "-G", "Ninja", "-S", REPO / project, "-B", build]
    compilers = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19", "--no-warn-unused-cli"]
    subprocess.run([*configure, *compilers], check=True, capture_output=True)
    subprocess.run(["ninja", "-C", build, program], check=True, capture_output=True)
    return build / program


@pytest.fixture(scope="module")
def calibrate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("guest-image/tools", "calibrate", tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def cores_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cores")


@pytest.fixture(scope="module")
def cores(cores_build: Path) -> Path:
    return built("experiments/workloads/cores", "calibrate-cores", cores_build)


@pytest.fixture(scope="module")
def bench_cores(cores_build: Path) -> Path:
    return built("experiments/workloads/cores", "bench-cores", cores_build)


def run(program: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TESTBED_RESULT": str(folder / "rows")}
    command: list[str | Path] = [program, *arguments, "--file", folder / "file"]
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
    """A quarter of half of 1 MiB is 2048 lines: 1024 samples with --quick, or 256 rows of eight lines."""
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


TWO = ("--cores", "2", "--quick", "--size", str(1 << 20), "--cache", str(1 << 16))


def rows_of_two(cores: Path, folder: Path, *words: str) -> list[dict[str, object]]:
    done = run(cores, folder, *TWO, *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return [json.loads(line) for line in (folder / "rows").read_text().splitlines()]


def test_cores_share_the_mixes_and_pass_over_the_file(cores: Path, tmp_path: Path) -> None:
    got = rows_of_two(cores, tmp_path, "mix-cores", "far-cores")
    assert [(row["test"], row["cores"], row["reads"], row["writes"]) for row in got] == [
        *(("mix-cores", 2, reads, writes) for reads, writes in ((1, 0), (3, 1), (2, 1), (1, 1), (0, 1))),
        ("far-cores", 2, 1, 0),
    ]
    assert all(float(str(row["bandwidth_mb_s"])) > 0 for row in got)


def test_one_core_chases_while_others_stream(cores: Path, tmp_path: Path) -> None:
    got = rows_of_two(cores, tmp_path, "loaded-cores")
    assert [(row["streams"], row["samples"]) for row in got] == [(0, 256), (1, 256)]
    assert all(float(str(row["bandwidth_mb_s"])) > 0 for row in got)  # their order depends on the load of the host


def test_every_core_samples_its_own_chase(cores: Path, tmp_path: Path) -> None:
    """Half of half of 1 MiB is 4096 lines: 512 rows of eight lines for each core."""
    conditions = ["--row", "8", "--cold", "323", "--cached", "143,89,77,72,68,63,58,36"]
    (row,) = rows_of_two(cores, tmp_path, *conditions, "percentiles-cores")
    assert (row["cores"], row["loads"], row["cold_permille"], row["samples"]) == (2, 8, 323, 2 * 512)
    values = [float(str(row[name])) for name in PERCENTILES[1:]]
    assert values == sorted(values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage:"),
        (["--cores", "2", "mix-cores"], "usage:"),
        (["--size", "1M", "--cores", "2", "mix-cores"], "usage:"),
        (["--cores", "33", "--size", "1M", "mix-cores"], "--cores wants a number from 1 to 32, not '33'"),
        (["--cores", "0", "--size", "1M", "mix-cores"], "--cores wants a number from 1 to 32, not '0'"),
        (["--cores", "2", "--size", "much", "mix-cores"], "--size wants a size"),
        (["--cores", "2", "--size", "1048576", "mix"], "no test 'mix'"),
        (["--cores", "2", "--size", "1048576", "--cache", "1048576", "mix-cores"], "--size must be at least twice"),
        (["--cores", "2", "--size", "1048576", "--row", "9", "mix-cores"], "--row must divide the lines of a page"),
    ],
)
def test_bad_arguments_for_many_cores_are_refused(
    cores: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = run(cores, tmp_path, *arguments)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("cpus", ["0", "0,1"])
def test_all_cpus_do_their_part_of_each_work_twice(bench_cores: Path, tmp_path: Path, cpus: str) -> None:
    environment = {**os.environ, "TESTBED_RESULT": str(tmp_path / "rows")}
    done = subprocess.run(["taskset", "-c", cpus, bench_cores, tmp_path / "file"], capture_output=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    got = [json.loads(line) for line in (tmp_path / "rows").read_text().splitlines()]
    works = ["compute", "hash map", "chase, DRAM", "chase, device"]
    assert got == [{"work": work, "cores": len(cpus.split(","))} for work in works for _ in range(2)]
    assert not (tmp_path / "file").exists()


def test_work_for_the_host_to_time_wants_a_file(bench_cores: Path) -> None:
    done = subprocess.run([bench_cores], capture_output=True, text=True)
    assert (done.returncode, "usage: bench-cores FILE" in done.stderr) == (2, True)
