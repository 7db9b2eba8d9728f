# SPDX-License-Identifier: BSD-3-Clause
"""Images: all that a guest starts from, as results name it by the keys of its components.

The present sources and Debian's mirror make one. Others are brought along (image_archive.py) and chosen by
TESTBED_IMAGE: then guests start from that one, and their results have the identity of those that were made with it.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Protocol

from pydantic import Field, StrictBool, StrictInt, ValidationError

from .. import canonical, outputs
from ..errors import TestbedError
from ..validation import Strict
from . import sums
from .cache import Cache
from .sums import Sum, Sums

CHOSEN = "TESTBED_IMAGE"
FORMAT = 1
PARTS = ("qemu", "base", "software")  # whose files a guest starts from; others are only in the identity
Key = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ImageFile(Strict):
    """As it is written. Of each file the size in bytes, the SHA-256 and whether it is a program."""

    format: StrictInt
    keys: dict[Annotated[str, Field(pattern=r"^[a-z][a-z-]*$")], Key]
    files: dict[str, dict[str, tuple[StrictInt, Key, StrictBool]]]


class Built(Protocol):
    """A component as it was built."""

    @property
    def path(self) -> Path: ...
    @property
    def key(self) -> str: ...


@dataclass(frozen=True)
class Image:
    """The keys of the components, and what the files of its parts are."""

    keys: dict[str, str]
    files: dict[str, Sums]

    @property
    def name(self) -> str:
        return name_of(self.keys)

    def text(self) -> str:
        files = {part: {name: one.as_data() for name, one in of.items()} for part, of in self.files.items()}
        return canonical.dumps({"format": FORMAT, "keys": self.keys, "files": files})


def name_of(keys: Mapping[str, str]) -> str:
    """What an image is called: a hash of the keys, which every result has in its identity."""
    return canonical.digest(dict(keys))[:16]


def of(products: Mapping[str, Built]) -> Image:
    """The image of these components."""
    files = {part: sums.recorded(products[part].path) or sums.of_folder(products[part].path) for part in PARTS}
    return Image({name: product.key for name, product in products.items()}, files)


def read(text: str, origin: Path) -> Image:
    """The image that a file states; TestbedError if it states none that may be unpacked."""
    try:
        stated = ImageFile.model_validate_json(text)
    except ValidationError as error:
        raise TestbedError(f"{origin} states no image: {error.errors()[0]['msg']}") from error
    if stated.format != FORMAT:
        raise TestbedError(f"{origin} is of format {stated.format}, and this testbed reads {FORMAT}; use one that fits")
    if set(stated.files) != set(PARTS) or not set(PARTS) <= set(stated.keys):
        raise TestbedError(f"{origin} states no image: its parts are not {', '.join(PARTS)}")
    for name in (name for part in stated.files.values() for name in part):
        parts = PurePosixPath(name).parts
        if str(PurePosixPath(name)) != name or name.startswith("/") or ".." in parts or "\0" in name or not parts:
            raise TestbedError(f"{origin} states no image: the name {name!r} would leave its folder")
    files = {part: {name: Sum(*one) for name, one in of.items()} for part, of in stated.files.items()}
    return Image(dict(stated.keys), files)


# ---- Those of a cache ----


def remember(cache: Cache, image: Image) -> None:
    """From now on it can be chosen."""
    outputs.write(_folder(cache) / f"{image.name}.json", image.text())


def known(cache: Cache) -> list[Image]:
    """Those that were brought along, by name."""
    return [read(path.read_text(), path) for path in sorted(_folder(cache).glob("*.json"))]


def chosen(cache: Cache) -> Image | None:
    """What TESTBED_IMAGE names by the begin of its hash; None if it names none, and the present one holds."""
    wanted = os.environ.get(CHOSEN, "")
    if not wanted:
        return None
    there = known(cache)
    found = [image for image in there if re.fullmatch("[0-9a-f]{4,16}", wanted) and image.name.startswith(wanted)]
    if len(found) != 1:
        have = ", ".join(image.name for image in there) or "none"
        raise TestbedError(
            f"{CHOSEN} is '{wanted}', which is no image here; `testbed image import FILE`; there are: {have}"
        )
    return found[0]


def path_of(cache: Cache, image: Image, component: str) -> Path:
    """Where a component of an image is; one of its parts is there, and whole."""
    path = cache.path(component, image.keys[component])
    if component in PARTS:
        if not path.is_dir():
            raise TestbedError(f"the image {image.name} lacks {path}; import it again: testbed image import FILE")
        cache.check(path)
    return path


def paths(cache: Cache) -> set[Path]:
    """The folders of all that were brought along."""
    return {cache.path(part, image.keys[part]) for image in known(cache) for part in PARTS}


def _folder(cache: Cache) -> Path:
    return cache.root / "images"


def difference(expected: Sums, there: Sums) -> list[str]:
    """The names of files that are not the same in both."""
    return sorted(name for name in expected.keys() | there.keys() if expected.get(name) != there.get(name))


def as_row(image: Image) -> dict[str, Any]:
    """For tables and JSON."""
    size_bytes = sum(one.size_bytes for part in image.files.values() for one in part.values())
    return {"image": image.name, "bytes": size_bytes, "keys": image.keys}
