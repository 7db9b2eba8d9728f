# SPDX-License-Identifier: BSD-3-Clause
"""Runs every case of a program whose threads use tracked files at the same time, each in a folder of its own.

The program is compiled with the pass, as a user would. Without arguments it prints its cases, one a line. With a case
and a folder it returns 0, or says what is wrong.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

LIMIT_S = 120


def compiled(source: Path, scratch: Path) -> Path:
    program = scratch / source.stem
    common = ["-O2", "-Wall", "-Werror", "-I", os.environ["SNAPSHOT_INCLUDE"]]
    subprocess.run([os.environ["SNAPCC"], *common, str(source), "-o", str(program)], check=True)
    return program


def failure(program: Path, case: str, folder: Path) -> str:
    """Run one case; return "" or the reason why it failed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    environment = {**os.environ, "SNAPSHOT_DIR": str(folder)}
    try:
        done = subprocess.run([program, case, folder], env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"no end after {LIMIT_S} s"
    return f"status {done.returncode}: {done.stdout}{done.stderr}" if done.returncode else ""


def main() -> int:
    source, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    scratch.mkdir(parents=True, exist_ok=True)
    program = compiled(source, scratch)
    cases = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    failed = 0
    for case in cases:
        reason = failure(program, case, scratch / "files")
        failed += bool(reason)
        print(f"{case}: {reason or 'good'}", flush=True)
    return 0 if cases and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
