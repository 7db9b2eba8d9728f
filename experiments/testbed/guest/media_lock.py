# SPDX-License-Identifier: BSD-3-Clause
"""The folder that `--media` names: one guest's at a time, because two that write one device destroy both's files."""

import fcntl
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import TestbedError

LOCK = ".lock"  # in the folder; the kernel releases it however its holder ends. Not scratch's: that folder is removed


@contextmanager
def held(folder: Path | None) -> Iterator[None]:
    """The folder, made if need be, for this process alone as long as the context; nothing to do without one."""
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
    """Say in the file who has it, for those who are refused."""
    words = " ".join(Path(word).name if n == 0 else word for n, word in enumerate(sys.argv))
    file.truncate(0)
    file.write(f"'{words[:200]}', process {os.getpid()} on {socket.gethostname()}".encode(errors="replace"))
    file.flush()
