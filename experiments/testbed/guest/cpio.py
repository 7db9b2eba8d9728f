# SPDX-License-Identifier: BSD-3-Clause
"""Lists and writes newc cpio archives, the format of an initramfs."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from ..errors import TestbedError

_TRAILER = "TRAILER!!!"


@dataclass(frozen=True)
class Entry:
    """An item of an archive, and its size."""

    name: str
    size_bytes: int


def names(file: BinaryIO) -> Iterator[str]:
    """The names in an archive."""
    return (entry.name for entry in entries(file))


def entries(file: BinaryIO) -> Iterator[Entry]:
    """The items of an archive, without reading their content. ValueError: the file is cut short, or no archive."""
    while header := file.read(110):
        if len(header) < 110 or not header.startswith(b"070701"):
            raise ValueError("not a newc cpio archive")
        content, name = int(header[54:62], 16), int(header[94:102], 16)
        text = file.read(name).rstrip(b"\0").decode()
        if text == _TRAILER:
            return
        yield Entry(text, content)
        file.seek(-(110 + name) % 4, 1)
        file.seek(content + -content % 4, 1)
    raise ValueError("it ends before its trailer")


def listed(archive: Path) -> list[Entry]:
    """The items of an archive in the cache. TestbedError: the archive is damaged."""
    return _listed(archive, archive.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _listed(archive: Path, _changed_ns: int) -> list[Entry]:
    try:
        with archive.open("rb") as file:
            return list(entries(file))
    except ValueError as error:
        remedy = f"remove {archive.parent} and run `testbed build`"
        raise TestbedError(f"{archive} is damaged: {error}; {remedy}") from error


class CpioWriter:
    """Adds files and their parent folders. Every entry is owned by root and dated 0: equal files give equal bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._folders: set[str] = set()
        self._inode = 0

    def add_file(self, name: str, content: bytes, executable: bool = False) -> None:
        """Add a regular file `name` ("job/run")."""
        self._add_parents(name)
        self._entry(name, stat.S_IFREG | (0o755 if executable else 0o644), content)

    def add_symlink(self, name: str, target: str) -> None:
        self._add_parents(name)
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def add_folder(self, name: str) -> None:
        if name not in self._folders:
            self._add_parents(name)
            self._folders.add(name)
            self._entry(name, stat.S_IFDIR | 0o755, b"")

    def close(self) -> None:
        """End the archive, padded so that another archive may follow."""
        self._entry(_TRAILER, 0, b"")
        self._file.write(b"\0" * (-self._file.tell() % 512))

    def _add_parents(self, name: str) -> None:
        for parent in reversed(Path(name).parents):
            if str(parent) != ".":
                self.add_folder(str(parent))

    def _entry(self, name: str, mode: int, content: bytes) -> None:
        self._inode += 1
        links = 2 if stat.S_ISDIR(mode) else 1
        encoded = name.encode() + b"\0"
        inode = 0 if name == _TRAILER else self._inode
        fields = [inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(encoded), 0]
        self._file.write(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
        self._file.write(b"\0" * (-(110 + len(encoded)) % 4))
        self._file.write(content)
        self._file.write(b"\0" * (-len(content) % 4))
