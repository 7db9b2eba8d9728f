# SPDX-License-Identifier: BSD-3-Clause
"""The files that a guest with a user's own kernel starts from: the kernel, and its modules laid over the guest's root.

The root stays unchanged, because modules are found by the release of the running kernel.
"""

import io
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from ..build.cache import Cache
from ..errors import TestbedError
from ..paths import cache_root
from ..program import own_kernel
from ..program.own_kernel import OwnKernel
from .cpio import CpioWriter
from .qemu_line import Images

KERNEL, MODULES = "kernel", "modules.cpio"  # in the cache


def check_is_here(kernel: OwnKernel | None, scheduler: str | None) -> None:
    """Reject a kernel with a scheduler: workers build their own images, and the kernel is a file of this host."""
    if kernel and scheduler:
        raise TestbedError("a kernel of one's own is started on this host only; leave --scheduler out")


def images_with(images: Images, kernel: OwnKernel | None) -> Images:
    """The same images with this kernel, if one is given."""
    if not kernel:
        return images
    made = _made(kernel, cache_root())
    return replace(images, kernel=made / KERNEL, initrds=(*images.initrds, made / MODULES))


@lru_cache
def _made(kernel: OwnKernel, cache: Path) -> Path:
    """The kernel's entry in the cache, checked once for all runs of a study: its checksum takes part of a second."""
    return Cache(cache).get_or_build("kernel", kernel.digest, lambda out, _: _prepare(kernel, out))


def _prepare(kernel: OwnKernel, out: Path) -> None:
    content = kernel.image.read_bytes()
    whole = own_kernel.unpacked(content, kernel.image)
    by_pvh = own_kernel.starts_by_pvh(whole)  # the guest then needs no firmware and unpacks nothing
    if not by_pvh and not own_kernel.is_bzimage(content):
        raise TestbedError(f"the vmlinux {kernel.image} is built without CONFIG_PVH; give its bzImage")
    (out / KERNEL).write_bytes(whole if by_pvh else content)
    (out / MODULES).write_bytes(_archive(kernel))


def _archive(kernel: OwnKernel) -> bytes:
    buffer = io.BytesIO()
    writer = CpioWriter(buffer)
    if kernel.modules:
        for name, file in own_kernel.module_files(kernel.modules, kernel.release):
            writer.add_file(f"usr/lib/modules/{kernel.release}/{name}", file.read_bytes())
    else:  # modprobe succeeds for these names without loading anything
        lines = (f"install {name} /usr/bin/true\n" for name in own_kernel.loaded_names())
        writer.add_file("usr/lib/modprobe.d/own-kernel.conf", "".join(lines).encode())
    writer.close()
    return buffer.getvalue()
