# SPDX-License-Identifier: BSD-3-Clause
"""A user's own kernel: required features are found in synthetic kernel images, and missing ones are named."""

import gzip
import lzma
import re
import struct
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.guest import kernel_images
from testbed.guest.cpio import entries
from testbed.guest.qemu_line import ONE_DEVICE, Images, run_arguments
from testbed.manifest import parse
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.scale import guest_config
from testbed.program import own_kernel
from testbed.results import results

RELEASE = "6.16.1-mine"
WHOLE = dict.fromkeys(own_kernel.NEEDED, "y") | {"EXT4_FS": "y", "XFS_FS": "m"}
PVH = struct.pack("<III", 4, 8, 18) + b"Xen\0" + bytes(8)


def config(**changed: str) -> str:
    options = WHOLE | changed
    lines = (f"CONFIG_{name}={value}" if value else f"# CONFIG_{name} is not set" for name, value in options.items())
    return "CONFIG_HZ=250\n" + "".join(f"{line}\n" for line in lines)


def elf(note: bytes = PVH, inside: str = "") -> bytes:
    """An ELF image with one note, a release string, and the configuration `inside` if there is one."""
    start = 64 + 56
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    program = struct.pack("<IIQQQQQQ", 4, 4, start, 0, 0, len(note), len(note), 4)
    kept = b"IKCFG_ST" + packed(inside.encode()) + b"IKCFG_ED" if inside else b""
    return header + program + note + f"Linux version {RELEASE} (me)\0".encode() + kept


def packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def bzimage(payload: bytes) -> bytes:
    setup = bytearray(512 * 2)
    setup[0x1F1] = 1
    setup[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", setup, 0x20E, 0x100)
    setup[0x300 : 0x300 + 40] = f"{RELEASE} (me) #1".encode().ljust(40, b"\0")
    struct.pack_into("<II", setup, 0x248, 16, len(payload))
    return bytes(setup) + bytes(16) + payload


def sized(packed: bytes) -> bytes:
    return packed + bytes(4)


def by_tool(content: bytes, *tool: str) -> bytes:
    return subprocess.run([*tool, "-c"], input=content, capture_output=True, check=True).stdout


def write(folder: Path, content: bytes, beside: str | None = None) -> Path:
    (folder / "bzImage").write_bytes(content)
    if beside is not None:
        (folder / f"config-{RELEASE}").write_text(beside)
    return folder / "bzImage"


def write_modules(folder: Path, *names: str) -> Path:
    home = folder / RELEASE
    home.mkdir()
    (home / "modules.dep.bin").touch()
    (home / "modules.dep").write_text(
        "kernel/a-b.ko.xz: kernel/c.ko.xz\n" + "".join(f"kernel/{n}.ko.xz:\n" for n in names)
    )
    for name in ("kernel/a-b", "kernel/c", *(f"kernel/{n}" for n in names)):
        (home / f"{name}.ko.xz").parent.mkdir(exist_ok=True)
        (home / f"{name}.ko.xz").write_bytes(name.encode())
    return home


def refusal(image: Path, modules: Path | None = None, file_system: str = "ext4-dax") -> str:
    with pytest.raises(TestbedError) as refused:
        own_kernel.read(image, modules, file_system)
    assert refused.value.exit_status == 2 and "\n" not in str(refused.value)
    return str(refused.value)


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": packed,
    "xz": lambda content: sized(lzma.compress(content, check=lzma.CHECK_CRC32)),
    "lzma": lambda content: sized(lzma.compress(content, lzma.FORMAT_ALONE)),
    "zstd": lambda content: sized(by_tool(content, "zstd")),
    "lz4": lambda content: sized(by_tool(content, "lz4", "-l")),
}


@pytest.mark.parametrize("kind", PACKED)
def test_a_bzimage_is_unpacked_and_says_what_it_has(tmp_path: Path, kind: str) -> None:
    image = write(tmp_path, bzimage(PACKED[kind](elf(inside=config()))))
    kernel = own_kernel.read(image, None, "ext4-dax")
    assert kernel.release == RELEASE
    assert own_kernel.unpacked(image.read_bytes(), image) == elf(inside=config())


def test_its_configuration_is_beside_it_or_where_it_was_built(tmp_path: Path) -> None:
    image = write(tmp_path, bzimage(packed(elf())), config(CXL_PMEM=""))
    assert "built without CONFIG_CXL_PMEM" in refusal(image)
    built = tmp_path / "arch/x86/boot"
    built.mkdir(parents=True)
    image = write(built, bzimage(packed(elf())))
    assert f"put its configuration beside it as config-{RELEASE}" in refusal(image)
    (tmp_path / ".config").write_text(config(FS_DAX="", CXL_REGION=""))
    assert "built without CONFIG_CXL_REGION, CONFIG_FS_DAX" in refusal(image)
    (tmp_path / ".config").write_text(config())
    assert own_kernel.read(image, None, "ext4-dax").release == RELEASE


def test_what_is_a_module_wants_the_folder_of_modules(tmp_path: Path) -> None:
    image = write(tmp_path, bzimage(packed(elf())), config(CXL_ACPI="m"))
    assert "cxl_acpi are modules of it; give kernel_modules" in refusal(image)
    assert "cxl_acpi, xfs are modules" in refusal(image, file_system="xfs-dax")
    modules = write_modules(tmp_path, "cxl_acpi")
    kernel = own_kernel.read(image, modules, "ext4-dax")
    assert [name for name, _ in own_kernel.module_files(modules, RELEASE)] == [
        "kernel/cxl_acpi.ko.xz",
        "modules.dep",
        "modules.dep.bin",
    ]
    (modules / "kernel/cxl_acpi.ko.xz").write_bytes(b"another")
    image.touch()
    assert own_kernel.read(image, modules, "ext4-dax") != kernel, "by content"


def test_what_modules_need_goes_along_by_whatever_name(tmp_path: Path) -> None:
    modules = write_modules(tmp_path, "ext4", "crc32c_generic", "unrelated")
    (modules / "modules.dep").write_text(
        (modules / "modules.dep").read_text() + "kernel/nd_pmem.ko.xz: kernel/a-b.ko.xz\n"
    )
    (modules / "kernel/nd_pmem.ko.xz").touch()
    (modules / "modules.softdep").write_text("# soft\nsoftdep ext4 pre: crypto-crc32c\nsoftdep unrelated pre: ext4\n")
    (modules / "modules.alias").write_text("alias crc32c crc32c_generic\nalias pci:* unrelated\n")
    went = {name for name, _ in own_kernel.module_files(modules, RELEASE) if name.startswith("kernel/")}
    assert went == {f"kernel/{name}.ko.xz" for name in ("ext4", "crc32c_generic", "nd_pmem", "a-b")}


def test_folders_that_are_not_of_its_modules(tmp_path: Path) -> None:
    image = write(tmp_path, bzimage(packed(elf())), config())
    assert "no modules.dep" in refusal(image, tmp_path)
    modules = write_modules(tmp_path, "cxl_acpi")
    (modules / "kernel/cxl_acpi.ko.xz").unlink()
    assert "lacks kernel/cxl_acpi.ko.xz" in refusal(image, modules)
    other = modules.rename(tmp_path / "6.1.0")
    assert f"is not called {RELEASE}" in refusal(image, other)


def test_what_is_no_kernel_is_refused(tmp_path: Path) -> None:
    assert "does not exist; give a bzImage" in refusal(tmp_path / "bzImage")
    assert "is no file" in refusal(tmp_path)
    assert "is no kernel of Linux" in refusal(write(tmp_path, b"#!/bin/sh\n"))
    assert "compressed in no known way" in refusal(write(tmp_path, bzimage(b"what")))
    assert "cannot be unpacked" in refusal(write(tmp_path, bzimage(packed(elf())[:-20])))
    assert "is no kernel of Linux" in refusal(write(tmp_path, bzimage(b"")[:0x210]))


@pytest.mark.parametrize("said", ["rdinit=/x", "quiet init=/bin/sh", "console=tty0", "testbed.fs=xfs"])
def test_what_the_testbed_itself_says_to_the_kernel_is_not_undone(said: str) -> None:
    with pytest.raises(TestbedError, match="leave it out"):
        own_kernel.checked_arguments(said)
    assert own_kernel.checked_arguments(" a  b=1 ") == "a b=1"


def images(folder: Path) -> Images:
    return Images(folder / "qemu", folder, folder / "vmlinux", (folder / "base.cpio",))


def test_a_guest_starts_from_it_and_its_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel with a PVH entry boots as unpacked ELF image, any other as bzImage."""
    monkeypatch.setattr(kernel_images, "cache_root", lambda: tmp_path / "cache")
    for note, taken in ((PVH, elf()), (bytes(12), bzimage(packed(elf(bytes(12)))))):
        image = write(tmp_path, bzimage(packed(elf(note))), config())
        found = kernel_images.images_with(images(tmp_path), own_kernel.read(image, None, "ext4-dax"))
        assert found.kernel.read_bytes() == taken
        with found.initrds[-1].open("rb") as file:
            assert "usr/lib/modprobe.d/own-kernel.conf" in [entry.name for entry in entries(file)]
    (tmp_path / "bzImage").write_bytes(elf(bytes(12)))
    with pytest.raises(TestbedError, match="without CONFIG_PVH; give its bzImage"):
        kernel_images.images_with(images(tmp_path), own_kernel.read(tmp_path / "bzImage", None, "ext4-dax"))
    assert kernel_images.images_with(images(tmp_path), None) == images(tmp_path)


MANIFEST = """
name = "own"
summary = "a kernel of one's own"
[guest]
kernel = "bzImage"
kernel_modules = "{release}"
kernel_arguments = " quiet  loglevel=7"
[cpu]
profile = "xeon-6230-class"
[device]
profile = "snapshot-paper-mss"
[workload]
command = "true"
"""


def machine(path: Path) -> GuestConfig:
    return guest_config(parse.load(path))


def write_manifest(folder: Path) -> Path:
    write(folder, bzimage(packed(elf())), config(CXL_ACPI="m"))
    write_modules(folder, "cxl_acpi")
    (folder / "own.toml").write_text(MANIFEST.format(release=RELEASE))
    return folder / "own.toml"


def test_a_manifest_names_it_beside_itself_and_hands_it_on(tmp_path: Path) -> None:
    there, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    for folder in (there, elsewhere):
        folder.mkdir()
    guest = machine(write_manifest(there))
    assert guest.kernel == own_kernel.read(there / "bzImage", there / RELEASE, "ext4-dax")
    plain = run_arguments(replace(guest, kernel=None, kernel_arguments=""), ONE_DEVICE)
    assert run_arguments(guest, ONE_DEVICE) == [*plain, "quiet loglevel=7"]
    (elsewhere / "more.toml").write_text('base = "../there/own.toml"\nname = "more"\nsummary = "more"\n')
    assert machine(elsewhere / "more.toml") == guest


def test_a_result_is_of_a_kernel_and_of_what_that_is_told(tmp_path: Path) -> None:
    guest = machine(write_manifest(tmp_path))
    assert guest.kernel
    of_image = replace(guest, kernel=None, kernel_arguments="")
    identity, told, plain = (
        results.machine_identity(one, {}) for one in (guest, replace(of_image, kernel_arguments="x"), of_image)
    )
    assert identity == plain | {"kernel": guest.kernel.digest, "kernel_arguments": "quiet loglevel=7"}
    assert told == plain | {"kernel_arguments": "x"}


@pytest.mark.parametrize(
    ("line", "key", "why"),
    [
        ('kernel = "none"', "guest.kernel", "none does not exist; give a bzImage"),
        ('kernel_modules = "none"', "guest.kernel", "none has no modules.dep"),
        (
            'kernel_arguments = "a init=/x"',
            "guest.kernel_arguments",
            "init= is an argument that the testbed itself sets",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(tmp_path: Path, line: str, key: str, why: str) -> None:
    path = write_manifest(tmp_path)
    name = line.partition(" ")[0]
    path.write_text(re.sub(f"(?m)^{name} = .*", line, path.read_text()))
    with pytest.raises(TestbedError, match=f"{re.escape(str(path))}: key '{key}': .*{re.escape(why)}"):
        machine(path)


def test_modules_without_a_kernel_and_kernels_on_other_hosts_are_refused(tmp_path: Path) -> None:
    path = write_manifest(tmp_path)
    kernel = machine(path).kernel
    with pytest.raises(TestbedError, match="on this host only; leave --scheduler out"):
        kernel_images.check_is_here(kernel, "tcp://192.0.2.1:8786")
    kernel_images.check_is_here(kernel, None)
    kernel_images.check_is_here(None, "tcp://192.0.2.1:8786")
    path.write_text(path.read_text().replace('kernel = "bzImage"\n', ""))
    with pytest.raises(TestbedError, match="none is named; add kernel"):
        machine(path)
