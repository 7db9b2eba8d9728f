# SPDX-License-Identifier: BSD-3-Clause
"""Third-party programs from crates, compiled statically, as a guest's libc may differ."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.paths import cache_root

TARGET = "x86_64-unknown-linux-gnu"
CARGO = "cargo 1.85 or newer compiles this program, for tests by hand; install it, as by `apt-get install cargo-web`"


def program(name: str, version: str) -> Path:
    """Return the program of a crate, compiled once for all clones. Without cargo, the test fails with a message."""
    root = cache_root() / "crates" / f"{name}-{version}"
    if not (root / "bin" / name).exists():
        if not shutil.which("cargo"):
            pytest.fail(CARGO)
        command: list[str | Path] = ["cargo", "install", "--quiet", "--locked", "--target", TARGET, "--root", root]
        static = {"RUSTFLAGS": "-C target-feature=+crt-static", "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1"}
        subprocess.run([*command, "--version", f"={version}", name], env={**os.environ, **static}, check=True)
    return root / "bin" / name
