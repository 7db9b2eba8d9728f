# SPDX-License-Identifier: BSD-3-Clause
"""Debian 13 packages that a run adds to the guest: their versions, and the archive that holds them."""

import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..build.components import Component, Product, build_component, hash_inputs
from ..build.fingerprints import remembered
from ..errors import TestbedError
from ..paths import REPO, cache_root

_SCRIPT = "guest-image/image/packages.sh"
Versions = tuple[str, ...]  # "name=version" of the requested packages and of all their dependencies


@lru_cache
def resolve(names: tuple[str, ...]) -> Versions:
    """The versions that Debian 13 offers today under these names. TestbedError: Debian 13 lacks a name."""
    question = f"packages {hash_inputs(component(names))} {' '.join(names)}"
    return tuple(remembered(cache_root(), question, lambda: _resolved(names)).split())


def _resolved(names: tuple[str, ...]) -> str:
    done = subprocess.run([REPO / _SCRIPT, "resolve", *names], capture_output=True, text=True)
    if done.returncode:
        raise TestbedError((done.stderr.strip() or "guest-image/image/packages.sh failed").splitlines()[-1])
    return done.stdout


def build(versions: Versions) -> Product:
    """The packages in exactly these versions, fetched and packed unless they are in the cache."""
    return build_component(component(versions), {})


def archive(versions: Versions) -> Path:
    """The cpio archive of exactly these versions."""
    return build(versions).path / "packages.cpio"


def identity(versions: Versions) -> dict[str, Any]:
    """The parts that can influence a run: the versions, and how they are unpacked."""
    return {"versions": list(versions), "unpacked_by": hash_inputs(component(versions))}


def component(versions: Versions) -> Component:
    """The component that builds the archive of these versions."""
    return Component("packages", _SCRIPT, ",".join(versions))
