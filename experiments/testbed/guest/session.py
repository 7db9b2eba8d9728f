# SPDX-License-Identifier: BSD-3-Clause
"""The common start of all commands that boot guests: the executor, the builds of the guests, and the place of runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..build import workloads
from ..build.components import build
from ..errors import RunFailed
from .capacity import Capacity
from .executor import GuestExecutor, QemuExecutor, Telling
from .qemu_line import Images


@dataclass(frozen=True)
class Session:
    """The place where a command runs its guests, and their builds: `keys` has the hash of each component.

    Guests run on the Dask cluster with the scheduler at the address `scheduler`. Without one, `executor` runs them on
    this host, as many at a time as `here` says, or as the host can run.
    """

    executor: GuestExecutor
    keys: dict[str, str]
    scheduler: str | None = None
    here: Capacity | None = None

    @property
    def qemu(self) -> QemuExecutor:
        """The executor of a session with real guests."""
        assert isinstance(self.executor, QemuExecutor)
        return self.executor

    def telling(self, tell: Callable[[str], None]) -> GuestExecutor:
        """An executor for one guest that reports the guest's progress, and copies its output as it arrives."""
        return Telling(self.executor, tell)

    @property
    def images(self) -> Images:
        """The files that a guest of QEMU starts from."""
        return self.qemu.images


def open_session(qemu: str = "qemu", scheduler: str | None = None) -> Session:
    """Build missing components and open a session with all of them. `qemu` names the QEMU component to run."""
    products = build((qemu, "buildroot", "base", "tools"))
    paths = {name: product.path for name, product in products.items()}
    return Session(QemuExecutor(images(paths)), {name: product.key for name, product in products.items()}, scheduler)


def images(components: dict[str, Path]) -> Images:
    """The files of the built components that a guest starts from. RunFailed: a cache entry lacks one."""
    base, tools = components["base"], components["tools"]
    qemu = next(path for name, path in components.items() if name.startswith("qemu"))
    kernel = next((base / name for name in ("vmlinux", "vmlinuz") if (base / name).exists()), base / "vmlinuz")
    found = Images(
        qemu=qemu / "bin" / "qemu-system-x86_64",
        firmware=qemu / "share" / "qemu",
        kernel=kernel,
        initrds=(base / "base.cpio", tools / "tools.cpio"),
        archives={name: path / f"{name}.cpio" for name, path in components.items() if name in workloads.known()},
    )
    needed: tuple[Path, ...] = (found.qemu, found.firmware, found.kernel, *found.initrds)
    for path in needed:
        if not path.exists():
            raise RunFailed(f"the cache entry {path.parent} lacks {path.name}; remove that folder to build it again")
    return found
