# SPDX-License-Identifier: BSD-3-Clause
"""One canonical byte sequence per value, for hashing, storing and comparing values."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

_TEXT = json.JSONEncoder(ensure_ascii=False)


def dumps(value: Any) -> str:
    """Canonical JSON: sorted keys, two-space indent, one newline at the end."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def dumps_parts(members: Mapping[str, str]) -> str:
    """Canonical JSON of an object from the canonical JSON of its members, so that shared members are encoded once."""
    inner = ",\n".join(f"  {_TEXT.encode(key)}: {_indented(members[key])}" for key in sorted(members))
    return f"{{\n{inner}\n}}\n"


def dumps_words(words: Sequence[str]) -> str:
    """Canonical JSON of a list of strings, faster than dumps()."""
    inner = ",\n".join(f"  {_TEXT.encode(word)}" for word in words)
    return f"[\n{inner}\n]\n" if words else "[]\n"


@lru_cache(maxsize=64)
def _indented(text: str) -> str:
    """Indent the text by two spaces. JSON strings contain no raw newline, so every newline is between values."""
    return text.rstrip("\n").replace("\n", "\n  ")


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of `value`."""
    return digest_text(dumps(value))


def digest_text(text: str) -> str:
    """SHA-256 of canonical JSON."""
    return hashlib.sha256(text.encode()).hexdigest()
