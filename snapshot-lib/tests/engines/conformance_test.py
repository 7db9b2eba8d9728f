# SPDX-License-Identifier: BSD-3-Clause
"""Every engine does the same work: equal requests, values read and final state; the durable ones reopen to it.

msync-2m, msync-journal and famus-snap need file systems of their own: they run in the guest
(tests/guest/machine/test_guest.py). Here they must refuse, and say why. So must fams-exchange without
$EXCHANGE_STAND_IN, which exchanges pages in the kernel's place.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ENGINES = ["volatile", "volatile-instrumented", "snapshot", "snapshot-nv", "pmdk", "msync-4k"]
# Not compiled with the pass, and in programs that `kv` and its kin do not know: kv-fams-uffd, ...
FAMS = ["fams-uffd", "fams-mprotect", "fams-exchange"]
# The same, of checkpoints: without $SNAPSHOT_EPOCH_NS one ends each transaction.
EPOCHS = ["cpnvm", "snapshot-epoch"]
EPOCH_WORKLOADS = ["kv", "list", "btree", "mtree", "pages", "shared-kv"]
OLD_KERNEL = "(Linux 6.7)"  # the message of those that ask it for pages
SOME_ENGINES = {
    "kv": ["volatile-check", "volatile-noop", "volatile-each"],
    "list": ["pmdk-default"],
    "btree": ["pmdk-default"],
}
# The columns that an engine may have alone; all other columns of a workload are the same for all.
OWN = {"engine", "roi_ns", "load_ns", "log_bytes", "data_bytes", "fences", "update_ns", "longest_ns"}
OF_EPOCHS = {"stop_ns", "waits_for_room", "replayed_epochs", "replayed_lines", "replay_ns"}
KV_SIZE = ["--records", "3000", "--operations", "3000", "--buckets", "3"]
WORKLOADS = [("kv", ["--workload", letter, *KV_SIZE]) for letter in "ABCDEFG"]
WORKLOADS += [("mtree", ["--workload", letter, "--records", "3000", "--operations", "3000"]) for letter in "ABCDEFG"]
WORKLOADS += [("list", ["--nodes", "2000", "--passes", "3"]), ("btree", ["--keys", "4000"])]
PAGES_SIZE = ["--data-pages", "64", "--pages", "1,8,64", "--lines", "1,3,64"]
PAGES_SIZE += ["--commits", "6", "--written-pages", "100"]
WORKLOADS += [("pages", PAGES_SIZE)]
WORKLOADS += [("threads", ["--threads", count, "--rounds", "300"]) for count in ("1", "3")]
WORKLOADS += [("shared-kv", ["--workload", letter, "--threads", "3", *KV_SIZE]) for letter in "ABCFG"]
WORKLOADS += [("shared-kv", ["--workload", "A", "--threads", "1", *KV_SIZE])]
WORKLOADS += [
    ("commits", ["--threads", count, "--data", data, "--rounds", "100"])
    for data in ("regions", "files", "shared")
    for count in ("1", "3")
]
THREAD_ENGINES = {"commits": ["snapshot", "snapshot-nv", "pmdk", "msync-4k"]}  # it has no others
# Of threads, pmdk's commit each for itself, and how many wait for one commit is another number in each run.
COUNTED = {
    "threads": "rounds",
    "shared-kv": "updates_of_first",
    "commits": "rounds",
}  # the number of commits by their pool
Rows = list[dict[str, Any]]


def environment(apart: list[str]) -> dict[str, str]:
    exchanges = "EXCHANGE_STAND_IN" in os.environ and any(name.endswith("fams-exchange") for name in apart)
    return os.environ | ({"LD_PRELOAD": os.environ["EXCHANGE_STAND_IN"]} if exchanges else {})


def run(bin_dir: Path, program: str, *arguments: str) -> tuple[int, Rows, str]:
    apart = [f"{program}-{engine}" for engine in FAMS + EPOCHS if engine in arguments]
    command: list[str | Path] = [bin_dir / (apart or [program])[0], *arguments]
    done = subprocess.run(command, env=environment(apart), capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def check(condition: bool, message: str) -> None:
    if not condition:
        raise SystemExit(message)


def check_reopened(bin_dir: Path, program: str, arguments: list[str], commits: int) -> None:
    status, rows, _ = run(bin_dir, program, *arguments, "--verify")
    check(status == 0 and rows[0]["verified"] and rows[0]["commits"] == commits, f"{program} {arguments}: {rows}")


def check_protocols(bin_dir: Path, scratch: Path, program: str, options: list[str]) -> None:
    """The snapshot engine under each commit protocol: same results, and as many fences per commit as documented."""
    results = []
    for protocol, fences in {"": 1, "redo": 1, "line": 2, "undo": 3, "undo-nv": 3}.items():
        os.environ["SNAPSHOT_PROTOCOL"] = protocol
        pool = str(scratch / f"{protocol}.pool")
        status, rows, errors = run(bin_dir, program, "--engine", "snapshot", "--file", pool, "--seed", "9", *options)
        check(status == 0, f"{program}, {protocol}: status {status}: {errors}")
        check(all(row["fences"] == fences * row["commits"] for row in rows), f"{protocol}: {fences} per commit: {rows}")
        results.append([{name: value for name, value in row.items() if name not in OWN} for row in rows])
    del os.environ["SNAPSHOT_PROTOCOL"]
    check(all(result == results[0] for result in results), f"{program} differs by protocol: {results}")


def check_workload(bin_dir: Path, scratch: Path, program: str, options: list[str]) -> None:
    expected: Rows = []
    own = OWN | OF_EPOCHS | ({"commits"} if program in COUNTED else set())
    engines = ENGINES + FAMS + SOME_ENGINES.get(program, []) + (EPOCHS if program in EPOCH_WORKLOADS else [])
    for engine in THREAD_ENGINES.get(program, engines):
        arguments = ["--engine", engine, "--file", str(scratch / f"{engine}.pool"), "--seed", "9", *options]
        status, rows, errors = run(bin_dir, program, *arguments)
        if OLD_KERNEL in errors:
            continue
        check(status == 0, f"{program} {arguments}: status {status}: {errors}")
        common = [{name: value for name, value in row.items() if name not in own} for row in rows]
        expected = expected or common
        check(common == expected, f"{program} on {engine} differs from {ENGINES[0]}: {common}, {expected}")
        if not engine.startswith("volatile"):
            counted = rows[0][COUNTED[program]] if program in COUNTED else sum(row["commits"] for row in rows)
            check_reopened(bin_dir, program, arguments, counted)
    if program in ("list", "btree") or (program in ("kv", "mtree") and "A" in options):
        check_protocols(bin_dir, scratch, program, options)
    check_commit_time(bin_dir, scratch, program, options)
    if program == "kv":
        row = expected[0]
        check(row["updates"] + row["inserts"] == row["commits"], f"one commit per update: {row}")


def check_commit_time(bin_dir: Path, scratch: Path, program: str, options: list[str]) -> None:
    """Only when asked for, and no more than the phase took on as many threads as commit beside each other."""
    arguments = ["--engine", "msync-4k", "--file", str(scratch / "timed.pool"), *options, "--commit-time"]
    status, rows, errors = run(bin_dir, program, *arguments)
    check(status == 0, errors)
    for row in rows:
        most_ns = row["roi_ns"] * (row["threads"] if program == "commits" else 1)
        sound = (row["commits"] > 0) == (row["commit_ns"] > 0) and row["commit_ns"] < most_ns
        check(sound, f"{program}: time of commits: {row}")


def check_latencies(bin_dir: Path, scratch: Path) -> None:
    """Every request is in exactly one row, quantiles do not decrease, and the effect of the requests is the same."""
    for workload, kinds in {
        "A": {"read", "update"},
        "E": {"scan", "insert"},
        "F": {"read", "read-modify-write"},
    }.items():
        arguments = ["--engine", "snapshot", "--file", str(scratch / "timed.pool"), *KV_SIZE, "--workload", workload]
        (plain,), (timed, *rows) = (run(bin_dir, "kv", *arguments, *more)[1] for more in ([], ["--latencies"]))
        same = timed | {k: plain[k] for k in OWN & plain.keys()}
        check(same == plain, f"--latencies changes what is done: {timed}, {plain}")
        check({row["operation"] for row in rows} == kinds, f"kinds of requests of {workload}: {rows}")
        check(sum(row["count"] for row in rows) == plain["operations"], f"not every request was timed: {rows}")
        for row in rows:
            quantiles = [row[f"{name}_ns"] for name in ("p50", "p90", "p99", "p99_9", "p99_99", "max")]
            counts = [int(word.split(":")[1]) for word in row["histogram"].split()]
            check(quantiles == sorted(quantiles) and 0 < row["clock_ns"] <= quantiles[0], f"quantiles: {row}")
            check(sum(counts) == row["count"], f"histogram: {row}")


def check_epochs(bin_dir: Path, scratch: Path) -> None:
    """One commit for many transactions: the kept state is between two of them, and an epoch is reported."""
    (expected,) = run(bin_dir, "kv", "--engine", "volatile", *KV_SIZE)[1]
    for engine in EPOCHS:
        for replay in ("background", ""):
            arguments = ["--engine", engine, "--file", str(scratch / f"{engine}.pool"), *KV_SIZE]
            os.environ |= {"SNAPSHOT_EPOCH_NS": "50000", "SNAPSHOT_EPOCH_REPLAY": replay}
            status, (row,), errors = run(bin_dir, "kv", *arguments)
            check(status == 0 and row["checksum"] == expected["checksum"], f"{engine}: {row}, {expected} {errors}")
            check(0 < row["commits"] < row["updates"], f"{engine}: an epoch has several transactions: {row}")
            sound = row["replay_ns"] > 0 and 0 < row["stop_ns"] < row["roi_ns"]
            check(
                sound and (bool(replay) or row["replay_ns"] < row["stop_ns"]), f"{engine}: what checkpoints did: {row}"
            )
            status, (found,), _ = run(bin_dir, "kv", *arguments, "--verify")
            check(status == 0 and 0 < found["commits"] <= row["updates"], f"{engine}: {found}, {row}")
        for length in ("0", "-", "1ms", ""):
            os.environ["SNAPSHOT_EPOCH_NS"] = length
            status, _, errors = run(bin_dir, "kv", *arguments)
            check(status == 2 and "SNAPSHOT_EPOCH_NS" in errors, f"epoch of {length!r}: status {status}, {errors!r}")
        del os.environ["SNAPSHOT_EPOCH_NS"], os.environ["SNAPSHOT_EPOCH_REPLAY"]
        os.environ["SNAPSHOT_EPOCH_TRANSACTIONS"] = "16"
        status, (row,), errors = run(bin_dir, "kv", *arguments)
        check(status == 0 and abs(row["commits"] - row["updates"] / 16) < 1, f"{engine}: 16 an epoch: {row} {errors}")
        del os.environ["SNAPSHOT_EPOCH_TRANSACTIONS"]
    for how in ("whole", "lazy"):
        os.environ["SNAPSHOT_EPOCH_OPEN"] = how
        arguments = ["--engine", "cpnvm", "--file", str(scratch / "cpnvm.pool"), *KV_SIZE, "--workload", "G"]
        status, rows, errors = run(bin_dir, "kv", *arguments, "--recovery", "after-commit")
        if "map it without SNAPSHOT_EPOCH_LAZY" not in errors:  # else it is not permitted here
            check(status == 0 and rows[0]["verified"] and rows[0]["lines_replayed"] > 0, f"{how}: {rows} {errors}")
            check((rows[0]["pages_in"] > 0) == (how == "lazy"), f"{how}: pages that came in: {rows}")
        del os.environ["SNAPSHOT_EPOCH_OPEN"]


def check_recovery(bin_dir: Path, scratch: Path) -> None:
    """A process killed at the end of one transaction leaves all of it or nothing, and a log that has work to do."""
    # Under redo the last commits are in the log alone, those of the load at least.
    works = {("snapshot-nv", "before-commit"): "lines_undone"}
    works |= {("snapshot", crash): "lines_replayed" for crash in ("before-commit", "after-commit")}
    for engine in ("snapshot", "snapshot-nv", "pmdk"):
        for crash in ("closed", "before-commit", "after-commit"):
            arguments = ["--engine", engine, "--file", str(scratch / "crash.pool"), *KV_SIZE, "--workload", "G"]
            status, rows, errors = run(bin_dir, "kv", *arguments, "--recovery", crash)
            check(status == 0 and rows[0]["verified"], f"{arguments} {crash}: {rows} {errors}")
            check(rows[0]["commits"] == (0 if crash == "before-commit" else 3000), f"{engine} {crash}: {rows}")
            worked = {counter for counter in ("lines_undone", "lines_replayed") if rows[0][counter] > 0}
            check(worked == {works[engine, crash]} if (engine, crash) in works else not worked, f"recovery: {rows}")
    for words, wanted in (
        (["snapshot", "--recovery", "later"], "'later'"),
        (["volatile", "--recovery", "closed"], "keeps"),
    ):
        status, _, errors = run(bin_dir, "kv", "--file", str(scratch / "no.pool"), "--engine", *words)
        check(status == 2 and wanted in errors, f"{words}: status {status}, {errors!r}")


def check_verify_looks(bin_dir: Path, scratch: Path) -> None:
    """A state that another seed would have led to, or one that is half way, is not accepted."""
    for program, other in [
        ("kv", ["--seed", "10"]),
        ("list", ["--nodes", "19"]),
        ("btree", ["--keys", "19"]),
        ("mtree", ["--seed", "10"]),
        ("pages", ["--seed", "10"]),
    ]:
        sizes = {"kv": KV_SIZE, "list": ["--nodes", "20"], "btree": ["--keys", "20"], "pages": PAGES_SIZE}
        size = sizes.get(program, ["--records", "300"])
        arguments = ["--engine", "snapshot", "--file", str(scratch / "other.pool"), *size]
        status, _, errors = run(bin_dir, program, *arguments)
        check(status == 0, errors)
        status, rows, _ = run(bin_dir, program, *arguments, *other, "--verify")
        check(status == 1 and not rows[0]["verified"], f"{program}: verify accepts the state of other options")


def check_shared_kv(bin_dir: Path, scratch: Path) -> None:
    """It serves kv's requests. One thread commits each update, and more no more often than there are updates."""
    pool = ["--file", str(scratch / "shared.pool"), "--seed", "9", *KV_SIZE]
    for engine in ("snapshot", "pmdk", "msync-4k"):
        (alone,) = run(bin_dir, "kv", "--engine", engine, *pool)[1]
        for threads in ("1", "3"):
            status, (row,), errors = run(bin_dir, "shared-kv", "--engine", engine, "--threads", threads, *pool)
            check(status == 0, errors)
            check(all(row[name] == alone[name] for name in ("reads", "updates", "missing")), f"{row}, {alone}")
            each = threads == "1" or engine == "pmdk"
            check(row["commits"] == row["updates"] if each else 0 < row["commits"] <= row["updates"], f"{row}")
        command = ["shared-kv", "--engine", engine, "--threads", "3", "--commits", "each", *pool]
        status, (row,), errors = run(bin_dir, *command)
        # An update that another thread's commit had needs none of its own.
        check(status == 0 and 0 < row["commits"] <= row["updates"], f"{row} {errors}")
        status, (found,), _ = run(bin_dir, *command, "--verify")
        check(status == 0 and found["commits"] == row["updates_of_first"], f"{found}, {row}")
    status, _, errors = run(bin_dir, "shared-kv", "--engine", "snapshot", *pool, "--commits", "all")
    check(status == 2 and "--commits must be together or each, not 'all'" in errors, f"{status}, {errors!r}")
    status, _, errors = run(bin_dir, "shared-kv", "--engine", "snapshot", "--threads", "3", *pool, "--seed", "10")
    check(status == 0, errors)
    status, rows, _ = run(bin_dir, "shared-kv", "--engine", "snapshot", "--threads", "3", *pool, "--verify")
    check(status == 1 and not rows[0]["verified"], "shared-kv: verify accepts the state of another seed")
    for letter in "DE":
        status, _, errors = run(bin_dir, "shared-kv", "--engine", "snapshot", *pool, "--workload", letter)
        check(status == 2 and f"--workload {letter} inserts" in errors, f"{letter}: status {status}, {errors!r}")


def check_commits(bin_dir: Path, scratch: Path) -> None:
    """The state after another seed is not accepted, of any kind of data."""
    for data in ("regions", "files", "shared"):
        pool = ["--file", str(scratch / "commits.pool"), "--threads", "3", "--data", data, "--rounds", "20"]
        for engine in THREAD_ENGINES["commits"]:
            status, _, errors = run(bin_dir, "commits", "--engine", engine, *pool)
            check(status == 0, errors)
            status, rows, _ = run(bin_dir, "commits", "--engine", engine, *pool, "--seed", "2", "--verify")
            check(status == 1 and "cell" in rows[0]["problem"], f"{engine}, {data}: {rows}")
    status, _, errors = run(bin_dir, "commits", "--engine", "snapshot", *pool, "--data", "files,regions")
    check(status == 2 and "--data must be regions, files or shared, not 'files,regions'" in errors, errors)


def check_shared_epochs(bin_dir: Path, scratch: Path) -> None:
    """Threads that make checkpoints together: several requests an epoch, and the kept state is between two of each."""
    arguments = ["--file", str(scratch / "shared.pool"), "--seed", "9", *KV_SIZE]
    for engine, threads in ((engine, threads) for engine in EPOCHS for threads in ("1", "3")):
        for environment in ({"SNAPSHOT_EPOCH_NS": "50000"}, {"SNAPSHOT_EPOCH_TRANSACTIONS": "64"}):
            os.environ |= environment
            command = ["shared-kv", "--engine", engine, "--threads", threads, *arguments]
            status, (row,), errors = run(bin_dir, *command)
            check(status == 0, errors)
            check(0 < row["commits"] < row["updates"], f"{command}: an epoch has several updates: {row}")
            status, (found,), _ = run(bin_dir, *command, "--verify")
            check(status == 0 and 0 < found["commits"] <= row["updates_of_first"], f"{command}: {found}, {row}")
            status, rows, _ = run(bin_dir, *command, "--seed", "10", "--verify")
            check(status == 1 and not rows[0]["verified"], f"{command}: verify accepts the state of another seed")
            for name in environment:
                del os.environ[name]
    status, (row,), errors = run(bin_dir, "shared-kv-volatile-threads", "--threads", "3", *arguments)
    check(status == 0 and row["updates"] + row["reads"] == row["operations"] and row["missing"] == 0, f"{row} {errors}")


def check_mtree(bin_dir: Path) -> None:
    """It serves the same requests as kv and ends with the same records; only a scan has other neighbours."""
    same = ["reads", "updates", "inserts", "scans", "missing", "read_sum", "checksum"]
    for letter in "ABCDEFG":
        options = ["--engine", "volatile", "--workload", letter, "--records", "3000", "--operations", "3000"]
        (kv,), (mtree,) = (run(bin_dir, program, *options)[1] for program in ("kv", "mtree"))
        fields = [name for name in same if name != "read_sum" or letter != "E"]
        check(all(kv[name] == mtree[name] for name in fields), f"mtree differs from kv: {mtree}, {kv}")
        status, (laid_out,), errors = run(bin_dir, "mtree-volatile-cpnvm", *options[2:])
        check(status == 0, errors)
        check(all(laid_out[name] == mtree[name] for name in same), f"by cpnvm's allocator: {laid_out}, {mtree}")


def check_pages(bin_dir: Path, scratch: Path) -> None:
    """A commit changes as many lines as it says and no other; an engine that needs another kernel or mount says so."""
    pool = ["--file", str(scratch / "pages.pool"), *PAGES_SIZE]
    (_, plain, _), (_, cached, _) = (run(bin_dir, f"pages-{name}", *pool) for name in ("msync-4k", "msync-cached"))
    check([row["checksum"] for row in plain] == [row["checksum"] for row in cached], f"{plain}, {cached}")
    check([row["transactions"] for row in plain] == [6] * 6 + [4] * 3, f"commits of each phase: {plain}")
    status, (found,), _ = run(bin_dir, "pages-msync-cached", *pool, "--verify")
    check(status == 0 and found["commits"] == sum(row["commits"] for row in plain), f"{found}, {plain}")
    _, rows, _ = run(bin_dir, "pages-cpnvm", *pool)
    counted = [row["pages"] * row["lines"] * row["commits"] for row in rows]
    logged = [row["log_bytes"] // 64 for row in rows]
    check(all(lines <= log <= 3 * lines for lines, log in zip(counted, logged, strict=True)), f"{counted}, {logged}")
    status, (slow,), errors = run(bin_dir, "pages-volatile", "--pages", "1", "--commits", "4", "--think", "1000")
    check(status == 0 and slow["update_ns"] < 4_000_000 < slow["roi_ns"], f"thinking is not part: {slow} {errors}")
    for words, wanted in (
        (["--data-pages", "48"], "power of two, not 48"),
        (["--pages", "128"], "at most --data-pages, not 128"),
        (["--pages", "1,,2"], "--pages"),
        (["--lines", "65"], "--lines"),
    ):
        status, _, errors = run(bin_dir, "pages-msync-4k", *pool, *words)
        check(status == 2 and wanted in errors, f"{words}: status {status}, {errors!r}")


def check_tenants(bin_dir: Path, scratch: Path) -> None:
    """The requested readers run, every point read is timed, and a scan alone reads its part once."""
    pool = ["--file", str(scratch / "tenants"), "--points", "65536", "--scan", "131072", "--reads", "500"]
    for who, rows_wanted in {"points": 2, "scan": 1, "both": 2}.items():
        status, rows, errors = run(bin_dir, "tenants", *pool, "--tenants", who)
        check(status == 0 and len(rows) == rows_wanted, f"{who}: {rows} {errors}")
        check(who != "scan" or rows[0]["scanned_bytes"] == 131072, f"{rows}")
        check(who != "points" or rows[0]["scanned_bytes"] == 0, f"{rows}")
        check(all(row["count"] == 500 for row in rows[1:]), f"{rows}")
    for words, wanted in (
        (["--tenants", "all"], "'all'"),
        (["--reads", "897"], "896"),
        (["--scan", "5000"], "whole"),
    ):
        status, _, errors = run(bin_dir, "tenants", *pool, *words)
        check(status == 2 and wanted in errors, f"{words}: status {status}, {errors!r}")


def check_pool_that_never_was(bin_dir: Path, scratch: Path) -> None:
    """A full file system: the run fails and leaves no half pool. An empty file after a crash promised nothing."""
    mount = scratch / "full"
    mount.mkdir()
    script = """
        mount -t tmpfs -o size=64k none "$1"
        "$2" --engine "$3" --file "$1/pool" 2>"$1/said" && exit 3
        grep -q "No space left" "$1/said" || exit 4
        mount -o remount,size=64m "$1"
        "$2" --engine "$3" --file "$1/pool" --verify
    """
    for engine in ("msync-4k", "snapshot"):
        command = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", str(mount), str(bin_dir / "kv")]
        done = subprocess.run([*command, engine], capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"{engine} on a full file system: status {done.returncode}: {done.stdout}")
        (scratch / "empty.pool").touch()
        arguments = ["--engine", engine, "--file", str(scratch / "empty.pool"), "--verify"]
        status, rows, _ = run(bin_dir, "kv", *arguments)
        check(status == 0 and rows[0]["verified"], f"{engine} on an empty file: {rows}")


def check_bad_input(bin_dir: Path, scratch: Path) -> None:
    pool, nowhere = ["--file", str(scratch / "bad.pool")], ["--file", str(scratch / "no" / "such" / "pool")]
    del os.environ["EXCHANGE_STAND_IN"]
    engines = ["snapshot", "pmdk", "msync-4k", "msync-journal", "famus-snap", "fams-exchange"]
    cases = [
        (["--workload", "A", *pool], "--engine"),
        (["--engine", "other", *pool], "--engine"),
        (["--engine", "snapshot", "--workload", "H", *pool], "'H'"),
        (["--engine", "snapshot", "--records", "-1", *pool], "--records"),
        (["--engine", "snapshot"], "--file"),
        (["--engine", "snapshot", "--unknown", *pool], "unknown"),
        *((["--engine", engine, *nowhere], "no/such/pool") for engine in engines),
        (["--engine", "msync-2m", *KV_SIZE, "--file", "/dev/shm/kv-refused"], "page faults"),
        (["--engine", "msync-journal", *KV_SIZE, "--file", "/dev/shm/kv-refused"], "data=journal"),
        (["--engine", "famus-snap", *KV_SIZE, "--file", "/dev/shm/kv-refused"], "reflink"),
        (["--engine", "fams-exchange", *KV_SIZE, "--file", "/dev/shm/kv-refused"], "mkfs.xfs -i exchange=1"),
    ]
    for arguments, word in cases:
        status, _, errors = run(bin_dir, "kv", *arguments)
        check(status == 2 and word in errors, f"{arguments}: status {status}, {errors!r}")
    check(list(Path("/dev/shm").glob("kv-refused*")) == [], "a pool that could not be made is left")


def main() -> None:
    bin_dir, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for program, options in WORKLOADS:
        check_workload(bin_dir, scratch, program, options)
    check_latencies(bin_dir, scratch)
    check_epochs(bin_dir, scratch)
    check_recovery(bin_dir, scratch)
    check_verify_looks(bin_dir, scratch)
    check_shared_kv(bin_dir, scratch)
    check_commits(bin_dir, scratch)
    check_shared_epochs(bin_dir, scratch)
    check_mtree(bin_dir)
    check_pages(bin_dir, scratch)
    check_tenants(bin_dir, scratch)
    check_pool_that_never_was(bin_dir, scratch)
    check_bad_input(bin_dir, scratch)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
