# SPDX-License-Identifier: BSD-3-Clause
"""Temporary folders. What a killed process left behind, the next one that makes such a folder removes.

The owner of a folder holds a lock on a file in it, which the kernel releases however the process ends. A process id
would not do: hosts that are containers may share a folder of temporary files, and no process ids. A folder without
such a file is never touched.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "testbed-"
LOCK = "in-use"


@contextmanager
def folder(kind: str) -> Iterator[Path]:
    """A folder testbed-KIND-... for as long as the context, or until this process is killed and another one runs."""
    home, fd = _locked_folder(kind)
    with os.fdopen(fd, "wb"):
        try:
            yield home
        finally:
            with suppress(FileNotFoundError):  # somebody tidied up
                _remove(home)


def kept(kind: str) -> Path:
    """Such a folder until this process ends, also as the program that it becomes by exec; the next one removes it."""
    home, fd = _locked_folder(kind)
    os.set_inheritable(fd, True)
    return home


def _locked_folder(kind: str) -> tuple[Path, int]:
    """The folder and the open file that holds its lock."""
    remove_orphans()
    home = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-"))
    unnamed = home / f"{LOCK}.new"
    fd = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with suppress(OSError):  # on a file system without locks the folder is its owner's alone to remove
        fcntl.flock(fd, fcntl.LOCK_EX)
        unnamed.rename(home / LOCK)  # so it is locked from when it has that name
    return home, fd


def remove_orphans() -> None:
    """Remove this user's folders whose owner is gone."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError):  # in use, or removed meanwhile
            if lock.parent.lstat().st_uid == os.geteuid():
                with lock.open("r+b") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(lock.parent)


def _remove(home: Path) -> None:
    """The lock goes last, so that a removal that is cut short is taken up again."""
    for path in home.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()
    shutil.rmtree(home)
