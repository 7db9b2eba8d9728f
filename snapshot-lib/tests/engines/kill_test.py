# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 at seeded moments, in loading and between operations, of every engine that claims atomicity and every
workload: the pool reopens to the last acknowledged commit or the one after it."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

ENGINES = ["snapshot", "snapshot-nv", "pmdk"]
FAMS = ["fams-mprotect", "fams-uffd"]
FAMS_WORKLOADS = ["kv", "pages", "shared-kv"]  # they commit as snapshot does
# They commit by the same thread: a checkpoint ends each transaction.
EPOCHS = ["cpnvm", "snapshot-epoch"]
EPOCH_WORKLOADS = ["kv", "btree", "mtree", "pages", "shared-kv"]
ONLY = dict.fromkeys(FAMS, FAMS_WORKLOADS) | dict.fromkeys(EPOCHS, EPOCH_WORKLOADS)
OLD_KERNEL = "(Linux 6.7): set SNAPSHOT_TRACK=mprotect"  # the message of fams-uffd
# Sizes that last longer than the longest wait; rounds; whether there is a load to be killed in.
WORKLOADS = {
    "kv": (["--records", "20000", "--operations", "2000000"], 8, True),
    "list": (["--nodes", "1000000", "--passes", "0"], 6, False),
    "btree": (["--keys", "400000"], 6, False),
    "mtree": (["--records", "20000", "--operations", "2000000"], 6, True),
    "pages": (["--data-pages", "1024", "--pages", "7", "--commits", "900000", "--written-pages", "9000000"], 6, True),
    "threads": (["--threads", "3", "--rounds", "1000000"], 6, False),
    "shared-kv": (["--threads", "3", "--records", "20000", "--operations", "400000"], 6, False),
    "shared-kv --commits each": (["--threads", "3", "--records", "20000", "--operations", "400000"], 6, False),
    "commits": (["--threads", "3", "--rounds", "1000000"], 6, False),
    "commits --data files": (["--threads", "3", "--rounds", "1000000"], 6, False),
    "commits --data shared": (["--threads", "3", "--rounds", "1000000"], 6, False),
}


def acknowledged(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[:8], "little") if path.exists() else 0


def one_round(scratch: Path, command: list[str], delay_s: float, lost: int = 0) -> tuple[int, int]:
    """The acknowledged state, and the state found; so many of the former may be lost."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    progress = scratch / "acknowledged"
    process = subprocess.Popen([*command, "--acknowledge", str(progress)], stdout=subprocess.DEVNULL)
    deadline_s = time.monotonic() + 60
    # A negative delay counts from the start, others from the first acknowledged commit.
    while delay_s >= 0 and acknowledged(progress) == 0 and time.monotonic() < deadline_s:
        time.sleep(0.005)
    time.sleep(abs(delay_s))
    process.kill()
    if process.wait() != -9:
        raise SystemExit(f"{command} ended by itself: it must be longer than {delay_s} s")
    promised = acknowledged(progress)
    done = subprocess.run([*command, "--verify"], capture_output=True, text=True, check=False)
    verified = json.loads(done.stdout)
    if done.returncode != 0 or not promised - lost <= verified["commits"] <= promised + 1:
        raise SystemExit(f"{command}, killed after {delay_s} s: acknowledged {promised}, found {verified}")
    return promised, verified["commits"]


def is_too_old_for(bin_dir: Path, engine: str, scratch: Path) -> bool:
    scratch.mkdir(parents=True, exist_ok=True)
    command = [str(bin_dir / f"kv-{engine}"), "--file", str(scratch / "pool"), "--records", "10", "--operations", "1"]
    return OLD_KERNEL in subprocess.run(command, capture_output=True, text=True, check=False).stderr


def main() -> None:
    bin_dir, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    for engine in ENGINES + EPOCHS + [engine for engine in FAMS if not is_too_old_for(bin_dir, engine, scratch)]:
        for workload, (size, count, loads) in WORKLOADS.items():
            if workload not in ONLY.get(engine, WORKLOADS):
                continue
            seeded = random.Random(1)
            program, *how = workload.split()
            command = [str(bin_dir / f"{program}-{engine}"), "--file", str(scratch / "pool"), *how, *size]
            rounds = []
            for number in range(count):
                early = loads and number % 3 == 0
                delay_s = -seeded.uniform(0.001, 0.05) if early else seeded.uniform(0.0, 0.2)
                rounds.append(one_round(scratch, command, delay_s))
            if max(commits for _, commits in rounds) == 0:
                raise SystemExit(f"{workload} on {engine}: no round was killed in the middle of updates")
            print(engine, workload, rounds)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
