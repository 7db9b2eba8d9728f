# SPDX-License-Identifier: BSD-3-Clause
"""The page sizes with which a guest's processes can map files, and the file systems that support them."""

from collections.abc import Sequence
from typing import Literal, get_args

from ..file_systems.table import FileSystem

PageSize = Literal["4KiB", "2MiB"]


def checked(text: str, mounted: Sequence[FileSystem]) -> PageSize | None:
    """The page size in a text, for a guest with these file systems; None if the text is empty.

    Raises ValueError for an unknown size, or if the file systems do not support it.
    """
    sizes: dict[str, PageSize] = {size: size for size in get_args(PageSize)}
    if not text:
        return None
    if text not in sizes:
        raise ValueError(f'"{text}" is no page size of a mapped file; write "4KiB" or "2MiB", or leave it out')
    if not any(one.is_dax for one in mounted):
        names = ", ".join(one.name for one in mounted) or "this machine"
        what = f"no file of {names} is mapped without the page cache"
        raise ValueError(f"{text}: {what}; use a file system with DAX, as ext4-dax, or leave it out")
    for one in mounted:
        if text == "2MiB" and not one.has_large_pages:
            what = "cannot be made to map all files by pages of 2 MiB; it aligns those of 2 MiB and more by itself"
            raise ValueError(f"{text}: {one.name} {what}; leave it out")
    return sizes[text]
