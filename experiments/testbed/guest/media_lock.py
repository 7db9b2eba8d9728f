# SPDX-License-Identifier: BSD-3-Clause
"""A lock on the folder of `--media`: one guest uses it at a time, since two writers of one device destroy its files."""

import fcntl
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import TestbedError

LOCK = ".lock"  # in the folder; the kernel releases it however its holder ends. scratch.LOCK marks removable folders


@contextmanager
def held(folder: Path | None) -> Iterator[None]:
    """Reserve the folder for this process while the context lasts; make it if needed. Do nothing without a folder."""
    if folder is None:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("a+b")
    except FileExistsError as error:
        raise TestbedError(f"--media {folder}: it cannot be written: it is no folder; name another folder") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise TestbedError(f"--media {folder}: it cannot be written: {why}; name another folder") from error
    with file:
        _lock(folder, file)
        try:
            _name_holder(file)
            yield
        finally:
            file.truncate(0)


def _lock(folder: Path, file: BinaryIO) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().decode(errors="replace").strip() or "another command"
        raise TestbedError(f"--media {folder} is in use by {holder}; wait for it or name another folder") from None
    except OSError as error:
        raise TestbedError(f"--media {folder} cannot be locked: {error.strerror}; name a folder on a disk") from error


def _name_holder(file: BinaryIO) -> None:
    """Write the command that holds the lock into the file, for the error message of other commands."""
    words = " ".join(Path(word).name if n == 0 else word for n, word in enumerate(sys.argv))
    file.truncate(0)
    file.write(f"'{words[:200]}', process {os.getpid()} on {socket.gethostname()}".encode(errors="replace"))
    file.flush()
