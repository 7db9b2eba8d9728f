#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each mode answers all requests, and keeps answered ones when the server is killed, if the mode promises it."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ENGINES = ("none", "sync", "wal", "fams-uffd", "snapshot")
OLD_KERNEL = "(Linux 6.7)"  # in the message for a kernel that cannot track pages
SIZE = ("--records", "300", "--requests", "100", "--seed", "3")


def check(good: bool, what: str) -> None:
    if not good:
        raise SystemExit(f"server_test: {what}")


def run(folder: Path, engine: str, *words: str) -> tuple[int, list[dict[str, Any]], str]:
    made = subprocess.run(
        [folder / f"kyoto-server-{engine}", *SIZE, *words], capture_output=True, text=True, timeout=120, check=False
    )
    return made.returncode, [json.loads(line) for line in made.stdout.splitlines()], made.stderr


def check_answers(folder: Path, engine: str, db: str, scratch: Path) -> None:
    """The program compares the database with the requests, also with several clients."""
    for clients in ("1", "5"):
        pool = str(scratch / f"{engine}.{db}.{clients}")
        status, rows, errors = run(folder, engine, "--db", db, "--file", pool, "--clients", clients)
        if status and engine == "fams-uffd" and OLD_KERNEL in errors:
            return
        check(status == 0, f"{engine} {db}: status {status}, {errors}")
        check([row["operation"] for row in rows] == ["insert", "replace", "delete"], f"{rows}")
        for row in rows:
            check(row["requests"] == 100 and 0 < row["response_ns"] <= row["longest_ns"], f"{row}")


def check_killed(folder: Path, engine: str, db: str, scratch: Path) -> None:
    pool = str(scratch / f"{engine}.{db}.killed")
    status, rows, errors = run(folder, engine, "--db", db, "--file", pool, "--kill-after", "60")
    if status and engine == "fams-uffd" and OLD_KERNEL in errors:
        return
    if engine == "none" and db == "tree":  # its pages were in the server's memory: the check must report a loss
        check(status != 0, f"nothing was lost without synchronizing: {rows} {errors}")
        return
    if engine == "none":  # the kernel holds the file's pages, which outlive a process
        return
    check(status == 0 and rows[0]["acknowledged"] == 60, f"{engine} {db}: status {status}, {rows} {errors}")


def main() -> None:
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        scratch = Path(name)
        for engine in ENGINES:
            for db in ("tree", "hash"):
                check_answers(folder, engine, db, scratch)
                check_killed(folder, engine, db, scratch)
        for words, wanted in (
            (("--db", "list"), "--db must be tree or hash"),
            (("--clients", "0"), "--clients"),
            (("--clients", "2", "--kill-after", "3"), "--kill-after is for one client"),
            ((), "--file is missing"),
        ):
            pool = ["--file", str(scratch / "pool")] if words else []
            status, _, errors = run(folder, "wal", *pool, *words)
            check(status == 2 and wanted in errors, f"{words}: status {status}, {errors}")
        status, _, errors = run(folder, "wal", "--file", str(scratch / "no" / "folder"))
        check(status == 2 and "open" in errors, f"status {status}, {errors}")


main()
