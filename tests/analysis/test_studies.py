# SPDX-License-Identifier: BSD-3-Clause
"""The studies beyond the published ones, from synthetic results: the contents of their tables, and equal files."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.charts import files
from analysis.data import tables
from analysis.data.drawn import Drawn, Gathered
from analysis.figures import (
    file_latency,
    filework,
    kyoto_modes,
    memcached_checkpoints,
    metadata_updates,
    mtree_costs,
    page_commits,
    stl_map,
)
from analysis.studies import (
    checkpoint_costs,
    epoch_lengths,
    epoch_recovery,
    equal_dram,
    log_merging,
    overwrites,
    pages_lines,
    recovery_time,
    sensitivity,
    tail_latency,
    write_amplification,
)
from testbed.errors import RunFailed
from testbed.results.results import Result
from testbed.studies.sweep import Replayed

DEVICE = {"name": "snapshot-paper-mss", "cache_size": 2 << 20, "cache_page_size": 4096}
MACHINE = {"device": DEVICE, "cpu": {"llc_size": 352 << 10}}


def result(point: dict[str, Any], rows: list[dict[str, Any]], counters: dict[str, int] | None = None) -> Result:
    rois = [{"id": 1, "counters": counters}] if counters else []
    data = {"point": point, "scale": 64, "rows": rows, "rois": rois, "manifest": "m", "identity": {"machine": MACHINE}}
    return Result(Path("r.json"), data)


def equal_files(draw: Any, gathered: Gathered, tmp_path: Path) -> Drawn:
    """Draw twice: equal results must give equal bytes. The figure has the rows of its files."""
    one, two = (files.write(draw(gathered), tmp_path / name) for name in ("1", "2"))
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]
    assert {p.suffix for p in one} == {".svg", ".pdf", ".png", ".json", ".txt", ".csv"}
    made = draw(gathered)
    assert isinstance(made, Drawn)
    assert all(len(row) == len(made.columns) for row in made.rows)
    return replace(made, rows=tables.rounded(made.rows))


# ---- Tail latency ----


def timed(engine: str, workload: str, operations: Sequence[str]) -> Result:
    point = {"workload": workload, "engine": engine}
    row = {"engine": engine, "workload": workload, "roi_ns": 2_000_000, "operations": 1000}
    quantiles = {"p50_ns": 10, "p90_ns": 20, "p99_ns": 20, "p99_9_ns": 30, "p99_99_ns": 30, "max_ns": 30}
    more = {"clock_ns": 9, "count": 1000, "histogram": "10:700 20:299 30:1"} | quantiles
    kinds = [{"engine": engine, "workload": workload, "operation": kind} | more for kind in operations]
    return result(point, [row, *kinds])


KINDS = {"A": ("read", "update"), "C": ("read",), "D": ("insert",), "E": ("scan",), "F": ("read-modify-write",)}
TIMED = [timed(engine, w, kinds) for engine in ("pmdk", "snapshot") for w, kinds in KINDS.items()]


def test_latencies_have_a_row_a_kind_of_request(tmp_path: Path) -> None:
    plain = result({"workload": "A", "engine": "pmdk"}, [{"roi_ns": 1_950_000, "operations": 1000}])
    drawn = equal_files(tail_latency.drawn, Gathered({"kv-latency": TIMED, "kv-ycsb": [plain]}), tmp_path)
    assert list(drawn.rows[1]) == ["A", "update", "pmdk", 1000, 10, 20, 20, 30, 30, 30]
    assert len(drawn.rows) == 12
    assert any("50 to 50 ns longer" in note for note in drawn.notes)
    assert "9 to 9 ns" in drawn.notes[0]


def test_the_share_that_is_slower_falls_from_bucket_to_bucket_and_ends_at_the_longest() -> None:
    times, shares = tail_latency.rows(TIMED)[0].slower
    assert times == [10, 20, 30]
    assert shares == pytest.approx([0.3, 0.001, 0.001])


# ---- Write amplification ----


def run(engine: str, workload: str, updates: int, inserts: int, **counters: int) -> Result:
    row = {"engine": engine, "workload": workload, "roi_ns": 1, "updates": updates, "inserts": inserts}
    return result(
        {"workload": workload, "engine": engine}, [row], {k.replace("_", "-"): v for k, v in counters.items()}
    )


def test_amplification_is_per_byte_that_the_program_updates(tmp_path: Path) -> None:
    wear = run("pmdk", "G", 1000, 0, cxl_writes=5000, flash_programs=120, flash_gc_moves=20, flash_erases=2)
    engines = [run("snapshot", "A", 500, 0, cxl_writes=2000, flash_programs=10), run("pmdk", "C", 0, 0, cxl_reads=1)]
    engines += [run("volatile", "A", 500, 0, loads=1)]
    drawn = equal_files(write_amplification.drawn, Gathered({"engines": engines, "wear": [wear]}), tmp_path)
    rows = {(row[1], row[2]): list(row[3:]) for row in drawn.rows}
    assert rows["A", "snapshot"] == [2000, 64.0, 20.48, 0.32, None, 10, 0]
    assert rows["G", "pmdk"] == [4000, 80.0, 122.88, 1.536, 1.2, 120, 2]
    assert len(rows) == 2


def test_an_insert_counts_its_key() -> None:
    line = write_amplification.written(run("pmdk", "D", 0, 10, cxl_writes=1))
    assert line is not None and line.updated_bytes == 270


# ---- Recovery ----


def opened(engine: str, crash: str, records: int, ms: int, verified: bool = True) -> Result:
    row = {"engine": engine, "crash": crash, "roi_ns": ms * 1_000_000, "records": records, "operations": 5000}
    row |= {"file_bytes": 8 << 20, "lines_undone": 0, "lines_replayed": 3, "verified": verified, "problem": "odd"}
    return result({"engine": engine, "crash": crash}, [row])


def test_opening_is_in_milliseconds_by_data(tmp_path: Path) -> None:
    results = [opened("snapshot", "closed", n, ms) for n, ms in ((2**20, 40), (2**22, 160))]
    drawn = equal_files(recovery_time.drawn, Gathered({"recovery": results}), tmp_path)
    assert list(drawn.rows[0]) == ["snapshot", "closed", 2**20, 44.0, 8.0, 40.0, 0, 3]
    assert "5000 updates" in drawn.notes[0]


def test_a_pool_that_came_back_wrong_is_no_measurement() -> None:
    with pytest.raises(RunFailed, match=r"r\.json: .* odd"):
        recovery_time.opening(opened("pmdk", "before-commit", 1, 1, verified=False))


# ---- Reads and writes of a file ----


def fio(policy: str, rw: str, means_us: dict[str, float]) -> Result:
    """fio's terse lines, with unused fields 0."""
    idle, used = "0;" * 41, "31;15625;250000;2;0;0;0;0;1;6;{};0;" + "1%=1;" * 12 + "99.000000%=2;" + "0;" * 16
    lines = [
        f"3;fio-3.39;{name};0;0;" + (idle if rw == "randwrite" else "") + used.format(mean) + "end"
        for name, mean in means_us.items()
    ]
    made = result({"device": "optane-dcpmm", "policy": policy, "rw": rw}, [])
    return Result(made.path, made.data | {"stdout": "\n".join(lines)})


def test_small_writes_that_are_not_aligned_are_compared_with_the_published_ones(tmp_path: Path) -> None:
    found = []
    for policy, us in (("ext4-dax", 1.0), ("xfs-dax", 1.5), ("inplace", 1.0), ("cow", 4.0), ("hybrid", 2.0)):
        means = {"64-0": us, "64-13": us, "2048-0": us, "2048-13": 1.0 if policy == "hybrid" else us}
        found += [fio(policy, "randwrite", means), fio(policy, "randread", {"64-0": 1.0, "64-13": 1.0})]
    drawn = equal_files(file_latency.drawn, Gathered({file_latency.NAME: found}), tmp_path)
    assert [row[1:3] for row in drawn.rows] == [["write", 64], ["write", 2048], ["read", 64]]
    assert list(drawn.rows[0][3:]) == [1.0, 1.0, 1.5, 1.5, 1.0, 1.0, 4.0, 4.0, 2.0, 2.0, "50", "50"]
    (compared,) = drawn.comparisons
    assert (compared.ours, round(compared.published, 3)) == (2.0, 2.381)
    assert "50 % less time; published 58 %" in drawn.notes[-1]


# ---- Mail servers and web proxies ----


def flows(policy: str, threads: int, flow: str, roi_ns: int) -> Result:
    calls = dict.fromkeys(filework.CALLS, 100) | ({"fsync": 0} if flow == "webproxy" else {})
    row: dict[str, Any] = {"program": "filework", "files": 1563, "width": 100, "loops": 500}
    row |= {"operations": sum(calls.values()), "roi_ns": roi_ns}
    for call, count in calls.items():
        row |= {f"{call}_calls": count, f"{call}_ns": 2000 * count}
    return result({"device": "optane-dcpmm", "threads": threads, "policy": policy, "flow": flow}, [row])


def test_flows_are_compared_with_what_was_published_at_ten_threads(tmp_path: Path) -> None:
    found = [
        flows(policy, threads, flow, 100_000 if policy == "cow" and threads == 10 else 70_000)
        for threads in (1, 10)
        for policy in filework.POLICIES
        for flow in ("varmail", "webproxy")
    ]
    drawn = equal_files(filework.drawn, Gathered({filework.NAME: found}), tmp_path)
    assert [row[1:3] for row in drawn.rows] == [["varmail", 1], ["varmail", 10], ["webproxy", 1], ["webproxy", 10]]
    assert list(drawn.rows[1][3:]) == [1e4, 1e4, 1e4, 7e3, 1e4, 1e4, "42.9"]
    (compared,) = drawn.comparisons
    assert (compared.group, round(compared.ours, 4), compared.published) == ("varmail", 1.4286, 1.33)
    assert drawn.notes[-1] == "varmail, 10 threads: 43 % more; published 33 %"
    assert "append 2.0, fsync 2.0, open" in drawn.notes[4] and "append 2.0, open" in drawn.notes[6]
    assert "(scaled down)" in (tmp_path / "1" / "filework.svg").read_text()


# ---- Memcached with checkpoints ----


def served(engine: str, writes: int, roi_ns: int, depth: int = 16) -> Result:
    row: dict[str, Any] = {"engine": engine, "records": 15_625, "value_bytes": 1000, "depth": depth}
    row |= {"operations": 1000, "roi_ns": roi_ns, "server_cpu_ns": roi_ns // 2 + 100, "checkpoints": 0, "epoch_ns": 0}
    if engine in ("msync", *memcached_checkpoints.CHECKPOINTS):
        row |= {"checkpoints": 4, "epoch_ns": 3_125_000, "stop_ns": 20_000, "longest_stop_ns": 9000}
    if engine in memcached_checkpoints.CHECKPOINTS:
        row |= {"lost_writes": 17, "restart_ns": 2_500_000}
    return result({"device": "optane-dcpmm", "engine": engine, "writes": writes}, [row])


def test_memcached_is_set_against_itself_in_dram(tmp_path: Path) -> None:
    times = {"volatile": 100_000, "device": 180_000, "msync": 150_000, "snapshot": 104_000, "fams-uffd": 120_000}
    found = [served(engine, writes, ns + 1000 * writes) for engine, ns in times.items() for writes in (0, 100)]
    single = [served("volatile", 0, 400_000, 1), served("snapshot", 0, 404_000, 1)]
    gathered = Gathered({memcached_checkpoints.MANIFEST: found, memcached_checkpoints.SINGLE: single})
    drawn = equal_files(memcached_checkpoints.drawn, gathered, tmp_path)
    rows = {tuple(row[1:4]): list(row[4:]) for row in drawn.rows}
    assert rows[16, "volatile", 0] == [100.0, *[None] * 8]
    assert rows[16, "device", 100][1] == 40.0  # 280 us in place of 200 us
    assert rows[16, "msync", 100][3:] == [4, 250.0, 5.0, 9.0, None, None]
    assert rows[16, "snapshot", 0][1:] == [4.0, 3.992, 4, 0.0, 5.0, 9.0, 17, 2.5]
    assert rows[1, "snapshot", 0][1] == 1.0
    ours = {one.what: (round(one.ours, 6), one.published, one.comparable) for one in drawn.comparisons}
    assert ours == {"snapshot": (4.0, 6.5, False), "fams-uffd": (20.0, 6.5, False)}
    assert "an epoch of 3.125 ms" in drawn.caption and drawn.notes[-1].startswith("Published: 0 to 6.5 %")
    assert "(scaled down)" in (tmp_path / "1" / "memcached-ycsb.svg").read_text()


# ---- Logs of pages ----


def overwritten(point: dict[str, str], times: int, read_us: int, counters: dict[str, int] | None = None) -> Result:
    row: dict[str, Any] = {"program": "overwrites", "times": times, "pages": 64, "bytes": 256, "mixed": 80}
    whole = row | {"roi_ns": 3_000_000, "writes": 40, "read_again_calls": 0, "read_again_ns": 0}
    whole |= {"write_calls": 40, "write_ns": 40_000, "read_calls": 40, "read_ns": read_us * 40_000}
    return result(point, [whole, *(row | {"operation": of, "p99_ns": 9000} for of in ("write", "read"))], counters)


def test_reads_after_overwrites_stand_in_order(tmp_path: Path) -> None:
    point = {"device": "optane-dcpmm", "way": "data=hybrid,gc_read=off"}
    found = [overwritten(point, times, 1 + times) for times in (0, 8)]
    drawn = equal_files(overwrites.drawn, Gathered({overwrites.NAME: found}), tmp_path)
    wanted = ["optane-dcpmm", "hybrid,gc_read=off"]
    assert [list(row) for row in drawn.rows] == [[*wanted, 0, 1.0, 1.0, None], [*wanted, 8, 1.0, 9.0, None]]


def test_merging_is_by_cache_with_what_reaches_the_flash(tmp_path: Path) -> None:
    counters = {"cxl-writes": 320, "flash-programs": 10, "flash-reads": 20}
    found = [
        overwritten({"cache": c, "way": w}, 0, 5, counters) for c in ("64MiB", "1GiB") for w in ("xfs-dax", "data=cow")
    ]
    drawn = equal_files(log_merging.drawn, Gathered({log_merging.NAME: found}), tmp_path)
    assert list(drawn.rows[1]) == ["64MiB", "cow", 3.0, 5.0, 9.0, 1.0, 9.0, 0.25, 2.0, 4.0]


def test_a_file_that_was_not_reported_is_no_measurement() -> None:
    found = [result({"device": "d", "way": "data=cow"}, [{"program": "overwrites"}])]
    with pytest.raises(RunFailed, match=r"r\.json: the program reported no file"):
        overwrites.drawn(Gathered({overwrites.NAME: found}))


# ---- Equal DRAM ----


def test_equal_dram_is_relative_to_pmdk_behind_the_published_cache(tmp_path: Path) -> None:
    mine = [result({"workload": "A", "nodes": n}, [{"roi_ns": ns}]) for n, ns in (("0", 100), ("0,1", 200), ("1", 400))]
    rivals = [
        result({"workload": "A", "engine": e, "cache": "128MiB"}, [{"roi_ns": 800}]) for e in ("pmdk", "msync-4k")
    ]
    gathered = Gathered({"equal-dram": mine, "equal-dram-rivals": rivals})
    drawn = equal_files(equal_dram.drawn, gathered, tmp_path)
    ratios = {row[1]: row[3] for row in drawn.rows}
    assert ratios["snapshot, all in local DRAM"] == 8
    assert ratios["snapshot, none in local DRAM"] == 2
    assert ratios["msync-4k, 128 MiB cache"] == 1


# ---- Sensitivity ----

GRID = [("1us", "10us"), ("16MiB", "32MiB"), ("20ns", "200ns"), ("8GB/s", "1GB/s")]


def replayed(engine: str, device: tuple[str, ...], time_ps: int) -> Replayed:
    values = dict(zip(sensitivity.AXES, device, strict=True))
    region = {"whole": True, "begin-ps": 0, "end-ps": time_ps, "counters": {}}
    return Replayed(f"A-{engine}", values, {"regions": [region]})


def test_maps_count_wins_and_crossings(tmp_path: Path) -> None:
    """PMDK is faster than msync only on fast flash, and slower than snapshot everywhere."""
    replays = []
    for device in itertools.product(*GRID):
        slow = device[0] == "10us"
        for engine, time_ps in (("snapshot", 100), ("pmdk", 400), ("msync-4k", 200 if slow else 800)):
            replays.append(replayed(engine, device, time_ps))
    drawn = equal_files(sensitivity.drawn, Gathered({}, {"sensitivity": replays}), tmp_path)
    first, second = drawn.rows
    assert list(first[:3]) == ["A", "pmdk over snapshot", "16 of 16"]
    assert first[-1] == 0
    assert list(second[:3]) == ["A", "pmdk over msync-4k", "8 of 16"]
    assert (second[4], second[6], second[7]) == (0.5, 2.0, 8)
    assert str(second[3]).startswith("1us") and str(second[5]).startswith("10us")


# ---- Checkpoints ----


def stored(engine: str, workload: str, epoch_ns: int, **row: int) -> Result:
    place = {"device": "optane-dcpmm", "per_bucket": 14, "workload": workload, "engine": engine, "epoch_ns": epoch_ns}
    return result(place, [{"operations": 1000, "updates": 0, "commits": 0, **row}])


BESIDE = [
    stored(engine, workload, 1, roi_ns=roi_ns)
    for workload in ("A", "C")
    for engine, roi_ns in (("volatile", 1_000_000), ("msync-4k", 1_500_000))
]


def test_overhead_is_above_the_run_in_dram_with_replays_and_without(tmp_path: Path) -> None:
    none = {"stop_ns": 0, "replay_ns": 0}
    a = stored("cpnvm", "A", 10**6, roi_ns=1_250_000, updates=500, commits=10, stop_ns=200_000, replay_ns=125_000)
    found = {"epochs-ycsb": [a, stored("cpnvm", "C", 10**6, roi_ns=1_010_000, **none)], "epochs-beside": BESIDE}
    drawn = equal_files(checkpoint_costs.drawn, Gathered(found), tmp_path)
    rows = {(row[2], row[3]): list(row[4:]) for row in drawn.rows}
    assert rows["A", "cpnvm"] == [1.0, 1250.0, 25.0, 12.5, 10, 50.0, 20.0, 10.0]
    assert rows["C", "cpnvm"] == [1.0, 1010.0, 1.0, 1.0, 0, None, None, 0.0]
    assert rows["A", "msync-4k"] == [None, 1500.0, 50.0, None, None, None, None, None]
    compared = {(c.what, c.group[3]): (round(c.ours, 6), c.published, c.comparable) for c in drawn.comparisons}
    assert compared == {
        ("cpnvm", "A"): (25.0, 15.0, False),
        ("cpnvm", "C"): (1.0, 0.0, False),
        ("msync-4k", "C"): (50.0, 64.0, False),
    }


def without(axis: str, results: list[Result], **more: str) -> list[Result]:
    points = [{name: value for name, value in r.point.items() if name != axis} | more for r in results]
    return [replace(r, data=r.data | {"point": point}) for r, point in zip(results, points, strict=True)]


def test_rivals_are_above_themselves_in_dram_and_bounds_are_not_compared(tmp_path: Path) -> None:
    of_epochs = {"commits": 10, "stop_ns": 100_000, "updates": 500}
    tree = stored("cpnvm", "A", 10**6, roi_ns=1_100_000, replay_ns=55_000, **of_epochs)
    rivals = [
        stored("volatile", "A", 10**6, roi_ns=2_000_000),
        stored("epochs", "A", 10**6, roi_ns=2_400_000, **of_epochs),
    ]
    found = {
        "mtree-ycsb": without("per_bucket", [tree]),
        "mtree-beside": without("per_bucket", BESIDE),
        "rivals-ycsb": without("per_bucket", rivals, rival="leaves"),
    }
    drawn = equal_files(mtree_costs.drawn, Gathered(found), tmp_path)
    rows = {tuple(row[1:4]): list(row[4:]) for row in drawn.rows}
    assert rows["leaves", "A", "epochs"] == [1.0, 2400.0, 20.0, 20.0, 10, 50.0, 10.0, 0.0]
    assert rows["mtree", "A", "cpnvm"] == [1.0, 1100.0, 10.0, 4.5, 10, 50.0, 10.0, 5.0]
    compared = {(c.what, c.group): (round(c.ours, 6), c.published, c.comparable) for c in drawn.comparisons}
    assert compared == {
        ("cpnvm", "mtree A, optane-dcpmm"): (10.0, 15.0, False),
        ("msync-4k", "mtree C, optane-dcpmm"): (50.0, 64.0, False),
    }
    assert all("is published" in c.cause or "no number" in c.cause for c in drawn.comparisons)


def test_a_stop_is_a_mean_and_the_longest_update_stands_beside_it(tmp_path: Path) -> None:
    def timed_epochs(replay: str, commits: int) -> Result:
        row = {"roi_ns": 10**6, "operations": 1000, "updates": 500, "commits": commits, "log_bytes": 64_000}
        row |= {"stop_ns": 40_000, "replay_ns": 100_000}
        kinds = [{"operation": kind, "max_ns": ns} for kind, ns in (("read", 90_000), ("update", 30_000))]
        return result({"device": "optane-dcpmm", "epoch_ns": 250_000, "replay": replay}, [row, *kinds])

    results = [timed_epochs("checkpoint", 4), timed_epochs("background", 0)]
    drawn = equal_files(epoch_lengths.drawn, Gathered({"epochs-lengths": results}), tmp_path)
    assert list(drawn.rows[0]) == ["optane-dcpmm", 0.25, "checkpoint", 4, 125.0, 10.0, 16.0, 30.0, 1000.0, 10.0]
    assert list(drawn.rows[1][3:7]) == [0, None, None, None]


def opened_how(how: str, verified: bool = True) -> Result:
    row = {"crash": "closed", "records": 100, "file_bytes": 2**20, "roi_ns": 2_000_000}
    row |= {"pages_in_at_open": 1, "pages_in": 255, "lines_replayed": 0, "verified": verified, "problem": "torn"}
    made = result({"device": "optane-dcpmm", "open": how, "crash": "closed"}, [row])
    regions = [
        {"id": number, "begin-ps": 10**9, "end-ps": end_ps} for number, end_ps in ((2, 3 * 10**9), (3, 4 * 10**9))
    ]
    return replace(made, data=made.data | {"rois": regions})


def test_openings_at_once_and_page_by_page_stand_beside_each_other(tmp_path: Path) -> None:
    found = Gathered({"epochs-recovery": [opened_how("whole"), opened_how("lazy")]})
    drawn = equal_files(epoch_recovery.drawn, found, tmp_path)
    assert list(drawn.rows[1]) == ["optane-dcpmm", "closed", 100, 1.0, "lazy", 2.0, 3.0, 1, 255, 0]


def test_a_pool_that_was_opened_wrong_is_no_measurement() -> None:
    with pytest.raises(RunFailed, match="the opened state is not the committed one: torn"):
        epoch_recovery.drawn(Gathered({"epochs-recovery": [opened_how("lazy", verified=False)]}))


# ---- Metadata in place and logged ----


def test_updates_in_place_are_compared_with_those_that_are_logged(tmp_path: Path) -> None:
    found = []
    for barrier in ("off", "on"):
        for atomic, us in (("off", 3.0), ("8", 3.0), ("16", 2.0), ("64", 1.5)):
            means = {"append": us, "append-later": us, "delete": us + 1}
            lines = fio(atomic, "randwrite", means).data["stdout"].splitlines()
            made = result({"barrier": barrier, "atomic": atomic}, [])
            found.append(Result(made.path, made.data | {"stdout": "\n".join(lines)}))
    drawn = equal_files(metadata_updates.drawn, Gathered({metadata_updates.NAME: found}), tmp_path)
    assert [row[:2] for row in drawn.rows][:3] == [["on", "append"], ["on", "append-later"], ["on", "delete"]]
    assert list(drawn.rows[2][2:]) == [4.0, 4.0, 3.0, 2.5, "1.00", "1.33", "1.60"]
    assert [(c.what, c.ours, c.published) for c in drawn.comparisons] == [
        ("append, 16 bytes", 1.5, 1.8),
        ("delete, 64 bytes", 1.6, 1.18),
    ]


# ---- Commits by lines and pages ----


def test_the_map_of_pages_and_lines_says_where_both_take_the_same(tmp_path: Path) -> None:
    """Snapshot takes 1 us a line, msync-4k 2 us a line, and fams-uffd 10 us a page with any number of stored lines."""
    found = []
    for engine, us in (("snapshot", 1.0), ("fams-uffd", 0.0), ("msync-4k", 2.0)):
        rows = [
            {"program": "pages", "data_pages": 512, "pages": pages, "lines": lines, "transactions": 2}
            | {"update_ns": 2000 * pages * ((lines * us) or 10)}
            for pages in (1, 4)
            for lines in (1, 4, 64)
        ]
        found.append(result({"device": "optane-dcpmm", "engine": engine}, rows))
    drawn = equal_files(pages_lines.drawn, Gathered({"pages-lines": found, "pages-lines-nand": []}), tmp_path)
    assert list(drawn.rows[1]) == ["optane-dcpmm", 1, 4, 4.0, 10.0, 8.0, 2.5]
    assert any("fams-uffd is faster" in note and "1: 10, 4: 10" in note for note in drawn.notes)
    assert any("msync-4k is faster" in note and "1: never, 4: never" in note for note in drawn.notes)
    assert pages_lines.crossing({1: 0.9, 64: 0.5}) == 0


# ---- Commits by pages ----


def committed(engine: str, us: dict[int, float], think: int, **point: Any) -> Result:
    rows = [
        {"program": "pages", "data_pages": 512, "pages": n, "transactions": 10, "update_ns": 10_000 * t}
        for n, t in us.items()
    ]
    return result({"device": "optane-dcpmm", "engine": engine, "think": think} | point, rows)


SLOW, QUICK = {1: 10.0, 4: 20.0, 16: 60.0}, {1: 12.0, 4: 19.0, 16: 40.0}


def test_applying_later_is_compared_with_the_conventional_call_under_light_load(tmp_path: Path) -> None:
    plain = [committed(name, SLOW, think) for name in ("msync-cached", "msync-4k") for think in (0, 10_000)]
    module = [committed("fams", QUICK, think, apply_ms=ms) for think in (0, 10_000) for ms in (0, 1)]
    gathered = Gathered({"msync-pages": plain, "msync-pages-fams": module})
    drawn = equal_files(page_commits.drawn, gathered, tmp_path)
    assert [list(row[1:]) for row in drawn.rows[1:3]] == [
        ["heavy", "msync-4k", 10.0, 20.0, 60.0],
        ["heavy", "fams, at once", 12.0, 19.0, 40.0],
    ]
    (compared,) = drawn.comparisons
    assert (compared.ours, compared.published, compared.comparable) == (4, 8, False)
    assert "data : device cache : LLC = 2 MiB" in drawn.caption
    assert any("light load: fams, later is faster than msync-cached from 4 pages on" in note for note in drawn.notes)
    assert all("than fams, at once never" in note for note in drawn.notes[3:])


def test_one_is_faster_from_where_it_stays_faster() -> None:
    assert page_commits.faster_from({1: 1, 2: 9, 4: 1}, {1: 2, 2: 2, 4: 2}) == 4
    assert page_commits.faster_from({1: 1, 2: 1}, {1: 2, 2: 2}) == 1
    assert page_commits.faster_from({1: 1, 2: 2}, {1: 2, 2: 2}) is None


# ---- Kyoto Cabinet's modes ----


def test_each_mode_stands_beside_none_and_beside_transactions(tmp_path: Path) -> None:
    took = {"none": 10, "sync": 20, "wal": 40, "fams-uffd": 30, "snapshot": 15}
    found = []
    for engine, us in took.items():
        rows = [
            {"program": "kyoto-server", "operation": name, "records": 100, "clients": 4, "requests": 50}
            | {"roi_ns": 50 * 250 * us, "response_ns": 1000 * us, "p99_ns": 2000 * us}
            for name in kyoto_modes.OPERATIONS
        ]
        found.append(result({"device": "optane-dcpmm", "db": "hash", "engine": engine}, rows))
    drawn = equal_files(kyoto_modes.drawn, Gathered({kyoto_modes.NAME: found}), tmp_path)
    assert list(drawn.rows[3]) == ["optane-dcpmm", "hash", "insert", "fams-uffd", 30.0, 60.0, 133330.0, 3.0, 25.0]
    compared = {(c.what, c.group.split(",")[0]): (c.ours, round(c.published, 2)) for c in drawn.comparisons}
    assert compared["response, fams-uffd against none", "insert"] == (3.0, 3.17)
    assert compared["requests a second, snapshot against none", "delete"] == (1.5, 9.45)
    assert not any(c.comparable for c in drawn.comparisons)
    assert "optane-dcpmm, hash: fams-uffd takes 25 to 25 % less than wal; published 26 to 43 % less" in drawn.notes


def test_who_takes_longer_than_transactions_is_said_to_take_so_many_times_as_long() -> None:
    rows: dict[str, Any] = {"wal": {"response_ns": 100}, "snapshot": {"response_ns": 250}}
    found: kyoto_modes.Rows = {("optane-dcpmm", "hash", name): rows for name in kyoto_modes.OPERATIONS}
    said = kyoto_modes._gain(found, ("optane-dcpmm", "hash"), "snapshot")
    assert "snapshot takes 2.5 to 2.5 times as long as wal" in said


# ---- A std::map ----


def test_each_rival_is_so_many_times_as_slow_as_the_map(tmp_path: Path) -> None:
    took = {"fams-uffd": 10, "snapshot": 5, "kyoto": 20, "sqlite": 40, "leveldb": 4}
    found = []
    for engine, us in took.items():
        rows = [
            {"program": "stl-map", "operation": name, "records": 100, "response_ns": 1000 * us, "p99_ns": 2000 * us}
            for name in stl_map.OPERATIONS
        ]
        found.append(result({"device": "optane-dcpmm", "engine": engine}, rows))
    drawn = equal_files(stl_map.drawn, Gathered({stl_map.NAME: found}), tmp_path)
    assert list(drawn.rows[2]) == ["optane-dcpmm", "insert", "kyoto", 20.0, 40.0, 2.0, 4.0, 2.5392]
    compared = {(c.what, c.group.split(",")[0]): (c.ours, round(c.published, 3)) for c in drawn.comparisons}
    assert compared["leveldb over std::map, fams-uffd", "delete"] == (0.4, 0.168)
    assert not any(c.comparable for c in drawn.comparisons)
