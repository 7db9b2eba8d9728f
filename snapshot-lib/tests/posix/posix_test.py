# SPDX-License-Identifier: BSD-3-Clause
"""A program that was only recompiled: its mappings are tracked, and a fault of a file is refused with a message."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("posix_program.c")


UNTRACKED = SOURCE.with_name("posix_untracked.c")


class Program:
    """The program of posix_program.c, compiled as a user would."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.path = scratch / "program"
        untracked = scratch / "untracked.o"
        subprocess.run(["cc", "-O2", "-fPIC", "-c", str(UNTRACKED), "-o", str(untracked)], check=True)
        include = ["-I", os.environ["SNAPSHOT_INCLUDE"]]
        arguments = ["-O2", "-Wall", *include, str(SOURCE), str(untracked), "-o", str(self.path)]
        subprocess.run([os.environ["SNAPCC"], *arguments], check=True)

    def start(self, mode: str, file: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        tracked = f"/nowhere:{self.scratch / 'tracked'}:{self.scratch / 'beside' / 'data'}"
        return subprocess.run(
            [str(self.path), mode, str(file)],
            env={**os.environ, "SNAPSHOT_DIR": tracked, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def expect(self, mode: str, file: Path, output: str) -> None:
        done = self.start(mode, file)
        if done.returncode != 0:
            raise SystemExit(f"{mode} {file}: status {done.returncode}: {done.stderr}")
        if done.stdout.strip() != output:
            raise SystemExit(f"{mode} {file}: {done.stdout!r} instead of {output!r}")

    def refused(self, mode: str, file: Path, words: str, **environment: str) -> None:
        done = self.start(mode, file, **environment)
        if done.returncode == 0 or words not in done.stderr or str(file) not in done.stderr:
            raise SystemExit(f"{mode} {file}: status {done.returncode}, says {done.stderr!r} instead of {words!r}")


def test_commits(program: Program) -> None:
    """Tracked by MAP_SYNC, by a directory or by its name in SNAPSHOT_DIR; else left alone."""
    scratch = program.scratch
    cases = [("", scratch / "flag"), ("plain-", scratch / "tracked" / "file"), ("plain-", scratch / "beside" / "data")]
    for prefix, file in cases:
        program.expect(prefix + "commit", file, "")
        program.expect(prefix + "read", file, "1 10")
        program.expect(prefix + "nothing", file, "")
        program.expect(prefix + "read", file, "1 10")
        program.expect(prefix + "part", file, "")
        program.expect(prefix + "read", file, "2 20")
        program.expect(prefix + "commit-invalidate", file, "3 30")
        program.expect(prefix + "errors", file, "")
        if not Path(f"{file}.snapshot-log").exists():
            raise SystemExit(f"{file} has no log")
    for file in (scratch / "untracked", scratch / "beside" / "data.lock"):
        program.expect("plain-nothing", file, "")
        program.expect("plain-read", file, "101 10")
        if Path(f"{file}.snapshot-log").exists():
            raise SystemExit("a file without a request to track it has a log")


def test_file_calls(program: Program) -> None:
    file = program.scratch / "moving"
    program.expect("file-calls", file, "")
    if left := list(program.scratch.glob("moving*")):
        raise SystemExit(f"{left} are left behind")


def test_mapping_again(program: Program) -> None:
    """Stored data is still there when a file that grew is mapped again; data that was never committed is not kept."""
    file = program.scratch / "growing"
    program.expect("commit", file, "")
    program.expect("remaps-commits", file, "")
    pages = [file.read_bytes()[at : at + 2] for at in range(0, 9 * 4096, 4096)]
    if pages != [b"\x01\0", *(bytes([number]) + b"x" for number in range(2, 9)), b"xx"]:
        raise SystemExit(f"after growth and commits: {pages}")
    program.expect("remaps", file, "")
    if left := file.read_bytes().strip(b"\0x"):
        raise SystemExit(f"after growth without a commit: {left!r}")
    done = program.start("remaps", file, SNAPSHOT_CHECK="1")
    if done.returncode != 0 or "line(s) were stored and not committed" not in done.stderr:
        raise SystemExit(f"a loss is not named: status {done.returncode}: {done.stderr!r}")


def test_fixed_places(program: Program) -> None:
    program.expect("fixed", program.scratch / "placed", "")


def test_refusals(program: Program) -> None:
    """mmap fails, and one line states the file and the remedy; the data stays unchanged."""
    one, other = program.scratch / "one", program.scratch / "other"
    logs = [Path(f"{file}.snapshot-log") for file in (one, other)]
    for file in (one, other):
        program.expect("commit", file, "")
    content = one.read_bytes()
    kept = logs[0].read_bytes()
    logs[0].write_bytes(logs[1].read_bytes())
    program.refused("read", one, "SNAPSHOT_ADOPT=1")
    logs[0].write_bytes(b"?" * len(kept))
    program.refused("read", one, "another version")
    logs[0].write_bytes(kept[:16] + b"\x63" + kept[17:])
    program.refused("read", one, "another version")
    logs[0].write_bytes(kept[:1024] + bytes(512) + kept[1536:])
    program.refused("read", one, "is damaged")
    logs[0].write_bytes(kept)
    with one.open("ab") as grown:
        grown.write(bytes(4096))
    program.refused("fill", one, "file size")
    os.truncate(one, len(content))
    if one.read_bytes() != content:
        raise SystemExit("a refusal changed the file")
    program.expect("read", one, "1 10")
    logs[0].unlink()
    program.expect("read", one, "1 10")


def test_detector(program: Program) -> None:
    """The library names a write of uninstrumented code; after an announcement it is in order."""
    file = program.scratch / "checked"
    program.refused("escaping-commit", file, "page 1: 1 line(s) were written and not tracked", SNAPSHOT_CHECK="abort")
    done = program.start("escaping-commit", file, SNAPSHOT_CHECK="1")
    if done.returncode != 0 or "byte 5000 " not in done.stderr:
        raise SystemExit(f"detector: status {done.returncode}: {done.stderr!r}")
    for mode in ("announced-escaping-commit", "commit"):
        done = program.start(mode, program.scratch / mode, SNAPSHOT_CHECK="abort")
        loss = r"snapshot: check: .*: 1 line.*: the program ends: .*\n"  # it ends with a store that it did not commit
        if done.returncode != 0 or not re.fullmatch(loss, done.stderr):
            raise SystemExit(f"detector: {mode}: status {done.returncode}: {done.stderr!r}")


def test_full_device(program: Program) -> None:
    """tmpfs without room for 8 MiB of data, holes before: msync fails with ENOSPC, the file is unchanged."""
    mount = program.scratch / "small"
    mount.mkdir()
    script = """
        set -e
        mount -t tmpfs -o size=$3m none "$1"
        "$2" fill "$1/data"
        [ "$(tr -d '\\0' <"$1/data")" = a ]
        rm "$1/data" "$1/data.snapshot-log"
        mount -o remount,size=12m "$1"
        head -c 8M /dev/zero >"$1/ballast"
        "$2" fill "$1/data" "$1/ballast"
        [ "$(tr -d '\\0' <"$1/data" | wc -c)" = 2048 ]
    """
    for mebibytes in ("4", "8"):
        command = ["unshare", "--mount", "--map-root-user", "sh", "-c", script]
        done = subprocess.run(
            [*command, "sh", str(mount), str(program.path), mebibytes], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"full device: {mebibytes} MiB: status {done.returncode}: {done.stderr}")


def main() -> None:
    scratch = Path(sys.argv[1])
    shutil.rmtree(scratch, ignore_errors=True)
    for directory in ("tracked", "beside"):
        (scratch / directory).mkdir(parents=True)
    program = Program(scratch)
    for test in (
        test_commits,
        test_file_calls,
        test_mapping_again,
        test_fixed_places,
        test_refusals,
        test_detector,
        test_full_device,
    ):
        test(program)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
