# SPDX-License-Identifier: BSD-3-Clause
"""A kernel of the user's own for the guest: the options that it needs, and the modules that go along."""

import bz2
import hashlib
import lzma
import re
import struct
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import TestbedError
from ..file_systems.table import table
from ..paths import REPO, kind_of

LISTED = REPO / "guest-image" / "image" / "packages" / "modules"  # loaded by the guest's init and its tools
KINDS = "a bzImage, as arch/x86/boot/bzImage or /boot/vmlinuz-RELEASE, or a vmlinux"
# The options that the guest's init needs in a kernel, each with the module that it may be built as.
NEEDED = {
    "BLK_DEV_INITRD": "",
    "BINFMT_SCRIPT": "",
    "DEVTMPFS": "",
    "TMPFS": "",
    "MAGIC_SYSRQ": "",
    "SERIAL_8250_CONSOLE": "",
    "X86_IOPL_IOPERM": "",
    "CXL_BUS": "cxl_core",
    "CXL_PCI": "cxl_pci",
    "CXL_ACPI": "cxl_acpi",
    "CXL_MEM": "cxl_mem",
    "CXL_PORT": "cxl_port",
    "CXL_PMEM": "cxl_pmem",
    "CXL_REGION": "",
    "LIBNVDIMM": "libnvdimm",
    "BLK_DEV_PMEM": "nd_pmem",
    "FS_DAX": "",
}
RESERVED = re.compile(r"(?:^|\s)((?:rd)?init|console|testbed\.\S*)=")  # kernel arguments of the testbed itself
_CONFIG = re.compile(r"^CONFIG_(\w+)=([ym])$", re.M)
_BANNER_BYTES = 400  # enough for the names of the compilers in it
_DEBIAN = re.compile(rb" #[0-9].* Debian ([0-9][\w.+~:-]*) \(")
_PACKING = b"1"  # part of the key; increment it when the same files give another product


@dataclass(frozen=True)
class OwnKernel:
    """A kernel that a guest can use. Two kernels with the same content are equal, independent of their paths."""

    release: str  # as in `uname -r`
    digest: str  # of the image and of the modules that go along
    image: Path = field(compare=False)
    modules: Path | None = field(compare=False)  # the folder lib/modules/RELEASE, or None if everything is built in


# ---- Read and judge ----


def checked_arguments(arguments: str) -> str:
    """The user's kernel arguments, which follow the testbed's. TestbedError: one would override the testbed's."""
    if found := RESERVED.search(arguments):
        raise TestbedError(f"{found[1]}= is an argument that the testbed itself sets; leave it out")
    return " ".join(arguments.split())


def read(image: Path, modules: Path | None, file_system: str) -> OwnKernel:
    """The kernel in a file, with its modules in a folder. TestbedError: it lacks parts that a guest needs."""
    if kind_of(image) != "file":
        why = "is no file" if kind_of(image) else "does not exist"
        raise TestbedError(f"{image} {why}; give {KINDS}")
    if not modules and (image.parent / "modules.dep").exists():
        modules = image.parent  # newer distributions keep both in this folder
    kernel = _read(image, image.stat().st_mtime_ns, modules)
    faults = list(lacks(config_of(image, kernel.release), file_system, modules))
    if faults:
        raise TestbedError(f"the kernel {image} ({kernel.release}) cannot be a guest's: {'; '.join(faults)}")
    return kernel


@lru_cache(maxsize=8)
def _read(image: Path, _changed_ns: int, modules: Path | None) -> OwnKernel:
    content = image.read_bytes()
    release = release_of(content, image)
    total = hashlib.sha256(_PACKING + hashlib.sha256(content).digest())
    if modules:
        for name, file in module_files(modules, release):
            total.update(f"\0{name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return OwnKernel(release, total.hexdigest(), image, modules)


def release_of(content: bytes, image: Path) -> str:
    """The release that the image states."""
    return re.split(rb"[ \0]", _banner(content, image), maxsplit=1)[0].decode(errors="replace")


def debian_version_of(content: bytes, image: Path) -> str:
    """The version of the Debian package of the image; empty for an image from elsewhere."""
    found = _DEBIAN.search(_banner(content, image).partition(b"\0")[0])
    return found[1].decode() if found else ""


def _banner(content: bytes, image: Path) -> bytes:
    """The kernel's description of itself, as in `uname -a`, from its release on."""
    if is_bzimage(content):
        (at,) = struct.unpack_from("<H", content, 0x20E)  # x86 boot protocol: kernel_version
        return content[0x200 + at :][:_BANNER_BYTES]
    if content.startswith(b"\x7fELF\x02") and (at := content.find(b"Linux version ")) >= 0:
        return content[at + len(b"Linux version ") :][:_BANNER_BYTES]
    raise TestbedError(f"{image} is no kernel of Linux for x86-64; give {KINDS}")


def is_bzimage(content: bytes) -> bool:
    return content[0x202:0x206] == b"HdrS" and len(content) >= 0x250


def config_of(image: Path, release: str) -> Mapping[str, str]:
    """The options that are `y` or `m`, read from beside the image, from its build folder, or from the image itself."""
    places = [image.with_name(name) for name in (f"config-{release}", "config", ".config")]
    if image.parent.parts[-3:] == ("arch", "x86", "boot"):
        places.append(image.parents[3] / ".config")
    for place in places:
        if kind_of(place) == "file":
            return dict(_CONFIG.findall(place.read_text(errors="replace")))
    whole = unpacked(image.read_bytes(), image)
    at = whole.find(b"IKCFG_ST")
    if at < 0:
        raise TestbedError(
            f"the configuration of the kernel {image} is unknown: put its configuration beside it as config-{release}, "
            "or build it with CONFIG_IKCONFIG"
        )
    return dict(_CONFIG.findall(zlib.decompressobj(31).decompress(whole[at + 8 :]).decode(errors="replace")))


def lacks(config: Mapping[str, str], file_system: str, modules: Path | None) -> Iterator[str]:
    """The reasons why a guest cannot use the kernel, one clause each."""
    row = table()[file_system]
    options = NEEDED | {row.kernel_option: row.kind}
    if missing := [option for option in options if option not in config]:
        yield f"it is built without {', '.join(f'CONFIG_{option}' for option in missing)}"
    loaded = [name for option, name in options.items() if config.get(option) == "m"]
    if loaded and not modules:
        yield f"{', '.join(loaded)} are modules of it; give kernel_modules, its folder lib/modules/RELEASE"


# ---- Its modules ----


def loaded_names() -> list[str]:
    """The modules that the guest's init and its tools load."""
    lines = LISTED.read_text().splitlines()
    return sorted({name for line in lines if not line.startswith("#") for name in line.split()})


def module_files(folder: Path, release: str) -> list[tuple[str, Path]]:
    """The modules that the guest loads, their dependencies, and the indexes: name within the folder, and file."""
    index = folder / "modules.dep"
    if kind_of(index) != "file" or not (folder / "modules.dep.bin").exists():
        raise TestbedError(f"{folder} has no modules.dep and modules.dep.bin; give lib/modules/{release}, after depmod")
    if folder.resolve().name != release:
        raise TestbedError(f"{folder} is not called {release}, as the kernel is; give the folder of its own modules")
    needs = dict(_dependencies(index.read_text()))
    wanted = {*loaded_names(), *NEEDED.values(), *(row.kind for row in table().values() if not row.component)}
    wanted |= set(_softly_needed(wanted, _lines(folder / "modules.softdep"), _lines(folder / "modules.alias")))
    paths = {path for name in wanted if name in needs for path in needs[name]}
    names = [*sorted(paths), *sorted(path.name for path in folder.glob("modules.*"))]
    for name in names:
        if not (folder / name).exists():
            raise TestbedError(f"{folder} lacks {name}, which its modules.dep names; install the modules anew")
    return [(name, folder / name) for name in names]


def _lines(file: Path) -> list[list[str]]:
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def _softly_needed(names: set[str], softly: list[list[str]], aliases: list[list[str]]) -> Iterator[str]:
    """Names that modules request by softdep ("softdep ext4 pre: crypto-crc32c"), and the modules with such an alias."""
    lines = (line[2:] for line in softly if line[:1] == ["softdep"] and line[1] in names)
    asked = {word.removeprefix("crypto-") for line in lines for word in line}
    yield from asked
    yield from (line[2] for line in aliases if line[:1] == ["alias"] and line[1] in asked)


def _dependencies(text: str) -> Iterator[tuple[str, list[str]]]:
    """For each line of modules.dep: the module's name, and the paths of the module and of all its dependencies."""
    for line in text.splitlines():
        path, _, needs = line.partition(":")
        yield path.rpartition("/")[2].partition(".ko")[0].replace("-", "_"), [path, *needs.split()]


# ---- Images ----


def unpacked(content: bytes, image: Path) -> bytes:
    """The ELF image in a bzImage; a vmlinux is returned as it is."""
    if not is_bzimage(content):
        return content
    # x86 boot protocol: setup_sects, payload_offset, payload_length. Any payload but gzip ends with its unpacked size.
    try:
        offset, length = struct.unpack_from("<II", content, 0x248)
        at = (content[0x1F1] + 1) * 512 + offset
        whole = _unpack(content[at : at + length])
    except (OSError, ValueError, zlib.error, lzma.LZMAError, subprocess.CalledProcessError) as error:
        raise TestbedError(f"the kernel in {image} cannot be unpacked: {error}; give its vmlinux") from error
    if not whole.startswith(b"\x7fELF\x02"):
        raise TestbedError(f"{image} holds no kernel for x86-64; give {KINDS}")
    return whole


def _unpack(payload: bytes) -> bytes:
    match payload[:4]:
        case b"\x1f\x8b\x08\x00":
            return _whole(zlib.decompressobj(31), payload)
        case b"\xfd7zX":
            return _whole(lzma.LZMADecompressor(), payload)
        case b"BZh9":
            return _whole(bz2.BZ2Decompressor(), payload)
        case b"\x5d\x00\x00\x00" | b"\x5d\x00\x00\x80":
            return lzma.LZMADecompressor(lzma.FORMAT_ALONE).decompress(payload)
        case b"\x28\xb5\x2f\xfd":
            return _by_tool("zstd", payload[:-4])
        case b"\x02\x21\x4c\x18":
            return _by_tool("lz4", payload[:-4])
    raise ValueError("it is compressed in no known way")


def _whole(unpacker: Any, payload: bytes) -> bytes:
    content = unpacker.decompress(payload)
    if not unpacker.eof:
        raise ValueError("it was cut short")
    return bytes(content)


def _by_tool(tool: str, packed: bytes) -> bytes:
    return subprocess.run([tool, "-dc"], input=packed, capture_output=True, check=True).stdout


def starts_by_pvh(elf: bytes) -> bool:
    """Whether the file has Xen's ELF note of type 18, the PVH entry point for a virtual machine."""
    (at,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for header in range(at, at + size * count, size):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", elf, header)
        if kind == 4 and any(note == (b"Xen\0", 18) for note in _notes(elf[offset : offset + length])):
            return True
    return False


def _notes(segment: bytes) -> Iterator[tuple[bytes, int]]:
    at = 0
    while at + 12 <= len(segment):
        name_bytes, value_bytes, kind = struct.unpack_from("<III", segment, at)
        yield segment[at + 12 : at + 12 + name_bytes], kind
        at += 12 + -(-name_bytes // 4) * 4 + -(-value_bytes // 4) * 4
