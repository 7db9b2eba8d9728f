# SPDX-License-Identifier: BSD-3-Clause
"""open, mmap, msync of a program that was only recompiled: tracked by MAP_SYNC or by SNAPSHOT_DIR, else left alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("posix_program.c")


def main() -> None:
    scratch = Path(sys.argv[1])
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "tracked").mkdir(parents=True)
    program = scratch / "program"
    subprocess.run([os.environ["SNAPCC"], "-O2", "-Wall", str(SOURCE), "-o", str(program)], check=True)

    def run(mode: str, file: Path) -> str:
        environment = {**os.environ, "SNAPSHOT_DIR": f"/nowhere:{scratch / 'tracked'}"}
        done = subprocess.run(
            [str(program), mode, str(file)], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{mode} {file}: status {done.returncode}: {done.stderr}")
        return done.stdout.strip()

    def expect(mode: str, file: Path, output: str) -> None:
        found = run(mode, file)
        if found != output:
            raise SystemExit(f"{mode} {file}: {found!r} instead of {output!r}")

    by_flag, by_directory, untracked = scratch / "flag", scratch / "tracked" / "file", scratch / "untracked"
    for prefix, file in [("", by_flag), ("plain-", by_directory)]:
        expect(prefix + "commit", file, "")
        expect(prefix + "read", file, "1 10")
        expect(prefix + "nothing", file, "")
        expect(prefix + "read", file, "1 10")
        expect(prefix + "part", file, "")
        expect(prefix + "read", file, "2 20")
        expect(prefix + "commit-invalidate", file, "3 30")
        expect(prefix + "errors", file, "")
        if not Path(f"{file}.snapshot-log").exists():
            raise SystemExit(f"{file} has no log")
    expect("plain-nothing", untracked, "")
    expect("plain-read", untracked, "101 10")
    if Path(f"{untracked}.snapshot-log").exists():
        raise SystemExit("a file nobody asked to track has a log")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
