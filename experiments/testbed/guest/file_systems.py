# SPDX-License-Identifier: BSD-3-Clause
"""File systems that the guest's init does not know: one that it knows, made otherwise.

An archive over the guest's root has a program in front of the one that init makes the file system with. So the image
is the same as for other guests. Of several regions all with that type are made so.
"""

import io
from typing import get_args

from .. import canonical
from ..manifest.manifest import GuestConfig
from ..manifest.sections import FileSystem
from .cpio import CpioWriter

KNOWN: dict[FileSystem, FileSystem] = {"xfs-exchange": "xfs-dax"}  # to init
MAKERS: dict[FileSystem, tuple[str, str]] = {
    "xfs-exchange": ("usr/local/bin/mkfs.xfs", '#!/bin/sh\nexec /usr/sbin/mkfs.xfs -i exchange=1 "$@"\n'),
}


def known(name: FileSystem) -> FileSystem:
    """What init is asked for."""
    return KNOWN.get(name, name)


def makers(guest: GuestConfig) -> dict[str, str]:
    """What is in front of programs of the image, by path."""
    regions = guest.topology.regions if guest.topology else ()
    asked = {guest.file_system, *(region.file_system for region in regions)}
    return dict(MAKERS[name] for name in get_args(FileSystem) if name in asked and name in MAKERS)


def archive(guest: GuestConfig) -> bytes:
    """To be laid over the guest's root; nothing if init can make what it needs."""
    buffer = io.BytesIO()
    writer = CpioWriter(buffer)
    programs = makers(guest)
    for path, script in programs.items():
        writer.add_file(path, script.encode(), executable=True)
    writer.close()
    return buffer.getvalue() if programs else b""


def identity(guest: GuestConfig) -> dict[str, str]:
    """What of it can influence a run, beside the name."""
    programs = makers(guest)
    return {"makers": canonical.digest(programs)} if programs else {}
