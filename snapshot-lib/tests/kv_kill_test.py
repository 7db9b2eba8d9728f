# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 at seeded moments, in loading and in updates: the pool reopens to the last acknowledged commit or later."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 12
SIZE = ["--records", "20000", "--operations", "2000000", "--seed", "4"]


def acknowledged(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[:8], "little") if path.exists() else 0


def one_round(bin_dir: Path, scratch: Path, engine: str, delay_s: float) -> tuple[int, int]:
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    progress = scratch / "acknowledged"
    command = [str(bin_dir / "kv"), "--engine", engine, "--workload", "A", "--file", str(scratch / "pool"), *SIZE]
    process = subprocess.Popen([*command, "--acknowledge", str(progress)], stdout=subprocess.DEVNULL)
    deadline_s = time.monotonic() + 60
    # Half of the rounds are killed while loading, the others some time into the updates.
    while delay_s >= 0 and acknowledged(progress) == 0 and time.monotonic() < deadline_s:
        time.sleep(0.005)
    time.sleep(abs(delay_s))
    process.kill()
    process.wait()
    promised = acknowledged(progress)
    done = subprocess.run([*command, "--verify"], capture_output=True, text=True, check=False)
    verified = json.loads(done.stdout)
    if done.returncode != 0 or not promised <= verified["commits"] <= promised + 1:
        raise SystemExit(f"{engine}, killed after {delay_s} s: acknowledged {promised}, found {verified}")
    return promised, verified["commits"]


def main() -> None:
    bin_dir, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    for engine in ["snapshot", "pmdk"]:
        seeded = random.Random(1)
        rounds = []
        for number in range(ROUNDS):
            delay_s = seeded.uniform(0.0, 0.3) if number % 3 else -seeded.uniform(0.001, 0.05)
            rounds.append(one_round(bin_dir, scratch, engine, delay_s))
        if max(commits for _, commits in rounds) == 0:
            raise SystemExit(f"{engine}: no round was killed in the middle of updates")
        print(engine, rounds)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
