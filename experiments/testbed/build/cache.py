# SPDX-License-Identifier: BSD-3-Clause
"""A content-addressed cache of built things.

An entry `<name>-<hash16>/` appears whole, by one rename, or not at all. Builders of one entry wait for each other, and
the next builder removes the remains of a killed one. A crash at any point leaves either no entry or the whole entry.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import TestbedError
from . import sums

Builder = Callable[[Path, Path], None]  # (product folder, scratch folder)
DISK_FULL_BYTES = 32 * 2**20  # a build that fails with less free space has most likely run out of space


class DiskFull(TestbedError):
    """A builder ran out of disk space; nothing was published."""


@dataclass(frozen=True)
class Entry:
    name: str
    key: str
    path: Path
    size_bytes: int


class Cache:
    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str, key: str) -> Path:
        return self.root / f"{name}-{key[:16]}"

    def get(self, name: str, key: str) -> Path | None:
        """The entry, if it exists."""
        path = self.path(name, key)
        return path if path.is_dir() else None

    def get_or_build(self, name: str, key: str, builder: Builder, summed: bool = True) -> Path:
        """The entry; built now if it does not exist. Safe to call from many processes at once.

        A `summed` entry records the sums of its files; later calls refuse the entry if a file differs.
        """
        try:
            if found := self.get(name, key):
                self.check(found)
                return found
            with self._locked(name, key):
                return self.get(name, key) or self._build(name, key, builder, summed)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise self._disk_full(name) from error
            why = f"{error.strerror} (set TESTBED_CACHE)"
            raise TestbedError(f"cannot use the cache {self.root}{self._of_another()}: {why}") from error

    def check(self, path: Path) -> None:
        """Refuse an entry with a file that differs from the build."""
        try:
            sums.check(path, self.root / "seen" / path.name)
        except TestbedError as error:
            raise TestbedError(f"{error}; to build it again: rm -r {path} && testbed build") from error

    def _of_another(self) -> str:
        """A clause that names the owner of the cache, if it is another user."""
        with suppress(OSError, KeyError):
            if self.root.stat().st_uid != os.geteuid():
                return f", which belongs to the user {self.root.owner()}"
        return ""

    def entries(self) -> list[Entry]:
        """Everything published, sorted by name."""
        found = []
        for path in sorted(self.root.glob("*-" + "[0-9a-f]" * 16)):
            name, _, key = path.name.rpartition("-")
            with suppress(FileNotFoundError):  # another command removed it meanwhile
                size_bytes = sum(f.lstat().st_size for f in path.rglob("*") if f.is_file())
                found.append(Entry(name, key, path, size_bytes))
        return found

    def prune(self, keep: set[Path]) -> list[Entry]:
        """Remove every entry that is not in `keep`; return the removed entries."""
        gone = [entry for entry in self.entries() if entry.path not in keep]
        for entry in gone:
            with self._locked(entry.name, entry.key):
                doomed = self._scratch(entry.name, entry.key)
                doomed.parent.mkdir(parents=True, exist_ok=True)
                with suppress(FileNotFoundError):  # likewise
                    entry.path.rename(doomed)
                shutil.rmtree(doomed, ignore_errors=True)
            (self.root / "seen" / entry.path.name).unlink(missing_ok=True)
        return gone

    def _scratch(self, name: str, key: str) -> Path:
        return self.root / "building" / f"{self.path(name, key).name}.{os.getpid()}"

    @contextmanager
    def _locked(self, name: str, key: str) -> Iterator[None]:
        lock = self.root / "locks" / self.path(name, key).name
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _build(self, name: str, key: str, builder: Builder, summed: bool) -> Path:
        path, scratch = self.path(name, key), self._scratch(name, key)
        for leftover in scratch.parent.glob(f"{path.name}.*"):  # this process holds the lock, so their builder is dead
            shutil.rmtree(leftover, ignore_errors=True)
        out, work = scratch / "out", scratch / "work"
        out.mkdir(parents=True)
        work.mkdir()
        try:
            builder(out, work)
            if summed:
                sums.record(out)
            os.sync()  # the rename must not reach the disk before the content
            out.rename(path)
        except Exception as error:
            if not isinstance(error, OSError) and self._free_bytes() < DISK_FULL_BYTES:
                raise self._disk_full(name) from error
            raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return path

    def _free_bytes(self) -> int:
        return shutil.disk_usage(self.root).free

    def _disk_full(self, name: str) -> DiskFull:
        return DiskFull(
            f"disk full while building {name}: {self._free_bytes() // 2**20} MiB free under {self.root}; "
            "free some or set TESTBED_CACHE to a larger disk (nothing half-built was kept)"
        )
