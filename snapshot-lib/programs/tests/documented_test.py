# SPDX-License-Identifier: BSD-3-Clause
"""Every command that docs/programs.md shows runs and reports."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SHOWN = "    build/snapshot-lib/programs/"


def main() -> None:
    bin_dir, document = Path(sys.argv[1]), Path(sys.argv[2])
    commands = [line.removeprefix(SHOWN) for line in document.read_text().splitlines() if line.startswith(SHOWN)]
    if len(commands) < 3:
        raise SystemExit(f"{document} shows {len(commands)} commands: is this the document?")
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        for command in commands:
            program, *arguments = shlex.split(command.replace(str(memory), scratch))
            done = subprocess.run([bin_dir / program, *arguments], capture_output=True, text=True, check=False)
            if done.returncode != 0 or not json.loads(done.stdout):
                raise SystemExit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    print(len(commands), "commands")


if __name__ == "__main__":
    main()
