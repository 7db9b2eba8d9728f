# SPDX-License-Identifier: BSD-3-Clause
"""Lists newc cpio archives, the format of an initramfs."""

from collections.abc import Iterator
from typing import BinaryIO

_TRAILER = "TRAILER!!!"


def names(file: BinaryIO) -> Iterator[str]:
    """The names in an archive, without reading what they name. ValueError: it is not whole, or no archive."""
    while header := file.read(110):
        if len(header) < 110 or not header.startswith(b"070701"):
            raise ValueError("not a newc cpio archive")
        content, name = int(header[54:62], 16), int(header[94:102], 16)
        text = file.read(name).rstrip(b"\0").decode()
        if text == _TRAILER:
            return
        yield text
        file.seek(-(110 + name) % 4, 1)
        file.seek(content + -content % 4, 1)
    raise ValueError("it ends before its trailer")
