# SPDX-License-Identifier: BSD-3-Clause
"""The explorers must find nothing under Snapshot, and known holes in Kyoto's own log and in plain msync."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def explore(bin_dir: Path, program: str, *arguments: str, status: int = 0) -> dict[str, int]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        command = [str(bin_dir / program), f"{scratch}/files", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise SystemExit(f"{program} {arguments}: status {done.returncode}\n{done.stdout}{done.stderr}")
    print(done.stdout.strip())
    found: dict[str, int] = json.loads(done.stdout)
    return found


def expect(condition: bool, found: dict[str, int]) -> None:
    if not condition:
        raise SystemExit(f"not as documented in docs/results/programs.md: {found}")


def main() -> None:
    bin_dir = Path(sys.argv[1])
    for db, protocol in [("tree", "line"), ("tree", "undo"), ("tree", "undo-nv"), ("tree", "redo"), ("hash", "line")]:
        os.environ["SNAPSHOT_PROTOCOL"] = protocol
        found = explore(bin_dir, "explore_kyoto_snapshot", db)
        expect(found["violations"] == 0 and found["states"] > 500, found)
    os.environ["SNAPSHOT_PROTOCOL"] = "line"
    for db in ["tree", "hash"]:
        found = explore(bin_dir, "explore_kyoto_wal", db, "with-file")
        expect(found["log_lost"] == 0 and found["log_void"] > 0, found)
    expect(explore(bin_dir, "explore_kyoto_snapshot-bug", "tree", status=1)["violations"] > 0, found)
    found = explore(bin_dir, "explore_kyoto_wal", "tree", "posix")
    expect(found["log_lost"] > 0 and found["log_void"] > 0 and found["log_torn"] > 0, found)
    found = explore(bin_dir, "explore_msync")
    expect(found["violations"] > 0 and found["lost_commits"] == 0, found)


if __name__ == "__main__":
    main()
