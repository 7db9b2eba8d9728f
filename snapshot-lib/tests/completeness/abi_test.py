# SPDX-License-Identifier: BSD-3-Clause
"""abi.def and libsnapshot name the same libc functions: abi_test.py ABI.DEF."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path


def main() -> None:
    listed = re.findall(r"^SNAPSHOT_ABI_LIBC\((\w+)\)$", Path(sys.argv[1]).read_text(), re.MULTILINE)
    symbols = subprocess.run(
        ["nm", "--defined-only", os.environ["SNAPSHOT_LIBRARY"]], capture_output=True, text=True, check=True
    ).stdout
    defined = re.findall(r" T __snapshot_libc_(\w+)$", symbols, re.MULTILINE)
    problems = [f"{name} is listed more than once" for name in {n for n in listed if listed.count(n) > 1}]
    problems += [f"{name} is in abi.def, but not in the library" for name in set(listed) - set(defined)]
    problems += [f"{name} is in the library, but not in abi.def" for name in set(defined) - set(listed)]
    if problems or not listed:
        raise SystemExit("\n".join(sorted(problems) or ["abi.def lists nothing"]))
    print(f"{len(listed)} functions")


if __name__ == "__main__":
    main()
