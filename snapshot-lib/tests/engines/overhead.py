# SPDX-License-Identifier: BSD-3-Clause
"""The cost of the pass where nothing is tracked: instructions of kv on the engine volatile, without it and with it.

overhead.py BUILD/workloads [RECORDS [OPERATIONS]]: needs valgrind and objcopy. Counted are the requests alone, by
callgrind, which gives the same number every time.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ENGINES = ["volatile", "volatile-noop", "volatile-check", "volatile-each", "volatile-instrumented"]
REQUEST = "workloads::Client*::serve(*"  # the function that serves one request


def instructions(program: Path, workload: str, records: int, operations: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={REQUEST}"]
    command += [str(program), "--workload", workload, "--records", str(records), "--operations", str(operations)]
    command += ["--compare", "words"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if not collected or int(collected[1]) == 0:
        raise SystemExit(f"{program}: callgrind counted nothing in {REQUEST}")
    return int(collected[1])


def main() -> None:
    records = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    operations = int(sys.argv[3]) if len(sys.argv) > 3 else 20000
    ratios: list[list[float]] = []
    with tempfile.TemporaryDirectory() as scratch:
        programs = [Path(scratch) / f"kv-{engine}" for engine in ENGINES]
        for program in programs:  # valgrind does not read every version of debug information
            subprocess.run(["objcopy", "--strip-debug", Path(sys.argv[1]) / program.name, program], check=True)
        print(f"| workload | {' | '.join(ENGINES)} |\n|---{'|---' * len(ENGINES)}|")
        for workload in "ABCDEFG":
            plain, *guarded = (instructions(p, workload, records, operations) / operations for p in programs)
            ratios.append([count / plain for count in guarded])
            cells = [f"{plain:.1f}", *(f"{n:.1f} (+{n / plain - 1:.2%})" for n in guarded)]
            print(f"| {workload} | {' | '.join(cells)} |")
    for engine, of_engine in zip(ENGINES[1:], zip(*ratios, strict=True), strict=True):
        mean = math.exp(sum(map(math.log, of_engine)) / len(of_engine))
        print(f"{engine}: geometric mean {mean - 1:.2%}, worst {max(of_engine) - 1:.2%}")


if __name__ == "__main__":
    main()
