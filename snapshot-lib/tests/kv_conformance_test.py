# SPDX-License-Identifier: BSD-3-Clause
"""Every engine does the same work: equal requests, values read and final state; the durable ones reopen to it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ENGINES = ["volatile", "snapshot", "pmdk", "msync-4k"]
COMMON = ["reads", "updates", "inserts", "scans", "scanned_records", "missing", "read_sum", "checksum", "commits"]
SIZE = ["--records", "3000", "--operations", "3000", "--buckets", "3", "--seed", "9"]


def run(bin_dir: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run([str(bin_dir / "kv"), *arguments], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


def check(condition: bool, message: str) -> None:
    if not condition:
        raise SystemExit(message)


def check_workload(bin_dir: Path, scratch: Path, workload: str) -> None:
    results = {}
    for engine in ENGINES:
        common = ["--engine", engine, "--workload", workload, "--file", str(scratch / f"{engine}.pool"), *SIZE]
        status, result, errors = run(bin_dir, *common)
        check(status == 0, f"{engine} {workload}: status {status}: {errors}")
        results[engine] = {name: result[name] for name in COMMON}
        check(result["updates"] + result["inserts"] == result["commits"], f"{engine}: one commit per update: {result}")
        if engine == "snapshot":
            check(result["fences"] == 2 * result["commits"], f"two fences per commit: {result}")
        if engine != "volatile":
            status, verified, _ = run(bin_dir, *common, "--verify")
            check(status == 0 and verified["verified"], f"{engine} {workload}: {verified}")
            check(verified["commits"] == result["commits"], f"{engine} {workload}: commits lost: {verified}")
            status, verified, _ = run(bin_dir, *common, "--verify", "--seed", "10")
            check(status == 1 and not verified["verified"], f"{engine}: verify accepts the state of another seed")
    for engine in ENGINES:
        check(results[engine] == results["volatile"], f"{workload}: {engine} differs: {results}")


def check_bad_input(bin_dir: Path, scratch: Path) -> None:
    pool = ["--file", str(scratch / "bad.pool")]
    for arguments, word in [
        (["--workload", "A", *pool], "--engine"),
        (["--engine", "other", *pool], "--engine"),
        (["--engine", "snapshot", "--workload", "H", *pool], "'H'"),
        (["--engine", "snapshot", "--records", "-1", *pool], "--records"),
        (["--engine", "snapshot"], "--file"),
        (["--engine", "snapshot", "--unknown", *pool], "unknown"),
        (["--engine", "snapshot", "--file", str(scratch / "no" / "such" / "pool")], "no/such/pool"),
        (["--engine", "pmdk", "--file", str(scratch / "no" / "such" / "pool")], "no/such/pool"),
        (["--engine", "msync-4k", "--file", str(scratch / "no" / "such" / "pool")], "no/such/pool"),
        (["--engine", "msync-2m", "--workload", "A", *SIZE, "--file", "/dev/shm/kv-no-huge-pages"], "page faults"),
    ]:
        status, _, errors = run(bin_dir, *arguments)
        check(status == 2 and word in errors, f"{arguments}: status {status}, {errors!r}")
    check(not Path("/dev/shm/kv-no-huge-pages").exists(), "a pool that could not be made is left")


def main() -> None:
    bin_dir, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for workload in "ABCDEFG":
        check_workload(bin_dir, scratch, workload)
    check_bad_input(bin_dir, scratch)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
