# SPDX-License-Identifier: BSD-3-Clause
"""One byte sequence per value: what is hashed, stored and compared."""

import hashlib
import json
import os
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
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise TestbedError(f"cannot write {path}: {error.strerror}") from error
