# SPDX-License-Identifier: BSD-3-Clause
"""Replays and sweeps from the user's view: their numbers, the replays they keep, and the errors for bad input."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MANIFEST, MockExecutor, QuietReporter
from rigs.trace_writer import Trace, small_trace
from testbed.errors import RunFailed, TestbedError
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.qemu_line import mem_trace
from testbed.guest.session import Session
from testbed.manifest import parse, render
from testbed.paths import REPO, cache_root
from testbed.replay import verdicts
from testbed.replay.grid import configurations
from testbed.replay.replayer import Replayer, open_replayer
from testbed.results import results
from testbed.run.runner import drive
from testbed.studies import sweep

KEYS = {"qemu": "q" * 64}
GRID = """
[replay.grid]
cache_size = ["64MiB", "128MiB", "8GiB"]
flash_read = ["3us", "10us"]
cache_policy = ["lru", "fifo"]
"""


@pytest.fixture(scope="session")
def replayer() -> Replayer:
    return open_replayer()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "small.trace"
    path.write_bytes(small_trace().bytes())
    return path


@pytest.fixture
def grid_manifest(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(MANIFEST + GRID)
    return path


def testbed(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "testbed", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)


testbed.__test__ = False  # type: ignore[attr-defined]


def play(replayer: Replayer, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([replayer.program, *arguments], capture_output=True, text=True)


class Count:
    """Counts the replays that a progress bar would have shown."""

    def __init__(self) -> None:
        self.made = self.cached = 0

    def replayed(self, count: int, cached: bool) -> None:
        self.made += 0 if cached else count
        self.cached += count if cached else 0


def replay_grid(replayer: Replayer, grid_manifest: Path, trace: Path, folder: Path) -> tuple[list[Any], Count]:
    count = Count()
    points = [sweep.point_of_file(trace)]
    return drive(sweep.replay_all(points, configurations(parse.load(grid_manifest)), replayer, folder, count)), count


# ---- The grid ----


def test_a_grid_is_every_combination_scaled_as_the_manifest_says(grid_manifest: Path) -> None:
    grid = configurations(parse.load(grid_manifest))
    assert len(grid) == 12
    assert grid[0].label == "cache_size=64MiB flash_read=3us cache_policy=lru"
    assert grid[0].assignments == (
        "device.cache-size=1048576",  # 1/64 of 64 MiB
        "device.flash-read-ps=3000000",
        "device.cache-policy=lru",
    )


BAD_GRIDS: list[tuple[str, str]] = [
    ("", "key 'replay.grid' is missing or empty; list values under it"),
    ("[replay.grid]\ncache_siz = ['1GiB']", "unknown key 'replay.grid.cache_siz'; did you mean 'cache_size'?"),
    ("[replay.grid]\ncapacity = ['1GiB']", "unknown key 'replay.grid.capacity'; known keys: "),
    ("[replay.grid]\nl2_size = ['1MiB']", "unknown key 'replay.grid.l2_size'"),
    ("[replay.grid]\ncache_size = []", "key 'replay.grid.cache_size' must list at least one value and none twice"),
    ("[replay.grid]\ncache_size = ['1GiB', '1GiB']", "must list at least one value and none twice"),
    ("[replay.grid]\ncache_size = ['1 parsec']", "key 'replay.grid.cache_size': '1 parsec' is not a number and one of"),
    ("[replay.grid]\nvolatile_size = ['1GiB']", "unknown key 'replay.grid.volatile_size'"),
    ("[replay.grid]\ncache_policy = ['mru']", "key 'replay.grid.cache_policy': 'mru' is not one of lru, fifo"),
    ("[replay]\ngird = 1", "unknown key 'replay.gird'; did you mean 'grid'?"),
]


@pytest.mark.parametrize(("grid", "message"), BAD_GRIDS)
def test_a_bad_grid_is_one_sentence(small_manifest: Path, grid: str, message: str) -> None:
    small_manifest.write_text(MANIFEST + grid)
    with pytest.raises(TestbedError) as caught:
        configurations(parse.load(small_manifest))
    assert caught.value.exit_status == 2
    assert str(caught.value).startswith(f"{small_manifest}: ")
    assert message in str(caught.value)


def test_a_grid_of_devices_that_there_cannot_be_is_refused_by_the_model(
    small_manifest: Path, replayer: Replayer
) -> None:
    small_manifest.write_text(MANIFEST + "[replay.grid]\ncache_size = ['64MiB', '64GiB']")
    stated = parse.load(small_manifest)
    with pytest.raises(TestbedError) as caught:
        verdicts.check_grid(stated, configurations(stated), replayer)
    said = "replay.grid at cache_size=64GiB: device key 'cache_size' (1 GiB) must not exceed capacity"
    assert str(caught.value) == f"{small_manifest}: {said}"


# ---- Replays ----


def test_a_trace_written_from_the_document_is_read(replayer: Replayer, trace: Path) -> None:
    done = play(replayer, "--json", trace)
    data = json.loads(done.stdout)
    region = data["regions"][0]
    assert (data["complete"], region["id"], region["counters"]["cxl-reads"]) == (True, 7, 1000)
    assert region["counters"]["loads"] == 1000  # as captured: a replay has no CPU caches
    hit_ps = 20_000 + 2 * 100_000 + 2_000 + 30_000 + 50_000
    hits, misses = region["counters"]["cache-hits"], region["counters"]["cache-misses"]
    assert hits + misses == 1000
    assert region["counters"]["stall-cxl-hit-ps"] == hits * hit_ps
    assert region["end-ps"] - region["begin-ps"] >= 1000 * 100_000 + 1000 * hit_ps + misses * 10_000_000


def test_a_value_is_replayed_as_if_it_had_been_captured(replayer: Replayer, tmp_path: Path, trace: Path) -> None:
    other = small_trace()
    other.device = other.device.replace("flash-read-ps=10000000", "flash-read-ps=3000000")
    (tmp_path / "other.trace").write_bytes(other.bytes())

    def regions(*arguments: str | Path) -> Any:
        return json.loads(play(replayer, "--json", *arguments).stdout)["regions"]

    assert regions("--set", "device.flash-read=3us", trace) == regions(tmp_path / "other.trace")
    assert regions(trace) != regions(tmp_path / "other.trace")


def test_check_names_what_is_not_as_captured(replayer: Replayer, trace: Path) -> None:
    done = play(replayer, "--check", trace)
    assert done.returncode == 1  # the writer of this trace records neither stalls nor counters
    assert "region 7: end_ps is " in done.stdout
    assert "NOT as captured" in done.stdout


def damaged(change: Callable[[bytes], bytes]) -> bytes:
    return change(small_trace().bytes())


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


BAD_TRACES: list[tuple[bytes, str]] = [
    (damaged(lambda b: b[:-100]), "is cut short within a block"),
    (damaged(lambda b: b[: len(small_trace().header()) + 10]), "is cut short: it has no end"),
    (small_trace().bytes(end=False), "is cut short: it has no end"),
    (damaged(lambda b: flipped(b, len(b) - 50)), "is damaged"),
    (damaged(lambda b: flipped(b, 60)), "has a damaged header"),
    (damaged(lambda b: b[:30]), "is cut short in its header"),
    (b"", "is no trace"),
    (b"MZ" * 500, "is no trace"),
    (Trace(version=2).bytes(), "has another format version than this program reads; capture it again"),
    (
        Trace(device="capacity=1 flash-chanels=4").bytes(),
        "a parameter that this program does not know: device0.flash-chan",
    ),
    (Trace(device="capacity=4096").bytes(), "was captured with a configuration that is refused now: "),
    (Trace(cpu="l1d-size=much").bytes(), "states an impossible value: cpu.l1d-size"),
]


@pytest.mark.parametrize(("content", "message"), BAD_TRACES)
def test_a_bad_trace_is_one_sentence_and_status_2(
    replayer: Replayer, tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "bad.trace"
    path.write_bytes(content)
    done = play(replayer, str(path))
    assert done.returncode == 2
    assert done.stderr.startswith(f"memsys-replay: {path} ")
    assert message in done.stderr
    assert done.stdout == ""


def test_what_is_before_the_cut_can_be_replayed(tmp_path: Path) -> None:
    path = tmp_path / "cut.trace"
    path.write_bytes(small_trace().bytes(end=False))
    done = testbed("replay", "--", "--partial", "--json", str(path))
    assert done.returncode == 0
    data = json.loads(done.stdout)
    assert (data["complete"], len(data["regions"]), data["regions"][0]["whole"]) == (False, 1, True)


def test_a_region_that_is_cut_is_reported_as_such(replayer: Replayer, tmp_path: Path) -> None:
    cut = small_trace(end_region=False)
    (tmp_path / "cut.trace").write_bytes(cut.bytes(end=False))
    done = play(replayer, "--partial", "--json", tmp_path / "cut.trace")
    region = json.loads(done.stdout)["regions"][0]
    assert (region["whole"], region["counters"]["cxl-reads"]) == (False, 1000)
    assert "the trace ends within it" in play(replayer, "--partial", tmp_path / "cut.trace").stdout


BAD_OPTIONS: list[tuple[list[str], str]] = [
    (["--set", "device.cache-siz=1M"], "--set unknown key 'device.cache-siz'; did you mean 'device.cache-size'?"),
    (["--set", "device.cache-size=3G"], "cache_size"),
    (["--set", "device.cache-size=12parsec"], "must be a whole number of bytes"),
    (["--set", "cpu.l2-size=1M"], "'cpu.l2-size' shapes the trace itself"),
    (["--grid", "/no/such/grid"], "cannot read /no/such/grid"),
    (["--grid", "/dev/null"], "/dev/null holds no configuration"),
    (["--check", "--set", "device.cache-size=1M"], "--check replays as captured"),
    (["--no-such-option"], "usage: memsys-replay"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_a_bad_option_is_status_2(replayer: Replayer, trace: Path, options: list[str], message: str) -> None:
    done = play(replayer, *options, str(trace))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_bad_line_of_a_grid_is_found_before_anything_is_replayed(replayer: Replayer, trace: Path) -> None:
    with pytest.raises(TestbedError, match=r"-: line 2: .*cache_size") as caught:
        replayer.check(trace, [("device.cache-size=65536",), ("device.cache-size=2147483648",)])
    assert caught.value.exit_status == 2


def test_what_the_model_refuses_is_named_by_its_values(replayer: Replayer, grid_manifest: Path, tmp_path: Path) -> None:
    small = Trace(device=small_trace().device.replace("capacity=536870912", "capacity=4194304"))
    (tmp_path / "small.trace").write_bytes(small.bytes())
    points = [sweep.point_of_file(tmp_path / "small.trace")]
    with pytest.raises(TestbedError, match=r"grid.toml: replay.grid at cache_size=8GiB .*cache_size"):
        sweep.check_all(points, configurations(parse.load(grid_manifest)), replayer, grid_manifest)


# ---- Kept replays ----


def test_a_second_sweep_replays_nothing(replayer: Replayer, grid_manifest: Path, trace: Path, tmp_path: Path) -> None:
    first, count = replay_grid(replayer, grid_manifest, trace, tmp_path / "r")
    assert (count.made, count.cached) == (12, 0)
    second, count = replay_grid(replayer, grid_manifest, trace, tmp_path / "r")
    assert (count.made, count.cached) == (0, 12)
    assert first == second


def test_only_what_is_new_is_replayed(replayer: Replayer, grid_manifest: Path, trace: Path, tmp_path: Path) -> None:
    replay_grid(replayer, grid_manifest, trace, tmp_path / "r")
    grid_manifest.write_text(grid_manifest.read_text().replace('"10us"]', '"10us", "20us"]'))
    _, count = replay_grid(replayer, grid_manifest, trace, tmp_path / "r")
    assert (count.made, count.cached) == (6, 12)


def test_replays_are_what_one_at_a_time_gives(
    replayer: Replayer, grid_manifest: Path, trace: Path, tmp_path: Path
) -> None:
    rows, _ = replay_grid(replayer, grid_manifest, trace, tmp_path / "r")
    for row, configuration in zip(rows, configurations(parse.load(grid_manifest)), strict=True):
        words = [word for assignment in configuration.assignments for word in ("--set", assignment)]
        done = play(replayer, "--json", *words, trace)
        assert json.loads(done.stdout)["regions"] == row.data["regions"]
    best, middle, worst = (row.roi_ps for _, _, row in sweep.summary(rows))
    assert best < middle <= worst
    lines = sweep.csv_text(rows).splitlines()
    assert (len(lines), lines[0][:54]) == (13, "point,cache_size,flash_read,cache_policy,roi_ps,hit_ra")


def test_a_sweep_that_is_interrupted_keeps_what_is_finished(
    replayer: Replayer, grid_manifest: Path, tmp_path: Path
) -> None:
    (tmp_path / "long.trace").write_bytes(small_trace(10_000).bytes())
    text = grid_manifest.read_text().replace('"lru", "fifo"', '"lru", "fifo", "clock", "2q", "s3-fifo", "random"')
    grid_manifest.write_text(text)
    points, folder = [sweep.point_of_file(tmp_path / "long.trace")], tmp_path / "r"

    class Stop(Count):
        def replayed(self, count: int, cached: bool) -> None:
            super().replayed(count, cached)
            if self.made == 5:
                os.kill(os.getpid(), signal.SIGINT)

    # A background job ignores SIGINT, and its children inherit that.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            drive(
                sweep.replay_all(points, configurations(parse.load(grid_manifest)), replayer, folder, Stop(), at_once=1)
            )
    finally:
        signal.signal(signal.SIGINT, inherited)
    assert 5 <= len(list(folder.rglob("*.replay"))) < 36
    _, count = replay_grid(replayer, grid_manifest, tmp_path / "long.trace", folder)
    assert count.made + count.cached == 36
    assert count.cached >= 5


def test_a_damaged_replay_is_named(replayer: Replayer, grid_manifest: Path, trace: Path, tmp_path: Path) -> None:
    replay_grid(replayer, grid_manifest, trace, tmp_path / "r")
    first = min((tmp_path / "r").rglob("*.replay"))
    first.write_text(first.read_text()[:-20])
    with pytest.raises(TestbedError, match=r"\.replay is not whole JSON"):
        replay_grid(replayer, grid_manifest, trace, tmp_path / "r")


# ---- Captures ----


def capture(path: Path, root: Path, executor: MockExecutor) -> list[Path]:
    runs = render.runs(path)
    return drive(sweep.capture_all(runs, Session(executor, KEYS), root, QuietReporter()))


def with_trace(spec: GuestSpec) -> GuestOutcome:
    assert spec.trace is not None
    spec.trace.write_bytes(small_trace().bytes())
    return GuestOutcome("ok", 0)


def test_a_point_is_captured_once(small_manifest: Path, tmp_path: Path) -> None:
    executor = MockExecutor(with_trace)
    first = capture(small_manifest, tmp_path / "r", executor)
    assert capture(small_manifest, tmp_path / "r", executor) == first
    assert len(executor.started) == 3
    assert [path.read_bytes() for path in first] == [small_trace().bytes()] * 3
    assert len(results.load_all(tmp_path / "r")) == 3


def test_a_failed_capture_leaves_no_trace(small_manifest: Path, tmp_path: Path) -> None:
    def dies(spec: GuestSpec) -> GuestOutcome:
        with_trace(spec)
        return GuestOutcome("panic", console="Oops")

    with pytest.raises(RunFailed, match="panic while its trace was captured"):
        capture(small_manifest, tmp_path / "r", MockExecutor(dies))
    assert [p for p in (tmp_path / "r").rglob("*") if "trace" in p.name] == []


def test_qemu_is_asked_for_a_trace_by_one_object(tmp_path: Path) -> None:
    assert mem_trace(tmp_path / "a,b") == f"mem-trace,id=trace0,file={tmp_path}/a,,b"


# ---- The command ----


def test_sweep_prints_a_table_and_writes_both_files(grid_manifest: Path, trace: Path, tmp_path: Path) -> None:
    arguments = ["sweep", str(grid_manifest), "--replay", "--trace", str(trace)]
    files = ["--json", str(tmp_path / "out.json"), "--csv", str(tmp_path / "out.csv")]
    environment = {"TESTBED_RESULTS": str(tmp_path / "results"), "TESTBED_CACHE": str(cache_root()), "COLUMNS": "160"}
    done = testbed(*arguments, *files, **environment)
    assert done.returncode == 0, done.stderr
    for word in ("12 configurations a point", "best", "median", "worst", "flash_read=10us"):
        assert word in done.stdout
    rows = json.loads((tmp_path / "out.json").read_text())
    assert (len(rows), rows[0]["point"], rows[0]["cache_size"]) == (12, "small", "64MiB")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 13


def test_sweep_draws_what_the_manifest_plots(grid_manifest: Path, trace: Path, tmp_path: Path) -> None:
    """The plot omits values that only a run in a guest reports, and a series that no replay has."""
    plot = '[plot]\nx = "cache_size"\ny = ["requests_per_s", "hit_rate"]\nseries = "test"\n'
    grid_manifest.write_text(grid_manifest.read_text().replace("[replay.grid]", plot + "[replay.grid]"))
    name = parse.load(grid_manifest).name
    done = testbed(
        "sweep", str(grid_manifest), "--replay", "--trace", str(trace), TESTBED_RESULTS=str(tmp_path / "results")
    )
    assert done.returncode == 0, done.stderr
    table = (REPO / "build" / "figures" / f"{name}-replay.csv").read_text().splitlines()
    assert "hit_rate" in table[0]
    assert len(table) == 13
    assert "flash_read 3us cache_policy lru" in table[1]
    assert f"{name}-replay.svg" in done.stdout.replace("\n", "")


def test_sweep_wants_to_be_told_how(grid_manifest: Path) -> None:
    done = testbed("sweep", str(grid_manifest))
    assert (done.returncode, "needs --replay" in done.stderr or "--replay" in done.stderr) == (2, True)


def test_a_trace_that_is_not_there(grid_manifest: Path) -> None:
    done = testbed("sweep", str(grid_manifest), "--replay", "--trace", "/no/such.trace")
    assert (done.returncode, "cannot read /no/such.trace" in done.stderr) == (2, True)
