# SPDX-License-Identifier: BSD-3-Clause
"""One byte sequence per value: what is hashed, stored and compared."""

import hashlib
import json
from typing import Any


def dumps(value: Any) -> str:
    """Canonical JSON: sorted keys, two-space indent, one newline at the end."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()
