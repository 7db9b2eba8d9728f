# SPDX-License-Identifier: BSD-3-Clause
"""The file systems of a guest: arguments for its init, archives that bring them, and the check of kept media."""

from pathlib import Path

from ..errors import TestbedError
from ..file_systems.table import table
from ..manifest.guest_config import GuestConfig


def arguments(guest: GuestConfig) -> list[str]:
    """Arguments for the kernel's command line: the file system that init makes and mounts."""
    row = table()[guest.file_system]
    made = [f"testbed.mkfs={row.mkfs}"] if row.mkfs else []
    return [f"testbed.fs={row.name}", *made, f"testbed.mount={row.mounted_with(guest.mount_options)}"]


def components(guest: GuestConfig) -> tuple[str, ...]:
    """The components that bring file systems which the image lacks."""
    return tuple(dict.fromkeys(row.component for row, _ in guest.mounted if row.component))


def check_media(guest: GuestConfig, folder: Path) -> None:
    """Raise TestbedError if kept media hold a file system that this guest cannot find, since init would overwrite it.

    blkid does not recognise a file system that a component brings, so a mark in the folder records its use by a guest.
    """
    own = components(guest)
    for row in table().values():
        mark = folder / f".{row.kind}"
        if row.component in own:
            mark.touch()
        elif row.component and mark.exists():
            what = f"its media are of a guest with a {row.name}, and this one would make another file system over that"
            remedy = f"ask for a {row.name} (--file-system {row.name}), or name another folder"
            raise TestbedError(f"--media {folder}: {what}; {remedy}")


def identity(guest: GuestConfig) -> list[str]:
    """How each file system is made and mounted. The commands themselves are in the image, or in a component."""
    return [
        f"{row.name} made with '{row.mkfs}', mounted with '{row.mounted_with(stated)}'" for row, stated in guest.mounted
    ]
