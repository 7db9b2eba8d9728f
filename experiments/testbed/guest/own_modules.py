# SPDX-License-Identifier: BSD-3-Clause
"""Kernel modules that a run brings along: an archive for the initramfs, from which init loads them.

Init loads them before the region is made and mounted, in every guest and every copy of one.
"""

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ..errors import TestbedError
from ..program import own_kernel
from ..program.kernel_module import KernelModule
from .cpio import CpioWriter

FOLDER = "usr/lib/testbed/modules"  # the same path as in the image's guest.sh
_FLAGS = b" mod_unload "  # occurs in the kernel's own vermagic, and nowhere else in its image


def archive(modules: Sequence[KernelModule]) -> bytes:
    """A cpio archive of the modules and their order, laid over the guest's root."""
    buffer = io.BytesIO()
    writer = CpioWriter(buffer)
    writer.add_file(f"{FOLDER}/order", "".join(f"{module.name}\n" for module in modules).encode())
    for module in modules:
        writer.add_file(f"{FOLDER}/{module.name}.ko", module.content)
    writer.close()
    return buffer.getvalue()


def check(modules: Sequence[KernelModule], kernel: Path) -> None:
    """Raise TestbedError for a module that the kernel would not load."""
    for module in modules:
        if module.magic != (wanted := magic(kernel)):
            raise TestbedError(
                f"the kernel module {module.name} is for a kernel '{module.magic.strip()}', and the guest's is "
                f"'{wanted.strip()}'; compile it again with `testbed module build DIR`, for another kernel than the "
                "image's with --kernel"
            )


@cache
def magic(kernel: Path) -> str:
    """The string that the kernel compares with a module's vermagic: its release, and the options that must agree."""
    content = own_kernel.unpacked(kernel.read_bytes(), kernel)
    at = content.find(_FLAGS)
    if at < 0:
        raise TestbedError(f"{kernel} takes no kernel modules; leave them out")
    return content[content.rfind(b"\0", 0, at) + 1 : content.find(b"\0", at)].decode()
