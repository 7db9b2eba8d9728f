# SPDX-License-Identifier: BSD-3-Clause
"""Kernel modules that a run brings along: an archive for the initramfs, whose first program loads them.

That program runs in the place of /init, which it becomes. So the modules are there before the region is made and
mounted, in every guest and every copy of one. The image is the same as without them.
"""

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ..errors import TestbedError
from ..program import own_kernel
from ..program.kernel_module import KernelModule
from .cpio import CpioWriter

FOLDER = "own-modules"
KERNEL_ARGUMENT = f"rdinit=/{FOLDER}/load"
LOAD = f"""#!/bin/bash
export PATH=/usr/sbin:/usr/bin
mount -a
exec </dev/console >/dev/console 2>&1
for name in $(</{FOLDER}/order); do
    modprobe "/{FOLDER}/$name.ko" && continue
    why="the kernel module $name cannot be loaded: see the console log"
    printf '{{"type":"error","message":"%s"}}\\n' "$why" >/dev/ttyS1
    echo o >/proc/sysrq-trigger
    exec sleep infinity
done
exec /init
"""
_FLAGS = b" mod_unload "  # in the kernel's own vermagic, and nowhere else


def archive(modules: Sequence[KernelModule]) -> bytes:
    """To be laid over the guest's root."""
    buffer = io.BytesIO()
    writer = CpioWriter(buffer)
    writer.add_file(f"{FOLDER}/load", LOAD.encode(), executable=True)
    writer.add_file(f"{FOLDER}/order", "".join(f"{module.name}\n" for module in modules).encode())
    for module in modules:
        writer.add_file(f"{FOLDER}/{module.name}.ko", module.content)
    writer.close()
    return buffer.getvalue()


def check(modules: Sequence[KernelModule], kernel: Path) -> None:
    """Refuse modules that the kernel would not load."""
    for module in modules:
        if module.magic != (wanted := magic(kernel)):
            raise TestbedError(
                f"the kernel module {module.name} is for a kernel '{module.magic.strip()}', and the guest's is "
                f"'{wanted.strip()}'; compile it again with `testbed module build DIR`, for another kernel than the "
                "image's with --kernel"
            )


@cache
def magic(kernel: Path) -> str:
    """What the kernel compares with a module's vermagic: its release and what else must agree."""
    content = own_kernel.unpacked(kernel.read_bytes(), kernel)
    at = content.find(_FLAGS)
    if at < 0:
        raise TestbedError(f"{kernel} takes no kernel modules; leave them out")
    return content[content.rfind(b"\0", 0, at) + 1 : content.find(b"\0", at)].decode()
