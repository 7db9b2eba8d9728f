# SPDX-License-Identifier: BSD-3-Clause
"""Archives of a guest's root that are components of their own: the image is the same whether they are built or not."""

from pathlib import Path

from ..build import components
from ..manifest.manifest import GuestConfig
from . import tbfs

# Of those that a manifest asks for; in each is a program of that name.
NAMES = ("filework", "pages-fams", "kyoto-server", "neo4j", "memcached-ycsb", "stl-map")


def of(guest: GuestConfig) -> tuple[Path, ...]:
    """What this guest has in its root beside the image, built if it is not."""
    asked = tuple(components.own_archive(name) for name in guest.archives if name in NAMES)
    return (*asked, components.tbfs_archive()) if tbfs.uses(guest) else asked


def identity(guest: GuestConfig) -> dict[str, str]:
    """Of those that a manifest asks for; a tbfs has its own."""
    return {name: components.own_archive_key(name) for name in guest.archives if name in NAMES}
