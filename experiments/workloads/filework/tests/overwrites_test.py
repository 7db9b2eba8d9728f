# SPDX-License-Identifier: BSD-3-Clause
"""overwrites as users start it: overwrites_test.py PROGRAM SCRATCH_FOLDER"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM, SCRATCH = sys.argv[1], Path(sys.argv[2])
FILE = SCRATCH / "file"


def run(*words: str) -> tuple[int, list[dict[str, Any]], str]:
    """Run the program in a new folder; return its status, rows and stderr."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    done = subprocess.run([PROGRAM, "--file", str(FILE), *words], capture_output=True, text=True)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def check(holds: bool, message: str) -> None:
    if not holds:
        sys.exit(message)


def check_counts() -> None:
    """The program makes the requested number of calls and counts each in a histogram."""
    status, rows, said = run("--times", "0,3", "--pages", "10", "--reads", "3")
    whole = [row for row in rows if "roi_ns" in row]
    check(status == 0 and all(row["verified"] for row in whole), said)
    check([(row["times"], row["write_calls"]) for row in whole] == [(0, 0), (3, 30)], f"{rows}")
    check(all((row["read_calls"], row["read_again_calls"]) == (10, 20) for row in whole), f"{rows}")
    counts = [(row["operation"], row["count"]) for row in rows if "count" in row]
    check(counts == [("read", 10), ("read_again", 20), ("write", 30), ("read", 10), ("read_again", 20)], f"{counts}")
    status, rows, said = run("--mixed", "1000", "--pages", "10")
    check(status == 0 and rows[0]["read_calls"] + rows[0]["write_calls"] == 1000, f"{rows} {said}")
    check(400 < rows[0]["read_calls"] < 600, f"{rows}")


def check_refused() -> None:
    for words, wanted in (
        (("--times", "1,x"), "--times must be a number"),
        (("--bytes", "4097"), "from 1 to 4096"),
        (("--file", ""), "--file is missing"),
        (("--file", str(SCRATCH / "no" / "such")), "cannot create"),
    ):
        status, _, said = run(*words)
        check(status == 2 and wanted in said, f"{words}: status {status}, {said!r}")


check_counts()
check_refused()
shutil.rmtree(SCRATCH, ignore_errors=True)
