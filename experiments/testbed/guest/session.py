# SPDX-License-Identifier: BSD-3-Clause
"""What every command that boots guests starts with: the built components, as images and as keys."""

from dataclasses import dataclass
from pathlib import Path

from ..build.components import build
from ..errors import RunFailed
from .executor import QemuExecutor
from .qemu_line import Images


@dataclass(frozen=True)
class Session:
    images: Images
    keys: dict[str, str]

    @property
    def executor(self) -> QemuExecutor:
        return QemuExecutor(self.images)


def open_session(qemu: str = "qemu") -> Session:
    """Build what is missing and point at all of it. `qemu` names the QEMU component to run."""
    products = build((qemu, "buildroot", "base", "software"))
    paths = {name: product.path for name, product in products.items()}
    return Session(images(paths), {name: product.key for name, product in products.items()})


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
    )
    needed: tuple[Path, ...] = (found.qemu, found.firmware, found.kernel, *found.initrds)
    for path in needed:
        if not path.exists():
            raise RunFailed(f"the cache entry {path.parent} lacks {path.name}; remove that folder to build it again")
    return found
