# SPDX-License-Identifier: BSD-3-Clause
"""One byte sequence per value: what is hashed, stored and compared."""

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
    """The same of an object, from the canonical JSON of each of its members: what many objects share is made once."""
    inner = ",\n".join(f"  {_TEXT.encode(key)}: {_indented(members[key])}" for key in sorted(members))
    return f"{{\n{inner}\n}}\n"


def dumps_words(words: Sequence[str]) -> str:
    """The same of a list of text, quickly."""
    inner = ",\n".join(f"  {_TEXT.encode(word)}" for word in words)
    return f"[\n{inner}\n]\n" if words else "[]\n"


@lru_cache(maxsize=64)
def _indented(text: str) -> str:
    """No text in JSON has a line's end in it, so these are between values."""
    return text.rstrip("\n").replace("\n", "\n  ")


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of `value`."""
    return digest_text(dumps(value))


def digest_text(text: str) -> str:
    """SHA-256 of canonical JSON."""
    return hashlib.sha256(text.encode()).hexdigest()
