# SPDX-License-Identifier: BSD-3-Clause
"""Images: all files that a guest starts from. Results name an image by the keys of its components.

The present sources and Debian's mirror make one image. Others are imported (image_archive.py) and chosen by
TESTBED_IMAGE: then guests start from the chosen image, and their results have the identity of its earlier results.
"""

import os
import re
from collections.abc import Iterable, Mapping
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
PARTS = ("qemu", "base", "tools")  # the parts of every guest; some guests have workloads, too
Key = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ImageFile(Strict):
    """The format of an image's list. Each file has its size in bytes, its SHA-256 and whether it is executable."""

    format: StrictInt
    keys: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")], Key]
    files: dict[str, dict[str, tuple[StrictInt, Key, StrictBool]]]


class Built(Protocol):
    """A built component: its folder and its key."""

    @property
    def path(self) -> Path: ...
    @property
    def key(self) -> str: ...


@dataclass(frozen=True)
class Image:
    """The keys of the components, and the sums of the files of each part."""

    keys: dict[str, str]
    files: dict[str, Sums]

    @property
    def name(self) -> str:
        return name_of(self.keys)

    def text(self) -> str:
        files = {part: {name: one.as_data() for name, one in of.items()} for part, of in self.files.items()}
        return canonical.dumps({"format": FORMAT, "keys": self.keys, "files": files})


def name_of(keys: Mapping[str, str]) -> str:
    """The name of an image: a hash of the keys, which the identity of every result contains."""
    return canonical.digest(dict(keys))[:16]


def of(products: Mapping[str, Built], workloads: Iterable[str] = ()) -> Image:
    """The image of these components, with the files of these workloads."""
    parts = (*PARTS, *workloads)
    files = {part: sums.recorded(products[part].path) or sums.of_folder(products[part].path) for part in parts}
    return Image({name: product.key for name, product in products.items()}, files)


def read(text: str, origin: Path) -> Image:
    """The image that a list states. Raises TestbedError if the list is invalid or unsafe to unpack."""
    try:
        stated = ImageFile.model_validate_json(text)
    except ValidationError as error:
        raise TestbedError(f"{origin} states no image: {error.errors()[0]['msg']}") from error
    if stated.format != FORMAT:
        raise TestbedError(f"{origin} is of format {stated.format}, and this testbed reads {FORMAT}; use one that fits")
    if not set(PARTS) <= set(stated.files) <= set(stated.keys):
        raise TestbedError(f"{origin} states no image: its parts are not {', '.join(PARTS)} and components with keys")
    for name in (name for part in stated.files.values() for name in part):
        parts = PurePosixPath(name).parts
        if str(PurePosixPath(name)) != name or name.startswith("/") or ".." in parts or "\0" in name or not parts:
            raise TestbedError(f"{origin} states no image: the name {name!r} would leave its folder")
    files = {part: {name: Sum(*one) for name, one in of.items()} for part, of in stated.files.items()}
    return Image(dict(stated.keys), files)


# ---- Images of a cache ----


def remember(cache: Cache, image: Image) -> None:
    """Store the list of an image in the cache, so that TESTBED_IMAGE can name the image."""
    outputs.write(_folder(cache) / f"{image.name}.json", image.text())


def known(cache: Cache) -> list[Image]:
    """The imported images, sorted by name."""
    return [read(path.read_text(), path) for path in sorted(_folder(cache).glob("*.json"))]


def chosen(cache: Cache) -> Image | None:
    """The image that TESTBED_IMAGE names by the begin of its hash; None if unset, which selects the present sources."""
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
    """The path of a component of an image. Raises TestbedError if a part of the image is missing or damaged."""
    path = cache.path(component, image.keys[component])
    if component in image.files:
        if not path.is_dir():
            raise TestbedError(f"the image {image.name} lacks {path}; import it again: testbed image import FILE")
        cache.check(path)
    return path


def paths(cache: Cache) -> set[Path]:
    """The folders of all parts of imported images."""
    return {cache.path(part, image.keys[part]) for image in known(cache) for part in image.files}


def _folder(cache: Cache) -> Path:
    return cache.root / "images"


def difference(expected: Sums, there: Sums) -> list[str]:
    """The names of files that differ between the two, or that one of them lacks."""
    return sorted(name for name in expected.keys() | there.keys() if expected.get(name) != there.get(name))


def as_row(image: Image) -> dict[str, Any]:
    """An image's row for tables and JSON."""
    size_bytes = sum(one.size_bytes for part in image.files.values() for one in part.values())
    return {"image": image.name, "bytes": size_bytes, "keys": image.keys}
