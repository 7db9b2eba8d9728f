# SPDX-License-Identifier: BSD-3-Clause
"""Files of the command line that are streams: - or /dev/stdin, and /dev/fd/63 of a process substitution.

A stream can be read only once, but files are checked, hashed and packed, with a read for each. So a copy is made first.
"""

import os
import re
from pathlib import Path

from .. import scratch
from ..errors import TestbedError

STDIN = Path("/dev/stdin")
SHORT = Path("-")  # also standard input; a file of this name needs its absolute path
_STREAM = re.compile(r"/dev/stdin|(?:/dev|/proc/self)/fd/(\d+)")
BYTES_MAX = 2**30


def file_of(option: str, path: Path) -> Path:
    """The path, or for a stream the path of a copy; the next process that makes a temporary folder removes the copy."""
    path = STDIN if path == SHORT else path
    match = _STREAM.fullmatch(str(path))
    if not match:
        return path
    try:
        with os.fdopen(os.dup(int(match[1] or 0)), "rb") as stream:
            content = stream.read(BYTES_MAX + 1)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no such stream"
        raise TestbedError(f"{option} {path}: cannot be read: {reason}; give a file or an open stream") from error
    if len(content) > BYTES_MAX:
        raise TestbedError(f"{option} {path}: has more than {BYTES_MAX >> 30} GiB; write it to a file")
    copy = scratch.kept("stream") / path.name
    copy.write_bytes(content)
    return copy
