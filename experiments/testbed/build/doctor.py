# SPDX-License-Identifier: BSD-3-Clause
"""Checks of this host's requirements, which change nothing."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..paths import REPO, cache_root


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    remedy: str


def examine() -> list[Check]:
    """Every check, in the order in which a failure would stop a user."""
    return [
        _preflight("distribution", "check_distribution"),
        _preflight("disk", "check_disk"),
        *(_tool(name) for name in ("mmdebstrap", "ninja", "clang-19", "cpio", "setpriv")),
        _writable(cache_root()),
    ]


def _preflight(name: str, function: str) -> Check:
    """A check of the provisioning scripts, so that both report the same."""
    script = f"source {REPO}/ansible/preflight.sh; {function}"
    try:
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    except OSError as error:
        return Check(name, False, f"bash cannot be run: {error.strerror}; is PATH set?")
    return Check(name, done.returncode == 0, done.stderr.strip().removeprefix("testbed: "))


def _tool(name: str) -> Check:
    found = shutil.which(name) is not None
    return Check(f"program {name}", found, "" if found else "run: make testbed")


def _writable(folder: Path) -> Check:
    while not folder.exists():
        folder = folder.parent
    ok = os.access(folder, os.W_OK)
    return Check("cache folder", ok, "" if ok else f"{folder} is not writable; set TESTBED_CACHE")
