# SPDX-License-Identifier: BSD-3-Clause
"""Recorded sizes and hashes of a built component's files, so that a damaged cache does not appear as a guest's fault.

Each use compares the sizes, with one stat() per file. Contents are hashed once, and again when the inode, size or time
of change of a file differs from the last time. Silent corruption by the disk is not detected.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .. import canonical, outputs
from ..errors import TestbedError

SUMS = ".sums.json"  # in the component's folder
Sums = dict[str, "Sum"]


@dataclass(frozen=True)
class Sum:
    """The recorded state of a regular file."""

    size_bytes: int
    sha256: str
    is_executable: bool

    def as_data(self) -> list[int | str | bool]:
        return [self.size_bytes, self.sha256, self.is_executable]


def of_folder(folder: Path) -> Sums:
    """The sums of every regular file below a folder, by path relative to the folder."""
    return {name: of_file(folder / name) for name in _files(folder)}


def of_file(path: Path) -> Sum:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Sum(path.stat().st_size, digest, os.access(path, os.X_OK))


def record(folder: Path) -> None:
    """Write the sums of a folder into the folder."""
    sums = {name: one.as_data() for name, one in of_folder(folder).items()}
    (folder / SUMS).write_text(canonical.dumps(sums))


def recorded(folder: Path) -> Sums | None:
    """The sums that record() left in a folder; None if there are no sums, as in folders of earlier versions."""
    try:
        stated = json.loads((folder / SUMS).read_text())
        return {name: Sum(*one) for name, one in stated.items()}
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise TestbedError(f"{folder / SUMS} is damaged") from error


def check(folder: Path, seen: Path) -> None:
    """Raise TestbedError if the folder differs from its sums; the file `seen` identifies the files hashed last."""
    sums = recorded(folder)
    if sums is None:
        return
    stamps = {}
    for name, one in sums.items():
        try:
            status = (folder / name).stat()
        except OSError as error:
            raise TestbedError(f"{folder / name} cannot be used: {error.strerror}") from error
        if status.st_size != one.size_bytes:
            raise TestbedError(f"{folder / name} is damaged: it has {status.st_size} bytes instead of {one.size_bytes}")
        stamps[name] = [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    stamp = canonical.digest(stamps)
    if not (seen.exists() and seen.read_text() == stamp):
        for name, one in sums.items():
            if of_file(folder / name).sha256 != one.sha256:
                raise TestbedError(f"{folder / name} is damaged: its content differs from the built one")
        with suppress(TestbedError):  # the cache may belong to another user
            outputs.write(seen, stamp)


def _files(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(str(path.relative_to(folder)) for path in found if path.name != SUMS)
