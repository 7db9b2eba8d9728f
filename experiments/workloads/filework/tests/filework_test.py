# SPDX-License-Identifier: BSD-3-Clause
"""filework as users start it: filework_test.py PROGRAM PROGRAM_UNDER_TSAN SCRATCH_FOLDER"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM, UNDER_TSAN, SCRATCH = sys.argv[1], sys.argv[2], Path(sys.argv[3])
SIZES = ("--files", "100", "--mean", "3000", "--append", "2000", "--loops", "100", "--aged", "50")


def run(program: str, *words: str) -> tuple[int, dict[str, Any], str]:
    """Run a program in a new folder; return its status, row and stderr."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    done = subprocess.run([program, "--folder", str(SCRATCH / "files"), *words], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout or "{}") if "{" in done.stdout else {}, done.stderr


def check(holds: bool, message: str) -> None:
    if not holds:
        sys.exit(message)


def check_flows() -> None:
    """A flow makes its number of calls with any number of threads, under TSan."""
    for flow, calls in (("varmail", 13), ("webproxy", 19)):
        for threads in (1, 2, 8):
            status, row, said = run(UNDER_TSAN, "--flow", flow, "--threads", str(threads), *SIZES)
            check(status == 0, f"{flow}, {threads} threads: {said}")
            check(row["operations"] == 100 * calls and row["verified"], f"{row}")
            check(row["fsync_calls"] == (200 if flow == "varmail" else 0), f"{row}")
            times = sum(value for name, value in row.items() if name.endswith("_ns") and name != "roi_ns")
            check(0 < times <= row["roi_ns"] * threads, f"{row}")


def check_same() -> None:
    """The same seed leaves the same files, in one folder or in many; another seed leaves other files."""
    rows = [run(PROGRAM, *SIZES, *more)[1] for more in ((), (), ("--width", "7"), ("--seed", "2"))]
    sums = [row["checksum"] for row in rows]
    check(sums[0] == sums[1] == sums[2] != sums[3], f"{sums}")
    check(rows[0]["written_bytes"] == rows[2]["written_bytes"] > 0, f"{rows}")
    names = sorted(path.name for path in (SCRATCH / "files").iterdir())
    check(len(names) == 80 and all(len(name) == 8 for name in names), f"{names}")


def check_refused() -> None:
    for words, wanted in (
        (("--flow", "fileserver"), "'fileserver'"),
        (("--threads", "11", "--files", "100"), "ten for each thread"),
        (("--append", "0"), "--append must be a number from 1"),
        (("--folder", ""), "--folder is missing"),
        (("--folder", str(SCRATCH / "no" / "such")), "cannot make the folder"),
    ):
        status, _, said = run(PROGRAM, *words)
        check(status == 2 and wanted in said, f"{words}: status {status}, {said!r}")
    shutil.rmtree(SCRATCH / "files", ignore_errors=True)
    (SCRATCH / "files").mkdir()
    (SCRATCH / "files" / "00000003").touch()
    done = subprocess.run([PROGRAM, "--folder", str(SCRATCH / "files")], capture_output=True, text=True)
    check(done.returncode == 2 and "cannot create" in done.stderr, done.stderr)
    status, _, said = run(PROGRAM, "--help")
    check(status == 0 and not said, said)


check_flows()
check_same()
check_refused()
shutil.rmtree(SCRATCH, ignore_errors=True)
