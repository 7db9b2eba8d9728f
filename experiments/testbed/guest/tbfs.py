# SPDX-License-Identifier: BSD-3-Clause
"""Guests with a tbfs: the archive that has its module and its tool, and what makes and mounts one.

The image knows nothing of it, so that its bytes are the same. Its init leaves the regions to the job then, as on
machines with several devices: the job's functions know a tbfs.
"""

from pathlib import Path

from .. import canonical
from ..build import components
from ..errors import TestbedError
from ..manifest.manifest import GuestConfig
from ..manifest.topology import Region

MARK = ".tbfs"  # in a folder of media
SCRIPT = r"""
# Init's own function knows no tbfs, which blkid does not, either.
take_tbfs() {
    modprobe /usr/lib/tbfs/tbfs.ko || return
    eval "other_$(declare -f make_file_system)"
    make_file_system() { # DISK
        local found
        found=$(head -c 8 "$1" | tr -d '\0')
        case $file_system:$found in
        tbfs:tbesdtFS) return 0 ;;
        *:tbesdtFS)
            printf 'the device holds tbfs, but the run asks for %s\n' "$file_system" >&2
            return 1
            ;;
        tbfs:*) find_file_system "$1" || return ;;
        *)
            other_make_file_system "$1"
            return
            ;;
        esac
        [[ ! $found ]] || {
            printf 'the device holds %s, but the run asks for tbfs\n' "$found" >&2
            return 1
        }
        tbfs make "$1"
    }
}
"""


def uses(guest: GuestConfig) -> bool:
    """Whether one of its regions has a tbfs."""
    regions = guest.topology.regions if guest.topology else ()
    return any(region.file_system == "tbfs" for region in regions)


def check_media(guest: GuestConfig, folder: Path) -> None:
    """Of a folder of media that are kept: whether such a guest had them. Another one's init would overwrite a tbfs."""
    mark = folder / MARK
    if uses(guest):
        mark.touch()
    elif mark.exists():
        what = "its media are of a guest with a tbfs, and this one would make another file system over that"
        raise TestbedError(f"--media {folder}: {what}; ask for a tbfs (--file-system tbfs), or name another folder")


def options(region: Region) -> str:
    """The line of the script that says how a region's is mounted."""
    return f"mount_options[tbfs]={region.mount_options or 'data=inplace'}"


def identity() -> dict[str, str]:
    """What of it can influence a run: the programs, and how they are used."""
    return {"component": components.tbfs_key(), "script": canonical.digest(SCRIPT)}
