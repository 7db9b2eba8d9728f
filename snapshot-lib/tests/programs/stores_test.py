# SPDX-License-Identifier: BSD-3-Clause
"""Kyoto Cabinet and LMDB, as they are and on Snapshot: the same contents; on Snapshot after kill -9 too."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

STORES = [["kyoto", "--db", "tree"], ["kyoto", "--db", "hash"], ["lmdb"]]
RECORDS = "200"  # loading and the transactions cost Kyoto's own log an fsync per change
TRANSACTIONS = 12
ROUNDS = 10


def run(bin_dir: Path, store: list[str], *arguments: str, status: int = 0) -> dict[str, Any]:
    command = [str(bin_dir / store[0]), *arguments, *store[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout) if status < 2 else {"message": done.stderr}
    return found


def conformance(bin_dir: Path, scratch: Path, updates: int, mix: str) -> None:
    outcomes = set()
    for store in STORES:
        for engine in ["msync" if store[0] == "lmdb" else "wal", "snapshot"]:
            options = ["--engine", engine, "--file", str(scratch / "-".join([*store, engine]).replace("--", ""))]
            options += ["--records", RECORDS, "--updates", str(updates), "--mix", mix]
            done = run(bin_dir, store, *options, "--transactions", str(TRANSACTIONS))
            outcomes.add((done["commits"], done["checksum"]))
            verified = run(bin_dir, store, *options, "--transactions", str(TRANSACTIONS), "--verify")
            if verified["commits"] != done["commits"] or (mix == "sets" and done["commits"] != TRANSACTIONS):
                raise SystemExit(f"{store} {engine}: {verified}")
            other = [*options, "--verify", "--seed", "2", "--transactions", str(TRANSACTIONS)]
            run(bin_dir, store, *other, status=1)
            run(bin_dir, store, *options, "--verify", "--transactions", str(TRANSACTIONS - 1), status=1)
    if len(outcomes) != 1:
        raise SystemExit(f"{updates} updates: stores or engines differ: {outcomes}")


def acknowledged(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[:8], "little") if path.exists() else 0


def kill_round(bin_dir: Path, scratch: Path, store: list[str], delay_s: float) -> int:
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    progress = scratch / "acknowledged"
    options = ["--engine", "snapshot", "--file", str(scratch / "file"), "--updates", "5"]
    options += ["--records", RECORDS, "--transactions", "200000"]
    command = [str(bin_dir / store[0]), *options, *store[1:], "--acknowledge", str(progress)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline_s = time.monotonic() + 60
    while acknowledged(progress) == 0 and time.monotonic() < deadline_s and process.poll() is None:
        time.sleep(0.002)
    time.sleep(delay_s)
    process.kill()
    process.wait()
    promised = acknowledged(progress)
    verified = run(bin_dir, store, *options, "--verify")
    if promised == 0 or not promised <= verified["commits"] <= promised + 1:
        raise SystemExit(f"{store}, killed after {delay_s} s: acknowledged {promised}, found {verified}")
    return promised


def bad_input(bin_dir: Path, scratch: Path) -> None:
    file = str(scratch / "bad")
    Path(file).write_bytes(b"x" * 5000)
    for options, wanted in [
        (["--engine", "wal", "--file", file, "--updates", "129"], "--updates"),
        (["--engine", "wal", "--file", file, "--db", "heap"], "--db"),
        (["--engine", "wal", "--file", file, "--mix", "halves"], "--mix must be sets or thirds, not 'halves'"),
        (["--engine", "none", "--file", file], "--engine must be one of wal, snapshot"),
        (["--engine", "snapshot"], "--file"),
    ]:
        message = run(bin_dir, ["kyoto"], *options, status=2)["message"]
        if wanted not in message:
            raise SystemExit(f"{options}: the message does not name {wanted}: {message}")
    refused = run(bin_dir, ["kyoto"], "--engine", "snapshot", "--file", file, "--verify", status=1)
    if "not as large as" not in refused["problem"]:
        raise SystemExit(f"a file of another size: {refused}")


def check(bin_dir: Path, scratch: Path) -> None:
    for mix in ["sets", "thirds"]:
        for updates in [1, 16, 128]:
            conformance(bin_dir, scratch, updates, mix)
    bad_input(bin_dir, scratch)
    seeded = random.Random(1)
    for store in STORES:  # under its own log Kyoto does not survive this: see docs/results/programs.md
        promised = [kill_round(bin_dir, scratch / "kill", store, seeded.uniform(0.0, 0.2)) for _ in range(ROUNDS)]
        print(*store, "killed after", promised, "transactions")


def main() -> None:
    memory = Path("/dev/shm")  # a busy disk makes seconds of the log's fsyncs
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        check(Path(sys.argv[1]), Path(scratch))


if __name__ == "__main__":
    main()
