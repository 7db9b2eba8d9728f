#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each store keeps its records when it is reopened and after a kill; heap and adapter are as small as published."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
OLD_KERNEL = "(Linux 6.7)"  # in the message for a kernel that cannot track pages


def check(good: bool, what: str) -> None:
    if not good:
        raise SystemExit(f"map_test: {what}")


def lines_of_code(name: str) -> int:
    """The number of lines that are neither empty nor a comment."""
    lines = (line.strip() for line in (FOLDER / name).read_text().splitlines())
    return sum(bool(line) and not line.startswith("//") for line in lines)


def run(program: Path, *words: str) -> tuple[int, list[dict[str, object]], str]:
    made = subprocess.run([program, *words], capture_output=True, text=True, timeout=120, check=False)
    return made.returncode, [json.loads(line) for line in made.stdout.splitlines()], made.stderr


def check_engine(program: Path, pool: Path) -> None:
    status, rows, errors = run(program, "--file", str(pool), "--records", "500", "--requests", "200")
    if status and program.name.endswith("fams-uffd") and OLD_KERNEL in errors:
        return
    check(status == 0, f"{program.name}: status {status}, {errors}")
    check([row["operation"] for row in rows] == ["insert", "replace", "delete"], f"{rows}")
    status, rows, errors = run(program, "--file", f"{pool}.killed", "--records", "300", "--kill")
    check(status == 0 and rows[0]["verified"] is True, f"{program.name} killed: status {status}, {rows} {errors}")


def main() -> None:
    bin_dir, engines = Path(sys.argv[1]), sys.argv[2].split(",")
    heap, adapter = lines_of_code("persistent_heap.hpp"), lines_of_code("heap_allocator.hpp")
    check(heap < 200 and adapter < 20, f"the heap has {heap} lines and the adapter {adapter}")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        for engine in engines:
            check_engine(bin_dir / f"stl-map-{engine}", Path(scratch) / engine)
        status, _, errors = run(bin_dir / "stl-map-snapshot", "--file", f"{scratch}/no/folder")
        check(status == 2 and "cannot map" in errors, f"status {status}, {errors}")
        status, _, errors = run(bin_dir / "stl-map-snapshot", "--records", "3")
        check(status == 2 and "--file is missing" in errors, f"status {status}, {errors}")


main()
