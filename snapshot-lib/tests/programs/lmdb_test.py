# SPDX-License-Identifier: BSD-3-Clause
"""LMDB's own test programs pass on a tracked file, leave a database that mdb_stat reads, and no write escapes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def run(program: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = os.environ | environment
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env=variables)


def main() -> None:
    bin_dir, memory = Path(sys.argv[1]), Path("/dev/shm")
    for test in ["mtest", "mtest2", "mtest3", "mtest4", "mtest5"]:
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
            data = Path(scratch) / "testdb" / "data.mdb"
            data.parent.mkdir()
            os.chdir(scratch)
            done = run(bin_dir / f"lmdb_{test}", SNAPSHOT_DIR=str(data), SNAPSHOT_CHECK="abort")
            if done.returncode != 0 or "Adding" not in done.stdout or done.stderr:
                raise SystemExit(f"{test}: status {done.returncode}\n{done.stdout[-500:]}{done.stderr}")
            if not data.with_name("data.mdb.snapshot-log").exists() or data.with_name("lock.mdb.snapshot-log").exists():
                raise SystemExit(f"{test}: tracked is not just the data: {list(data.parent.iterdir())}")
            status = run(bin_dir / "lmdb_mdb_stat", "-a", str(data.parent))
            if status.returncode != 0 or "Entries: 0" in status.stdout.partition("Status of Main")[0]:
                raise SystemExit(f"{test} left an unreadable database: {status}")
            os.chdir("/")
            print(test, len(done.stdout.splitlines()), "lines of output")


if __name__ == "__main__":
    main()
