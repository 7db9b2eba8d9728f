# SPDX-License-Identifier: BSD-3-Clause
"""One byte sequence per value: what is hashed, stored and compared."""

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .errors import TestbedError


def dumps(value: Any) -> str:
    """Canonical JSON: sorted keys, two-space indent, one newline at the end."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def write_atomically(path: Path, text: str) -> None:
    """Replace `path` by `text` such that a reader, or a crash, sees the old or the new content only."""
    _write(path, text, Path.replace)


def write_once(path: Path, text: str) -> bool:
    """Create `path` whole; False, and nothing is changed, if it is there. Of two writers only one succeeds."""
    is_new = True

    def link(temporary: Path, final: Path) -> None:
        nonlocal is_new
        try:
            os.link(temporary, final)
        except FileExistsError:
            is_new = False

    _write(path, text, link)
    return is_new


def _write(path: Path, text: str, publish: Callable[[Path, Path], object]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        publish(temporary, path)
    except OSError as error:
        raise TestbedError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
