# SPDX-License-Identifier: BSD-3-Clause
"""Temporary folders. The next process that makes one removes the folders that killed processes left behind.

The owner of a folder holds a lock on a file in it, which the kernel releases however the process ends. A process id
would not suffice: containers may share a folder of temporary files but not their process ids. A folder without a lock
file is never touched.
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
    """A folder testbed-KIND-... for the time of the context. If this process is killed, the next one removes it."""
    home, fd = _locked_folder(kind)
    with os.fdopen(fd, "wb"):
        try:
            yield home
        finally:
            with suppress(FileNotFoundError):  # another program has removed it
                _remove(home)


def kept(kind: str) -> Path:
    """A folder testbed-KIND-... that stays until this process ends, also across an exec; the next one removes it."""
    home, fd = _locked_folder(kind)
    os.set_inheritable(fd, True)
    return home


def _locked_folder(kind: str) -> tuple[Path, int]:
    """Make a folder; return it with the open file that holds its lock."""
    remove_orphans()
    home = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-"))
    unnamed = home / f"{LOCK}.new"
    fd = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with suppress(OSError):  # without locks there is no lock file, so only the owner removes the folder
        fcntl.flock(fd, fcntl.LOCK_EX)
        unnamed.rename(home / LOCK)  # the file is locked before it gets this name
    return home, fd


def remove_orphans() -> None:
    """Remove this user's folders that no living process owns."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError):  # in use, or removed meanwhile
            if lock.parent.lstat().st_uid == os.geteuid():
                with lock.open("r+b") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(lock.parent)


def _remove(home: Path) -> None:
    """Remove a folder, its lock file last, so that a later call resumes an interrupted removal."""
    for path in home.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()
    shutil.rmtree(home)
