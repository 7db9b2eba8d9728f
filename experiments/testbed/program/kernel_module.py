# SPDX-License-Identifier: BSD-3-Clause
"""Kernel modules that do not come with the guest: compiled for its kernel, and checked before a guest loads them."""

import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from .. import scratch
from ..errors import TestbedError
from ..paths import kind_of
from . import host_program, kernel_headers

_MADE = (".ko", ".o", ".mod", ".mod.c", ".cmd")  # files that an earlier build may have left in a folder
OBJ_M = "obj-m := NAME.o"


@dataclass(frozen=True)
class KernelModule:
    """A module that a guest can load, by content."""

    name: str  # as the kernel lists it
    magic: str  # the vermagic of the kernel that the module is for
    content: bytes = field(repr=False)


# ---- Read ----


def read(path: Path) -> KernelModule:
    """The module in a file. TestbedError: the file is missing, or no module."""
    if kind_of(path) != "file":
        why = "is no file" if kind_of(path) else "does not exist"
        raise TestbedError(f"{path} {why}; give a .ko, as `testbed module build DIR` makes it")
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _read(path: Path, _changed_ns: int) -> KernelModule:
    """Cached, so that all points of a matrix share one copy of the module."""
    return of(path.name, host_program.read(path))


def of(file: str, content: bytes) -> KernelModule:
    """The module with the content of a file of this name. TestbedError: the content is no module."""
    try:
        said = modinfo(content)
        return KernelModule(said["name"], said["vermagic"], content)
    except (ValueError, KeyError) as error:
        why = f"says no {error}" if isinstance(error, KeyError) else str(error)
        raise TestbedError(
            f"{file} is no kernel module for x86-64 ({why}); make one with `testbed module build DIR`"
        ) from error


def modinfo(content: bytes) -> dict[str, str]:
    """The fields of the section .modinfo. ValueError: the file is no ELF file for x86-64, cut short, or without it."""
    if not host_program.is_x86_64(content):
        raise ValueError("no such ELF file")
    try:
        text = _section(content, b".modinfo")
    except (struct.error, IndexError, OverflowError) as error:
        raise ValueError("it was cut short") from error
    entries = (entry.decode(errors="replace").partition("=") for entry in text.split(b"\0"))
    return {key: value for key, _, value in entries if key}


def _section(content: bytes, name: bytes) -> bytes:
    """The bytes of the section of this name."""
    (at,) = struct.unpack_from("<Q", content, 40)
    size, count, names_index = struct.unpack_from("<HHH", content, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", content, at + index * size) for index in range(count)]

    def bytes_of(header: tuple[int, ...]) -> bytes:
        offset, length = header[4:6]
        if offset + length > len(content):
            raise IndexError
        return content[offset : offset + length]

    names = bytes_of(headers[names_index])
    for header in headers:
        if names[header[0] :].partition(b"\0")[0] == name:
            return bytes_of(header)
    raise ValueError("it has no section .modinfo")


def several(modules: Iterable[KernelModule]) -> tuple[KernelModule, ...]:
    """The modules of one guest, in the order in which the guest loads them. TestbedError: two have the same name."""
    found: dict[str, KernelModule] = {}
    for module in modules:
        if module.name in found:
            raise TestbedError(f"the kernel module {module.name} is named twice; leave one out")
        found[module.name] = module
    return tuple(found.values())


# ---- Compile ----


@dataclass(frozen=True)
class Compiled:
    """The modules of a folder, and the compiler's messages."""

    modules: dict[str, bytes]  # by file name
    said: str


def compile_folder(folder: Path, kernel: Path | None = None) -> Compiled:
    """Compile a copy of the folder for the guest's kernel or another; the folder itself stays unchanged."""
    if kind_of(folder) != "folder":
        why = "is no folder" if kind_of(folder) else "does not exist"
        raise TestbedError(f"{folder} {why}; give one with the sources of a kernel module and a Kbuild file")
    if not any((folder / name).is_file() for name in ("Kbuild", "Makefile")):
        raise TestbedError(f"{folder} has neither a Kbuild nor a Makefile; add a Kbuild with the key '{OBJ_M}'")
    compiler = kernel_headers.compiler_for(kernel)
    with scratch.folder("module") as home:
        copy = home / "module"
        _copy(folder, copy)
        done = subprocess.run(compiler.arguments(copy), capture_output=True, text=True, errors="replace")
        said = (done.stdout + done.stderr).replace(compiler.calls(copy), f"{folder}/").strip()
        if done.returncode:
            raise TestbedError(f"{folder} cannot be compiled for {compiler.kernel}:\n{said}")
        made = {path.name: path.read_bytes() for path in sorted(copy.rglob("*.ko"))}
    if not made:
        raise TestbedError(f"{folder}: its Kbuild or Makefile makes no module; add the key '{OBJ_M}'")
    return Compiled(made, said)


def _copy(folder: Path, to: Path) -> None:
    for path in host_program.tree(folder):
        if not path.name.endswith(_MADE):
            copied = to / path.relative_to(folder)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(host_program.read(path))


def compile_all(folders: Sequence[Path], kernel: Path | None = None) -> tuple[KernelModule, ...]:
    """The modules of all these folders, for the guest's kernel or another."""
    made = (item for folder in folders for item in compile_folder(folder, kernel).modules.items())
    return several(of(name, content) for name, content in made)
