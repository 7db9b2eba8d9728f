# SPDX-License-Identifier: BSD-3-Clause
"""Compiler and headers for kernel modules: for the guest's kernel, another of Debian's, or one built on this host."""

import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..build.cache import Cache
from ..build.components import Product
from ..build.components import build as build_components
from ..errors import TestbedError
from ..paths import REPO, cache_root, kind_of
from . import own_kernel

_COMPILE = str(REPO / "guest-image" / "image" / "compile-module.sh")
_SCRIPTS = tuple(REPO / "guest-image" / "image" / name for name in ("kernel-headers.sh", "debian-kernels.sh"))
_BUILT = ("Makefile", "Module.symvers", "include/config/auto.conf", "include/generated/utsrelease.h")


@dataclass(frozen=True)
class Compiler:
    """Compiles the sources of a kernel module in their folder."""

    kernel: str  # described in words, for messages
    command: tuple[str, ...]
    root: Path | None = None  # the root in which it runs, or None for this host's own compiler

    def arguments(self, folder: Path) -> list[str]:
        """The command for this folder. The same sources in another folder must give the same bytes."""
        if self.root:
            return [*self.command, str(self.root), str(folder)]
        return [*self.command, f"M={folder}", f"KCFLAGS=-ffile-prefix-map={folder}=/module", "modules"]

    def calls(self, folder: Path) -> str:
        """The name of the folder in the compiler's messages."""
        return "/module/" if self.root else f"{folder}/"


def compiler_for(kernel: Path | None) -> Compiler:
    """The compiler for a kernel's file, a folder in which a kernel was built, or with None for the guest's kernel."""
    if kernel is None:
        return Compiler("the guest's kernel", (_COMPILE,), _module_root().path)
    kind = kind_of(kernel)
    if kind == "folder":
        if missing := [name for name in _BUILT if not (kernel / name).is_file()]:
            why = f"it has no {', '.join(missing)}"
            raise TestbedError(
                f"{kernel} is no folder in which a kernel was built: {why}; build it there, or name another"
            )
        return _of_tree(kernel.resolve())
    if kind != "file":
        why = "is no file" if kind else "does not exist"
        raise TestbedError(f"{kernel} {why}; give a kernel's file, or the folder in which it was built")
    return next(map(_of_tree, filter(_is_built, _homes(kernel.resolve()))), None) or _of_debian(kernel)


def _homes(image: Path) -> list[Path]:
    """The folders in which the image may have been built, judged by its path: its own, and that above arch/x86/boot."""
    return [image.parent, *([image.parents[3]] if image.parent.parts[-3:] == ("arch", "x86", "boot") else [])]


def _is_built(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _BUILT)


def _of_tree(folder: Path) -> Compiler:
    """The host's compiler of the kind that built the kernel, GCC or Clang."""
    by_clang = "CONFIG_CC_IS_CLANG=y\n" in (folder / "include/config/auto.conf").read_text(errors="replace")
    jobs = f"--jobs={os.cpu_count()}"
    command = ("make", "--silent", jobs, "-C", str(folder), *(["LLVM=1"] if by_clang else []))
    return Compiler(f"the kernel in {folder}", command)


def _of_debian(image: Path) -> Compiler:
    """The compiler with the Debian packages of the version in the kernel's file. TestbedError: no Debian kernel."""
    content = image.read_bytes()
    release, version = own_kernel.release_of(content, image), own_kernel.debian_version_of(content, image)
    if not version:
        why = "is none of Debian's, so nothing says what it was built with"
        raise TestbedError(f"the kernel {image} ({release}) {why}; give the folder in which it was built")
    root = _module_root()
    key = hashlib.sha256("\0".join((release, version, root.key)).encode())
    for script in _SCRIPTS:
        key.update(script.read_bytes())

    def fetch(out: Path, work: Path) -> None:
        words = [str(word) for word in (_SCRIPTS[0], release, version, root.path, out, work)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise TestbedError((done.stderr.strip() or f"{_SCRIPTS[0].name} failed").splitlines()[-1])

    made = Cache(cache_root()).get_or_build("kernel-headers", key.hexdigest(), fetch, summed=False)
    return Compiler(f"the kernel {release}", (_COMPILE,), made)


def _module_root() -> Product:
    return build_components(("module-root",))["module-root"]
