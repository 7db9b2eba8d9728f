# SPDX-License-Identifier: BSD-3-Clause
"""Files that follow from input: what they are called, and how they are written."""

import errno
import hashlib
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import TestbedError

NAME_CHARACTERS_MAX = 100  # file systems take 255 bytes; a hash and a suffix come on top
LINKS_MAX = 40  # as the kernel's

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:+=@%-]*")

# ---- Names ----


def plain_name(text: str) -> str:
    """`text` as a file's name: itself if it is short and plain, else a hash of it."""
    if len(text) <= NAME_CHARACTERS_MAX and _PLAIN.fullmatch(text):
        return text
    return f"hash.{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:16]}"


def within(folder: Path, subfolder: str, name: str, ending: str) -> Path:
    """The file NAME+ENDING of a subfolder of `folder`, whatever the names are made of: none leads out of it."""
    return folder.joinpath(plain_name(subfolder), f"{plain_name(name)}{ending}")


# ---- Content ----


def write(path: Path, content: str | bytes) -> None:
    """Make `content` all that `path` holds. What is no regular file (a device, a pipe, a descriptor) is written to.

    A regular file is replaced, so that a reader, or a crash, sees the old or the new content only. Of a symbolic link
    that is the file that it names.
    """
    with _explained(path):
        number = _descriptor(path)
        final = path.resolve()
        if number is not None:
            sys.stdout.flush()  # what was printed comes first
            _write_to(os.dup(number), content)
        elif final.exists() and not final.is_file():
            _write_to(os.open(final, os.O_WRONLY | os.O_NOCTTY), content)
        else:
            with _whole(final, content) as temporary:
                temporary.replace(final)


def write_once(path: Path, content: str) -> bool:
    """Create `path` whole; False, and nothing is changed, if it is there. Of two writers only one succeeds."""
    with _explained(path), _whole(path, content) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        return True


def check_room(folder: Path, size_bytes: int) -> None:
    """Find out that the folder takes no file of that size before it is to take one."""
    with _explained(folder), _whole(folder / "room", b" " * size_bytes):
        pass


def replace_folder(path: Path, content: Mapping[str, str | bytes]) -> None:
    """Make these files all that the folder `path` holds, at once. Of two that do so together one's stay."""
    new = beside(path)
    try:
        with _explained(path):
            new.mkdir(parents=True)
            for name, text in content.items():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_bytes(_as_bytes(text))
            while not _moved(new, path):
                with suppress(FileNotFoundError):
                    shutil.rmtree(path.rename(beside(path)), ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _moved(new: Path, path: Path) -> bool:
    """Whether the folder has its name now; another one may have had it first."""
    try:
        new.rename(path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _descriptor(path: Path) -> int | None:
    """The number of this process's open file that `path` stands for, as /dev/stdout does."""
    own = os.path.realpath("/proc/self/fd")
    for _ in range(LINKS_MAX):
        if not path.is_symlink():
            break
        if os.path.realpath(path.parent) == own:
            return int(path.name)
        path = path.parent / path.readlink()
    return None


def _write_to(descriptor: int, content: str | bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(_as_bytes(content))


def _as_bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def beside(path: Path) -> Path:
    """A name in the same folder that nobody else has, in no process of no host."""
    return path.with_name(f".new.{secrets.token_hex(8)}")


@contextmanager
def _whole(path: Path, content: str | bytes) -> Iterator[Path]:
    """The content in a file of its own, on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = beside(path)
    try:
        with temporary.open("xb") as file:
            file.write(_as_bytes(content))
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in the name; links that go round
        raise TestbedError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
