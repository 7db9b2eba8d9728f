# SPDX-License-Identifier: BSD-3-Clause
"""Paths of the clone, the shared cache and the results."""

import os
import stat
from errno import ENAMETOOLONG, ENOENT, ENOTDIR
from pathlib import Path
from typing import Literal

REPO = Path(__file__).resolve().parents[2]
PROFILES = REPO / "experiments" / "profiles"
KERNEL_CMDLINE = REPO / "guest-image" / "image" / "kernel-cmdline"
EXPERIMENTS = REPO / "experiments"
MANIFESTS = EXPERIMENTS / "manifests"
CRASH_TESTS = EXPERIMENTS / "crash"
FIGURES = REPO / "build" / "figures"
FIGURES_INDEX = "index.json"  # the list of the figures in a folder
NOT_THERE = "no such file or folder"


def cache_root() -> Path:
    """The folder of the cache that all clones of one user share."""
    if override := os.environ.get("TESTBED_CACHE"):
        return Path(override).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "cxl-ssd-testbed"


def results_root() -> Path:
    """The folder of results, by default in the clone that makes them."""
    return Path(os.environ.get("TESTBED_RESULTS") or REPO / "results").absolute()


def why_not_there(path: Path) -> str:
    """The reason why kind_of() returns an empty string for a path."""
    try:
        path.stat()
    except ValueError:
        return NOT_THERE
    except OSError as error:
        return NOT_THERE if error.errno in (ENOENT, ENOTDIR, ENAMETOOLONG) else str(error.strerror)
    return ""


def kind_of(path: Path) -> Literal["", "file", "folder", "other"]:
    """The kind of file at a path; empty if stat() fails, also for a path that is too long or contains a NUL."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"
