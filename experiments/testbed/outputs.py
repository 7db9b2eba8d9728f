# SPDX-License-Identifier: BSD-3-Clause
"""Names of output files, and functions that write files as a whole."""

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

NAME_CHARACTERS_MAX = 100  # file systems allow 255 bytes; a hash and a suffix are appended
LINKS_MAX = 40  # the kernel's limit, too

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:+=@%-]*")

# ---- Names ----


def plain_name(text: str) -> str:
    """A file name for `text`: the text itself if it is short and plain, else its hash."""
    if len(text) <= NAME_CHARACTERS_MAX and _PLAIN.fullmatch(text):
        return text
    return f"hash.{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:16]}"


def within(folder: Path, subfolder: str, name: str, ending: str) -> Path:
    """The path of the file NAME+ENDING in a subfolder of `folder`; no name can lead out of the folder."""
    return folder.joinpath(plain_name(subfolder), f"{plain_name(name)}{ending}")


# ---- Content ----


def write(path: Path, content: str | bytes) -> None:
    """Make `content` the whole content of a file; write it to a device, a pipe or a descriptor at `path`.

    A regular file is replaced, so that a reader, or a crash, sees only the old or the new content. For a symbolic link
    the function replaces the target.
    """
    with _explained(path):
        number = _descriptor(path)
        final = path.resolve()
        if number is not None:
            sys.stdout.flush()  # earlier output precedes the content
            _write_to(os.dup(number), content)
        elif final.exists() and not final.is_file():
            _write_to(os.open(final, os.O_WRONLY | os.O_NOCTTY), content)
        else:
            with _whole(final, content) as temporary:
                temporary.replace(final)


def write_once(path: Path, content: str) -> bool:
    """Create `path` with all its content; return False, without a change, if it exists. One of two callers succeeds."""
    with _explained(path), _whole(path, content) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        return True


def check_room(folder: Path, size_bytes: int) -> None:
    """Raise TestbedError if a file of this size cannot be written into the folder; the probe file is removed."""
    with _explained(folder), _whole(folder / "room", b" " * size_bytes):
        pass


def replace_folder(path: Path, content: Mapping[str, str | bytes]) -> None:
    """Replace the folder `path` by one that holds only these files.

    A reader sees the old folder, no folder or the new one, never a mixture. Of two concurrent callers one prevails.
    """
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
    """Rename the folder; False if a folder that is not empty has the name already."""
    try:
        new.rename(path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _descriptor(path: Path) -> int | None:
    """The number of this process's open file to which `path` leads, as /dev/stdout does; else None."""
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
    """A name in the same folder that no other process of any host uses: it has 64 random bits."""
    return path.with_name(f".new.{secrets.token_hex(8)}")


@contextmanager
def _whole(path: Path, content: str | bytes) -> Iterator[Path]:
    """A temporary file beside `path` with the content, synchronized to disk; the context removes it at its end."""
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
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in the name; a loop of links
        raise TestbedError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
