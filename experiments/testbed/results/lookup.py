# SPDX-License-Identifier: BSD-3-Clause
"""Finds results by a user's text: a path, a folder, a manifest, MANIFEST/POINT, or the beginning of a hash."""

import re
from pathlib import Path

from .. import outputs
from ..errors import TestbedError
from ..paths import kind_of
from . import results
from .results import Result

HASH = re.compile(r"-([0-9a-f]{16})$")


def hash_of(path: Path) -> str:
    """Return the hash in a result's file name; empty if the name has no hash."""
    found = HASH.search(path.stem)
    return found[1] if found else ""


def find(root: Path, text: str) -> list[Result]:
    """Return every result that `text` names, sorted by path. TestbedError: no result matches."""
    given = Path(text)
    if kind_of(given) == "file":
        return [results.load(given)]
    folders = [folder for folder in (root / text, given) if text and kind_of(folder) == "folder"]
    paths = sorted(folders[0].rglob("*.json")) if folders else _matching(root, text)
    if not paths:
        raise TestbedError(f"no result '{text}' in {root}; `testbed results` lists the existing ones")
    return [results.load(path) for path in paths]


def find_one(root: Path, text: str) -> Result:
    """Return the one result that `text` names. TestbedError: no result or several match."""
    found = find(root, text)
    if len(found) > 1:
        shown = ", ".join(hash_of(result.path) or str(result.path) for result in found[:4])
        raise TestbedError(f"'{text}' names {len(found)} results; say which by its hash: {shown}")
    return found[0]


def _matching(root: Path, text: str) -> list[Path]:
    """Match MANIFEST/POINT, with or without the hash, or the beginning of a hash (4 digits or more)."""
    manifest, _, point = text.partition("/")
    if point:
        stems = {point, point.removesuffix(".json")}
        folder = sorted((root / outputs.plain_name(manifest)).glob("*.json"))
        name = outputs.plain_name(point)
        return [path for path in folder if path.stem in stems or HASH.sub("", path.stem) == name]
    is_hash = re.fullmatch("[0-9a-f]{4,64}", text) is not None
    return [path for path in sorted(root.rglob("*.json")) if is_hash and hash_of(path).startswith(text[:16])]
