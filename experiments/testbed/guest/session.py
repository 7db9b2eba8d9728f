# SPDX-License-Identifier: BSD-3-Clause
"""What every command that boots guests starts with: who runs them, of which builds, and where."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from ..build.components import build
from ..errors import RunFailed
from ..manifest.manifest import Archive
from . import own_archives
from .capacity import Capacity
from .executor import GuestExecutor, QemuExecutor, Telling
from .qemu_line import Images


@dataclass(frozen=True)
class Session:
    """Guests are of the builds `keys`.

    They run on the Dask cluster whose scheduler is at the address `scheduler`. Without one `executor` runs them here,
    as many at a time as `here` says, or as this host takes.
    """

    executor: GuestExecutor
    keys: dict[str, str]
    scheduler: str | None = None
    here: Capacity | None = None

    @property
    def qemu(self) -> QemuExecutor:
        """The executor of a session whose guests are real."""
        assert isinstance(self.executor, QemuExecutor)
        return self.executor

    def telling(self, tell: Callable[[str], None]) -> GuestExecutor:
        """The executor of one guest, which says every so often how far that is, and what it prints as it comes."""
        return Telling(self.executor, tell)

    @property
    def images(self) -> Images:
        """What a guest of QEMU starts from."""
        return self.qemu.images


def open_session(qemu: str = "qemu", scheduler: str | None = None) -> Session:
    """Build what is missing and point at all of it. `qemu` names the QEMU component to run."""
    products = build((qemu, "buildroot", "base", "software"))
    paths = {name: product.path for name, product in products.items()}
    return Session(QemuExecutor(images(paths)), {name: product.key for name, product in products.items()}, scheduler)


def images(components: dict[str, Path]) -> Images:
    """The files of the built components that a guest starts from."""
    base, software = components["base"], components["software"]
    qemu = next(path for name, path in components.items() if name.startswith("qemu"))
    kernel = next((base / name for name in ("vmlinux", "vmlinuz") if (base / name).exists()), base / "vmlinuz")
    found = Images(
        qemu=qemu / "bin" / "qemu-system-x86_64",
        firmware=qemu / "share" / "qemu",
        kernel=kernel,
        initrds=(base / "base.cpio", software / "software.cpio"),
        archives={name: software / f"{name}.cpio" for name in get_args(Archive) if name not in own_archives.NAMES},
    )
    needed: tuple[Path, ...] = (found.qemu, found.firmware, found.kernel, *found.initrds)
    for path in needed:
        if not path.exists():
            raise RunFailed(f"the cache entry {path.parent} lacks {path.name}; remove that folder to build it again")
    return found
