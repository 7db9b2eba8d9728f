# SPDX-License-Identifier: BSD-3-Clause
"""Each of PMDK's example structures holds the inserted values, and is empty after deleting."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

RECORDS = 3000


def run(bin_dir: Path, structure: str, operation: str, file: Path) -> subprocess.CompletedProcess[str]:
    command = [str(bin_dir / "pmdk-examples"), "--structure", structure, "--operation", operation]
    command += ["--file", str(file), "--records", str(RECORDS)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main() -> None:
    bin_dir, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    sums: dict[str, set[str]] = {"insert": set(), "read": set(), "traverse": set(), "delete": set()}
    for structure in ["btree", "hashmap", "list"]:
        for operation, found in sums.items():
            done = run(bin_dir, structure, operation, scratch / "pool")
            if (structure, operation) == ("list", "read"):
                if done.returncode != 2 or "no keys" not in done.stderr:
                    raise SystemExit(f"a list was read by key: {done}")
                continue
            if done.returncode != 0 or json.loads(done.stdout)["operations"] != RECORDS:
                raise SystemExit(f"{structure} {operation}: {done}")
            found.add(json.loads(done.stdout)["read_sum"])
    if sums["insert"] != {"0" * 16} or sums["delete"] != {"0" * 16}:
        raise SystemExit(f"something is left after deleting: {sums}")
    if len(sums["read"]) != 1 or sums["read"] != sums["traverse"] or sums["read"] == sums["delete"]:
        raise SystemExit(f"the structures hold other values: {sums}")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
