# SPDX-License-Identifier: BSD-3-Clause
"""Claims without a number: each is judged by its rule, on results that agree and on results that do not."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from analysis.catalogue import entries as catalogue
from analysis.charts import files
from analysis.data.drawn import Gathered
from analysis.figures import filework, kyoto_modes, memcached_checkpoints, page_commits, stl_map
from analysis.scorecard import claims, claims_cpnvm, claims_failure_atomic, claims_hdpm, claims_pmfs
from analysis.scorecard.claim import Claim, span
from analysis.scorecard.claims_failure_atomic import CACHED_MAPS, CACHED_MODES, FULL_CACHE
from analysis.studies import overwrites
from testbed.results.results import Result

OPTANE = "optane-dcpmm"


def result(point: dict[str, Any], *rows: dict[str, Any], stdout: str = "") -> Result:
    data = {"point": {"device": OPTANE} | point, "scale": 64, "rows": list(rows), "rois": [], "stdout": stdout}
    return Result(Path("r.json"), data)


def judged(found: Iterable[Claim]) -> dict[str, bool | None]:
    return {claim.says: claim.holds for claim in found}


# ---- HDPM ----


def flow(name: str, threads: int, policy: str, rate: float) -> Result:
    row = {"roi_ns": 1_000_000, "operations": 1000 * rate, "files": 9, "width": 9, "loops": 9}
    return result({"flow": name, "threads": threads, "policy": policy}, row)


def flows(hybrid: dict[int, float], proxy_ext4: float = 9.8) -> list[Result]:
    """Results of both flows; the policy cow alone has the rate 10 in each."""
    mail = {"ext4-dax": 4.0, "ext4-ordered": 2.0, "cow": 10.0}
    proxy = {"ext4-dax": proxy_ext4, "ext4-ordered": 5.0, "cow": 10.0, "hybrid": 10.5}
    made = [flow("varmail", n, policy, rate) for n in hybrid for policy, rate in mail.items()]
    made += [flow("varmail", n, "hybrid", rate) for n, rate in hybrid.items()]
    return made + [flow("webproxy", n, policy, rate) for n in hybrid for policy, rate in proxy.items()]


def overwritten(way: str, reads_us: dict[int, float], call: str = "read") -> list[Result]:
    whole = {"roi_ns": 1, f"{call}_calls": 10}
    return [
        result({"way": f"data={way}"}, whole | {"times": n, f"{call}_ns": us * 10_000}) for n, us in reads_us.items()
    ]


def hdpm(hybrid: dict[int, float], reverse: dict[int, float], forward: dict[int, float], **more: Any) -> Any:
    scans = overwritten(claims_hdpm.REVERSE, reverse) + overwritten(claims_hdpm.FORWARD, forward)
    cached = overwritten(claims_hdpm.REVERSE, {1: 1, 64: 3}, "read_again")
    cached += overwritten(claims_hdpm.FORWARD, {1: 1, 64: 4}, "read_again")
    narrow = [flow(name, 10, policy, 10) for name in ("varmail", "webproxy") for policy in ("cow", "hybrid")]
    return {
        filework.NAME: flows(hybrid, **more),
        claims_hdpm.NARROW: narrow,
        claims_hdpm.JOURNAL: [flow("webproxy", 10, "ext4-journal", 2.0)],
        overwrites.NAME: scans,
        claims_hdpm.UNPREFETCHED: scans,
        claims_hdpm.CACHED: cached,
    }


def test_hdpm_holds_where_hybrid_gains_and_reads_stay() -> None:
    found = hdpm({1: 11, 10: 13.3}, {0: 1, 1: 2, 64: 2.1}, {0: 1, 1: 2, 64: 9})
    assert set(judged(claims_hdpm.hdpm(found)).values()) == {True}


def test_hdpm_does_not_hold_where_the_log_costs() -> None:
    found = list(claims_hdpm.hdpm(hdpm({1: 11, 10: 9}, {0: 1, 1: 2, 64: 8}, {0: 1, 1: 2, 64: 8}, proxy_ext4=4.0)))
    assert [claim.holds for claim in found] == [False, False, True, False, False, False, False]
    assert found[0].ours == "0.9 to 1.1 times as much"
    assert found[0].cells()[-1] == "with a tenth of the bandwidth hybrid makes 1.000 times as much as cow"
    assert found[5].cells()[2:] == [
        "no",
        "4 times as long after 64 as after 1",
        "with all of it in the CPU's caches 3 times",
    ]
    assert found[4].cells()[-1] == "with a journal of data 0.5 times, by the most threads"
    assert Claim("HDPM", "reads stay", "8 times", False).cells()[-1] == "not tested"


# ---- PMFS ----


def fio(point: dict[str, Any], means_us: dict[str, float], access: str) -> Result:
    """fio's terse lines, with unused fields 0; in a line of writes 41 fields of reads come first."""
    idle, used = "0;" * 41, "31;15625;250000;2;0;0;0;0;1;6;{};0;" + "1%=1;" * 12 + "99.000000%=2;" + "0;" * 16
    lines = [
        f"3;fio-3.39;{name};0;0;" + (idle if access == "write" or name == "stores" else "") + used.format(us) + "end"
        for name, us in means_us.items()
    ]
    return result(point, stdout="\n".join(lines))


def pmfs(mapped: dict[str, float], query: float = 9.0) -> Any:
    graph = {"ext4-ordered": {"delete": 20.0, "query": 10.0}, "inplace": {"delete": 10.0, "query": query}}
    stored = [
        result({"policy": policy}, *({"operation": o, "mean_us": us} for o, us in of.items()))
        for policy, of in graph.items()
    ]
    return {
        claims_pmfs.MAPPED: [fio({"way": way}, {"loads": us, "stores": us}, "read") for way, us in mapped.items()],
        claims_pmfs.PROTECTION: [
            fio({"wprotect": on}, {"64": us, "262144": 2 * us}, "write") for on, us in (("off", 1.0), ("on", 1.1))
        ],
        claims_pmfs.NEO4J: stored,
        claims_pmfs.FAST_NEO4J: stored,
    }


def test_pmfs_is_judged_by_its_orders_but_not_by_its_windows() -> None:
    found = judged(claims_pmfs.pmfs(pmfs({"tbfs": 1, "tbfs-4k": 4, "ext4-ordered": 10})))
    assert list(found.values()) == [True, True, True, None]
    other = claims_pmfs.pmfs(pmfs({"tbfs": 4, "tbfs-4k": 3, "ext4-ordered": 10}, query=11))
    assert [claim.holds for claim in other] == [False, False, False, None]
    assert other[2].cells()[3:] == [
        "times as long: delete 0.50, query 1.10",
        "on memory as fast as DRAM: delete 0.50, query 1.10",
    ]


def test_what_windows_cost_is_said_though_nothing_judges_it() -> None:
    (windows,) = (c for c in claims_pmfs.pmfs(pmfs({"tbfs": 1, "tbfs-4k": 4, "ext4-ordered": 10})) if c.holds is None)
    assert windows.cells()[2:] == ["-", "writes take 10 % more, 64 bytes to 256 KiB", ""]


# ---- Failure-atomic msync ----


def failure_atomic(pages_us: float, leveldb_us: float, later: dict[int, float]) -> Any:
    modes = {"none": 10, "sync": 50, "wal": 80, "fams-uffd": pages_us, "snapshot": 40}
    maps = {"fams-uffd": 10, "snapshot": 5, "kyoto": 12, "sqlite": 20, "leveldb": leveldb_us}
    whole = {1: 10.0, 8: 40.0, 64: 200.0}

    def msync(name: str, us: dict[int, float], **point: Any) -> list[Result]:
        rows = [{"pages": n, "transactions": 10, "update_ns": 10_000 * t} for n, t in us.items()]
        return [result({"engine": name, "think": think} | point, *rows) for think in (0, 10_000)]

    found: Any = {name: [] for name in page_commits.SIZES}
    found[page_commits.SIZES[0]] = msync("msync-cached", whole)
    found[page_commits.SIZES[2]] = [
        *msync("fams", later, apply_ms=1),
        *msync("fams", {n: us + (5 if n > 1 else -1) for n, us in later.items()}, apply_ms=0),
    ]
    found[kyoto_modes.NAME] = [
        result({"db": db, "engine": engine}, {"operation": "insert", "response_ns": 1000 * us})
        for db in ("hash", "tree")
        for engine, us in modes.items()
    ]
    found[stl_map.NAME] = [
        result({"engine": engine}, {"operation": "insert", "response_ns": 1000 * us}) for engine, us in maps.items()
    ]
    found |= {
        FULL_CACHE[0]: found[page_commits.SIZES[2]],
        FULL_CACHE[1]: found[page_commits.SIZES[0]],
    }
    return found | {
        CACHED_MODES: found[kyoto_modes.NAME],
        CACHED_MAPS: found[stl_map.NAME],
    }


def test_failure_atomic_msync_holds_where_it_is_as_published() -> None:
    found = failure_atomic(52.0, 4.0, {1: 12.0, 8: 35.0, 64: 150.0})
    assert set(judged(claims_failure_atomic.failure_atomic(found)).values()) == {True}


def test_failure_atomic_msync_does_not_hold_where_pages_cost() -> None:
    found = claims_failure_atomic.failure_atomic(failure_atomic(100.0, 40.0, {1: 5.0, 8: 50.0, 64: 250.0}))
    assert [claim.holds for claim in found] == [False, False, False, False, True, False, True]
    assert found[0].cells()[-1] == "by lines 0.8 times; the other without DAX, 2"
    assert found[5].cells()[-1] == "without DAX 4 times"
    assert found[1].ours == "1.2 times as long by pages"
    assert found[2].ours == "0 of 1 times; 1.25 of its time"
    assert found[3].cells()[3:] == [
        "at once 0.4 with 1 page, 1.3 with the most; later 0.5 with 1 page, 1.2 with the most",
        "with a device cache that holds all: later 0.5 with 1 page, 1.2 with the most",
    ]


# ---- CpNvm ----


def cpnvm(a_ns: int, device_ns: int, memcached_ns: int) -> Any:
    def stored(engine: str, workload: str, epoch_ns: int, roi_ns: int) -> Result:
        point = {"workload": workload, "engine": engine, "epoch_ns": epoch_ns}
        return result(point, {"operations": 1000, "updates": 0, "commits": 0, "roi_ns": roi_ns})

    def served(engine: str, depth: int, roi_ns: int) -> list[Result]:
        return [
            result({"engine": engine, "writes": writes}, {"depth": depth, "roi_ns": roi_ns, "operations": 1000})
            for writes in (0, 100)
        ]

    took = {"A": a_ns, "B": 1_050_000, "C": 1_000_000}
    return {
        "mtree-ycsb": [
            stored(engine, workload, epoch_ns, roi_ns)
            for engine in ("cpnvm", "snapshot-epoch")
            for workload, roi_ns in took.items()
            for epoch_ns in (10**6, 10**12)
        ],
        "mtree-beside": [
            stored(engine, workload, 1, roi_ns)
            for engine, roi_ns in (("volatile", 1_000_000), ("msync-4k", device_ns))
            for workload in took
        ],
        "rivals-ycsb": [],
        memcached_checkpoints.MANIFEST: served("volatile", 16, 1_000_000) + served("snapshot", 16, memcached_ns),
        memcached_checkpoints.SINGLE: served("volatile", 1, 1_000_000) + served("snapshot", 1, 1_010_000),
    }


def test_cpnvm_is_judged_by_its_bounds() -> None:
    assert set(judged(claims_cpnvm.cpnvm(cpnvm(1_140_000, 1_950_000, 1_060_000))).values()) == {True}
    found = claims_cpnvm.cpnvm(cpnvm(1_500_000, 2_500_000, 1_300_000))
    assert [claim.holds for claim in found] == [False, True, False, False]
    assert found[0].cells()[3:] == [
        "A 50 %, B 5 %, C 0 % by calls",
        "without any checkpoint A takes 50 % more; with the pass A 50, B 5 %",
    ]
    assert found[3].cells()[3:] == ["30, 30 % at 0, 100 % writes", "one request at a time: 1, 1 %"]


# ---- The figure ----


def everything() -> Gathered:
    return Gathered(
        hdpm({1: 11, 10: 9}, {0: 1, 1: 2, 64: 8}, {0: 1, 1: 2, 64: 8})
        | pmfs({"tbfs": 1, "tbfs-4k": 4, "ext4-ordered": 10})
        | failure_atomic(52.0, 4.0, {1: 12.0, 8: 35.0, 64: 150.0})
        | cpnvm(1_140_000, 1_950_000, 1_060_000)
    )


def test_the_figure_has_a_row_a_claim_and_counts_them(tmp_path: Path) -> None:
    made = claims.drawn(everything())
    one, two = (files.write(claims.drawn(everything()), tmp_path / name) for name in ("1", "2"))
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]
    assert made.caption == (
        "22 claims without a number to divide by: 17 of 21 that can be judged hold; "
        "of the 4 others 4 have a test beside them."
    )
    assert [row[2] for row in made.rows].count("yes") == 17 and len(made.rows) == 22


def test_all_that_it_is_drawn_from_is_run() -> None:
    (entry,) = (entry for entry in catalogue.FIGURES if entry.name == claims.NAME)
    assert set(everything().results) == set(entry.manifests)


@pytest.mark.parametrize(("values", "said"), [((1.234,), "1.2"), ((3, 1, 2), "1 to 3"), ((-12.4, 5), "-12 to 5")])
def test_a_span_is_from_the_least_to_the_most(values: tuple[float, ...], said: str) -> None:
    assert span(values) == said
