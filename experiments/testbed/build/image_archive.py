# SPDX-License-Identifier: BSD-3-Clause
"""Images as one file, for another host or for storage: a tar archive of a list of files, then the files.

Importing an image requires trust in its QEMU and its guest, as with any program. But the import writes only into the
cache, and adds a component only if each of its files matches the list.
"""

import hashlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from .. import outputs
from ..errors import TestbedError
from ..paths import kind_of
from . import images, sums
from .cache import Cache
from .images import Built, Image
from .sums import Sum, Sums

LIST = "image.json"
LIST_BYTES_MAX = 2**24
PIECE_BYTES = 2**20


def write(path: Path, image: Image, products: Mapping[str, Built]) -> None:
    """Write an image into one file. Equal images give equal bytes."""
    temporary = outputs.beside(path)
    try:
        with tarfile.open(temporary, "w", format=tarfile.GNU_FORMAT) as tar:
            text = image.text().encode()
            tar.addfile(_entry(LIST, Sum(len(text), "", False)), io.BytesIO(text))
            for part, files in sorted(image.files.items()):
                for name, one in sorted(files.items()):
                    with (products[part].path / name).open("rb") as file:
                        tar.addfile(_entry(f"{part}/{name}", one), file)
        temporary.replace(path)
    except OSError as error:
        raise TestbedError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _entry(name: str, one: Sum) -> tarfile.TarInfo:
    """The header of a file, owned by root and dated 0."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = one.size_bytes, 0o755 if one.is_executable else 0o644
    return entry


def take(path: Path, cache: Cache) -> Image:
    """Put the image of an archive into the cache. A component that is there already must have the same content."""
    if kind_of(path) != "file":
        raise TestbedError(f"{path} is no file; give one that `testbed image export` has written")
    with _readable(path), tarfile.open(path, "r:") as tar:
        image = images.read(_list(tar, path), path)
        members = _members(tar, image, path)
        for part, files in image.files.items():
            key = image.keys[part]
            if there := cache.get(part, key):
                _compare(files, there)
            mine = {name: members[f"{part}/{name}"] for name in files}
            cache.get_or_build(part, key, partial(_unpack, tar, mine, files, path))
    images.remember(cache, image)
    return image


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError) as error:
        raise TestbedError(f"{path} is no whole image: {error}") from error
    except OSError as error:
        raise TestbedError(f"cannot read {path}: {error.strerror or error}") from error


def _list(tar: tarfile.TarFile, path: Path) -> str:
    first = tar.next()
    if first is None or first.name != LIST or first.type != tarfile.REGTYPE or first.size > LIST_BYTES_MAX:
        raise TestbedError(f"{path} is no image: it does not begin with its {LIST}")
    return _content(tar, first).read().decode(errors="replace")


def _members(tar: tarfile.TarFile, image: Image, path: Path) -> dict[str, tarfile.TarInfo]:
    """The members of an archive. Raises TestbedError unless they are exactly the files of the list."""
    expected = {f"{part}/{name}": one for part, files in image.files.items() for name, one in files.items()}
    found: dict[str, tarfile.TarInfo] = {}
    while member := tar.next():
        one = expected.get(member.name)
        if one is None or member.name in found or member.type != tarfile.REGTYPE or member.size != one.size_bytes:
            raise TestbedError(f"{path} is no image: it has {member.name!r}, which is not as its list says")
        found[member.name] = member
    if missing := sorted(expected.keys() - found.keys()):
        raise TestbedError(f"{path} is no whole image: {missing[0]} is missing")
    return found


def _unpack(
    tar: tarfile.TarFile, members: Mapping[str, tarfile.TarInfo], files: Sums, path: Path, out: Path, _: Path
) -> None:
    """A builder of the cache that unpacks one part and checks the hashes of its files."""
    for name, one in files.items():
        target, digest = out / name, hashlib.sha256()
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file, _content(tar, members[name]) as content:
            while piece := content.read(PIECE_BYTES):
                digest.update(piece)
                file.write(piece)
        target.chmod(0o755 if one.is_executable else 0o644)
        if digest.hexdigest() != one.sha256:
            raise TestbedError(f"{path} is damaged: the content of {name} does not match its list")


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> io.BufferedIOBase:
    content = tar.extractfile(member)
    assert content, "a regular file"
    return content  # type: ignore[return-value]


def _compare(files: Sums, there: Path) -> None:
    if differing := images.difference(files, sums.recorded(there) or sums.of_folder(there)):
        names = ", ".join(differing[:4]) + (f" and {len(differing) - 4} more" if len(differing) > 4 else "")
        raise TestbedError(f"{there} is there with other content: {names}; remove that folder to import this one")
