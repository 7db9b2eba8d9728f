# SPDX-License-Identifier: BSD-3-Clause
"""The table of file systems: the name of each one in manifests, how it is made and mounted, and its further options.

A name begins with its kind. In the guest each kind has one file, file-systems/KIND.sh, with the commands that find,
make and check it. To remove a file system, delete its row here; to remove a kind, delete its rows and that file.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from ..errors import TestbedError
from . import tbfs_options


@dataclass(frozen=True)
class FileSystem:
    """One row of the table."""

    name: str
    mount: str  # options of mount(8), beside noatime
    mkfs: str = ""  # options for making it; the file of its kind defines them
    is_dax: bool = False  # files are mapped without the page cache
    has_large_pages: bool = True  # with DAX it can be made such that all files are mapped by pages of 2 MiB
    checked: Callable[[str], str] | None = None  # normalises stated options, or None if a manifest may state no options
    line_stores: Mapping[str, str] = field(default_factory=dict)  # option that needs MOVDIR64B -> its replacement
    component: str = ""  # brings the file of its kind and a module for the image's kernel; empty if the image has both

    @property
    def kind(self) -> str:
        """The type of file system for mount(8)."""
        return self.name.partition("-")[0]

    @property
    def kernel_option(self) -> str:
        """The kernel's build option for this file system, which is built in or a module with the name of the kind."""
        return f"{self.kind.upper()}_FS"

    def mounted_with(self, stated: str) -> str:
        """The options of a mount: the stated ones of a manifest if there are any, otherwise the row's."""
        return stated or self.mount


ROWS = (
    # With mb_optimize_scan, which small file systems lack, ext4 allocates free blocks of groups that it has not read
    # yet without aligning them.
    FileSystem("ext4-dax", "dax=always,mb_optimize_scan=0", is_dax=True),
    FileSystem("ext4-journal", "data=journal"),
    FileSystem("ext4-ordered", "data=ordered,dax=never"),
    # The smallest possible journal, which is full after a few hundred commits.
    FileSystem("ext4-smalljournal", "data=journal", mkfs="size=4"),
    FileSystem("xfs-dax", "dax=always", is_dax=True),
    FileSystem("xfs-exchange", "dax=always", mkfs="exchange=1", is_dax=True),
    FileSystem(
        "tbfs",
        "data=inplace",
        is_dax=True,
        has_large_pages=False,
        checked=tbfs_options.checked,
        line_stores=tbfs_options.LINE_STORES,
        component="tbfs",
    ),
)


@cache
def table() -> Mapping[str, FileSystem]:
    """The rows by name."""
    return by_name(ROWS)


def by_name(rows: Iterable[FileSystem]) -> dict[str, FileSystem]:
    """The rows by name. TestbedError: two rows have the same name."""
    found: dict[str, FileSystem] = {}
    for row in rows:
        if found.setdefault(row.name, row) is not row:
            raise TestbedError(f"two file systems have the name '{row.name}'; rename one in {__name__}")
    return found


def known(name: str) -> str:
    """Return the name. ValueError: no row has this name."""
    if name not in table():
        raise ValueError(f"'{name}' is no file system; write {choice(table())}")
    return name


def choice(names: Iterable[str]) -> str:
    """The names joined for messages: "a, b or c"."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def with_options() -> str:
    """For messages: the file systems for which a manifest may state mount options."""
    return choice(row.name for row in table().values() if row.checked)
