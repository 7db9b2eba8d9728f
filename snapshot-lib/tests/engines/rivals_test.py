# SPDX-License-Identifier: BSD-3-Clause
"""The rivals serve the same requests as kv, and name faults. kill -9 leaves an epoch's end that is not too old."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from kill_test import one_round

# How many updates may be gone that were acknowledged, when each ends an epoch.
RIVALS = {"leaves": 0, "payloads": 1}
SIZE = ["--records", "3000", "--operations", "3000", "--seed", "9"]
SAME = ["reads", "updates", "inserts", "missing", "read_sum", "checksum"]
EPOCHS: tuple[dict[str, str], ...] = ({}, {"SNAPSHOT_EPOCH_NS": "50000"}, {"SNAPSHOT_EPOCH_TRANSACTIONS": "16"})
LONG = ["--records", "2000", "--operations", "2000000", "--workload", "G"]


def check(condition: bool, message: str) -> None:
    if not condition:
        raise SystemExit(message)


def run(command: list[str], **environment: str) -> tuple[int, list[dict[str, Any]], str]:
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def check_rows(bin_dir: Path, scratch: Path, rival: str, letter: str) -> None:
    options = [*SIZE, "--workload", letter]
    (kv,) = run([str(bin_dir / "kv-volatile"), *options])[1]
    for engine in ("epochs", "volatile"):
        for epochs in EPOCHS:
            command = [str(bin_dir / f"{rival}-{engine}"), *options, "--file", str(scratch / "pool")]
            status, rows, errors = run(command, **epochs)
            check(status == 0 and len(rows) == 1, f"{command}: status {status}: {errors}")
            (row,) = rows
            check(all(kv[name] == row[name] for name in SAME), f"{rival} differs from kv: {row}, {kv}")
            changes = row["updates"] + row["inserts"]
            wanted = changes // int(epochs.get("SNAPSHOT_EPOCH_TRANSACTIONS", 1))
            by_clock = "SNAPSHOT_EPOCH_NS" in epochs
            check(0 <= row["commits"] <= changes if by_clock else row["commits"] == wanted, f"{epochs}: {row}")
            check((row["stop_ns"] > 0) == (row["commits"] > 0), f"time of epochs' ends: {row}")
            if engine == "epochs" and changes:
                check(row["fences"] >= row["commits"] and row["data_bytes"] % 64 == 0, f"what epochs cost: {row}")
                status, rows, _ = run([*command, "--verify"])
                (found,) = rows
                # The process came to its end, so at most the work after the last epoch's end is taken back.
                check(status == 0 and found["verified"] and found["commits"] <= changes, f"{command}: {found}")
                status, rows, _ = run([*command, "--seed", "10", "--verify"])
                check(status == 1 and "no number of updates" in rows[0]["problem"], f"another seed's state: {rows}")


def check_killed(bin_dir: Path, scratch: Path, rival: str) -> None:
    """The process's stores are all there, unlike a machine's: recovery must still take some back."""
    seeded = random.Random(1)
    command = [str(bin_dir / f"{rival}-epochs"), *LONG, "--file", str(scratch / "killed" / "pool")]
    delays_s = [-seeded.uniform(0.001, 0.02), *(seeded.uniform(0.0, 0.2) for _ in range(4))]
    rounds = [one_round(scratch / "killed", command, delay_s, RIVALS[rival]) for delay_s in delays_s]
    check(max(commits for _, commits in rounds) > 0, f"{rival}: no round was killed in the middle of updates")
    print(rival, rounds)


def check_said(bin_dir: Path, scratch: Path, rival: str) -> None:
    pool = ["--file", str(scratch / "bad.pool")]
    cases = [
        (["--workload", "E", *pool], {}, "no order"),
        (["--workload", "H", *pool], {}, "'H'"),
        (["--commit-time", *pool], {}, "stop_ns"),
        (["--buckets", "3", *pool], {}, "buckets"),
        ([], {}, "--file"),
        (["--file", str(scratch / "no" / "pool")], {}, "no/pool"),
        (pool, {"SNAPSHOT_EPOCH_NS": "1ms"}, "SNAPSHOT_EPOCH_NS"),
        (pool, {"SNAPSHOT_EPOCH_TRANSACTIONS": "0"}, "SNAPSHOT_EPOCH_TRANSACTIONS"),
    ]
    for words, environment, wanted in cases:
        status, _, errors = run([str(bin_dir / f"{rival}-epochs"), *words], **environment)
        check(status == 2 and wanted in errors, f"{rival} {words}: status {status}, {errors!r}")
    (scratch / "empty.pool").touch()
    command = [str(bin_dir / f"{rival}-epochs"), *SIZE, "--file", str(scratch / "empty.pool"), "--verify"]
    status, rows, _ = run(command)
    check(status == 0 and rows[0]["verified"], f"{rival} on an empty file: {rows}")


def main() -> None:
    bin_dir, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for rival in RIVALS:
        for letter in "ABCDFG":
            check_rows(bin_dir, scratch, rival, letter)
        check_killed(bin_dir, scratch, rival)
        check_said(bin_dir, scratch, rival)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
