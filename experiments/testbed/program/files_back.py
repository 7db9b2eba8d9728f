# SPDX-License-Identifier: BSD-3-Clause
"""Files that a job leaves in the guest and that come back with its output: their selection, and their names.

A pattern is a path with *, ?, [...] and ** as in bash. A relative pattern starts at the program's working folder. The
job reads the files after the program has ended, with any status; the content includes writes to files of the device
that the program has not synchronised.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from ..errors import TestbedError
from .job_archive import Job, check_names

BYTES_MAX = 64 * 2**20  # of all files of a run
RESULTS_PORT = "/dev/ttyS1"  # the same device as in the guest's init

_GIVE = r"""
shopt -s globstar nullglob dotglob
left=$bytes_max
give() {
    local name size
    [[ -f $2 ]] || return 0
    size=$(stat -L -c %s -- "$2")
    if ((size > left)); then
        echo "testbed: $1 of $size bytes does not come back: all files of a run have $bytes_max bytes at most" >&2
        return 0
    fi
    left=$((left - size))
    name=$(printf %s "$1" | base64 -w 0)
    printf '{"type":"file","name":"%s","base64":""}\n' "$name" >>"$port"
    base64 -w 4096 -- "$2" | sed "s|.*|{\"type\":\"file\",\"name\":\"$name\",\"base64\":\"&\"}|" >>"$port"
}
"""


def job(of: Job, patterns: Sequence[str], cwd: str = "/job", root: str = "", port: str = "") -> Job:
    """The same job, which finally returns the files that match, by init's port, or by `port`, a shell expression.

    The program of the job has the folder `root` of the guest as its root, and begins in `cwd`.
    """
    if not patterns:
        return of
    body = of.script.partition("\n")[2]
    loops = "".join(_loop(pattern, root) for pattern in dict.fromkeys(patterns))
    values = f"bytes_max={BYTES_MAX} port={port or RESULTS_PORT}\n"
    back = f"{values}{_GIVE}cd {shlex.quote(root + cwd)} || exit $status\n{loops}"
    return of.with_script(f"#!/bin/bash\n(\n{body}\n)\nstatus=$?\n{back}exit $status\n")


def _loop(pattern: str, root: str) -> str:
    where = root if pattern.startswith("/") else ""
    return f'for file in {_quoted(where + pattern)}; do give "${{file#{where}/}}" "$file"; done\n'


def _quoted(pattern: str) -> str:
    """The pattern quoted for bash, so that bash expands its wildcards and nothing else."""
    pieces = re.split(r"([*?]|\[[^]]+\])", pattern)
    return "".join(piece if n % 2 else shlex.quote(piece) if piece else "" for n, piece in enumerate(pieces))


def fault(pattern: str) -> str:
    """Why a pattern cannot name files that fit into a folder here; empty for a valid pattern."""
    parts = pattern.removeprefix("/").split("/")
    if "\0" in pattern or any(part in ("", ".", "..") for part in parts):
        return "is no path of files in the guest; write it as '/pmem/*.log', without '..'"
    return ""


def sound(files: Mapping[str, bytes | bytearray]) -> dict[str, bytes]:
    """The files with names that are valid paths in a folder; a guest may send any name."""
    found, folders = dict[str, bytes](), set[str]()
    for name, content in files.items():
        try:
            check_names([name])
        except TestbedError:
            continue
        above = {str(folder) for folder in PurePosixPath(name).parents}
        if name not in folders and above.isdisjoint(found):  # a name cannot be a file and a folder at once
            found[name] = bytes(content)
            folders |= above
    return found
