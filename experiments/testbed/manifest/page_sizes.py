# SPDX-License-Identifier: BSD-3-Clause
"""The pages by which a guest's processes map files: which sizes can be asked for, of which file systems."""

from collections.abc import Sequence
from typing import Literal, get_args

from .sections import FileSystem

PageSize = Literal["4KiB", "2MiB"]
MAPPED: tuple[FileSystem, ...] = ("ext4-dax", "xfs-dax", "xfs-exchange", "tbfs")  # without a page cache


def checked(text: str, mounted: Sequence[FileSystem]) -> PageSize | None:
    """The page size in a text, for a guest with these file systems; ValueError if it cannot be had."""
    sizes: dict[str, PageSize] = {size: size for size in get_args(PageSize)}
    if not text:
        return None
    if text not in sizes:
        raise ValueError(f'"{text}" is no page size of a mapped file; write "4KiB" or "2MiB", or leave it out')
    if not set(mounted) & set(MAPPED):
        what = f"no file of {', '.join(mounted) or 'this machine'} is mapped without the page cache"
        raise ValueError(f"{text}: {what}; use a file system with DAX, as ext4-dax, or leave it out")
    if text == "2MiB" and "tbfs" in mounted:
        what = "tbfs cannot be made to map all files by pages of 2 MiB; it aligns those of 2 MiB and more by itself"
        raise ValueError(f"{text}: {what}; leave it out")
    return sizes[text]
