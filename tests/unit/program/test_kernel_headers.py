# SPDX-License-Identifier: BSD-3-Clause
"""The build tree for a module: the folder in which a kernel was built, or the headers of a Debian kernel."""

import struct
import subprocess
from pathlib import Path

import pytest

from rigs.guest.module_writer import module_bytes
from testbed.build.components import Product
from testbed.errors import TestbedError
from testbed.paths import REPO
from testbed.program import kernel_headers, kernel_module

MINE = "6.16.1-mine (me@here) #1 SMP Tue Jan 6 2026"
DEBIANS = "7.3.4+deb13-cloud-amd64 (kernel team) #1 SMP Debian 7.3.4-1~bpo13+1 (2026-11-15)"
# The part of a kernel's Makefile that the build calls: it "compiles" by copying a prebuilt module.
MAKEFILE = """
modules:
\t@echo '$(M)/hello.c:1: of $(KCFLAGS), LLVM=$(LLVM), CLEAN=$(wildcard $(M)/*.o)' >&2
\t@cp made.ko $(M)/hello.ko
"""


def bzimage(banner: str) -> bytes:
    content = bytearray(0x400)
    content[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", content, 0x20E, 0x100)
    return bytes(content[:0x300]) + banner.encode() + bytes(200)


def vmlinux(banner: str) -> bytes:
    release, _, rest = banner.partition(" ")
    compiler = "(gcc-14 (Debian 14.2.0-19) 14.2.0, GNU ld (GNU Binutils for Debian) 2.44)"
    return b"\x7fELF\x02" + bytes(100) + f"Linux version {release} {compiler} {rest}\n\0".encode()


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "Kbuild").write_text("obj-m := hello.o\n")
    (folder / "old.o").touch()
    return folder


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder in which a kernel was built."""
    folder = tmp_path / "linux"
    for name in ("include/config", "include/generated", "arch/x86/boot"):
        (folder / name).mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    for name in ("Module.symvers", "include/config/auto.conf", "include/generated/utsrelease.h"):
        (folder / name).touch()
    (folder / "made.ko").write_bytes(module_bytes("hello", magic="6.16.1-mine SMP mod_unload "))
    (folder / "arch/x86/boot/bzImage").write_bytes(bzimage(MINE))
    return folder


@pytest.mark.parametrize("kernel", [".", "arch/x86/boot/bzImage", "include/.."])
def test_a_folder_in_which_a_kernel_was_built_compiles_with_this_hosts_compiler(
    built: Path, sources: Path, kernel: str
) -> None:
    compiled = kernel_module.compile_folder(sources, built / kernel)
    assert compiled.modules == {"hello.ko": (built / "made.ko").read_bytes()}
    line, flags = compiled.said.split(": of ")
    assert line == f"{sources}/hello.c:1"
    assert flags.startswith("-ffile-prefix-map=") and flags.endswith("=/module, LLVM=, CLEAN=")
    assert {path.name for path in sources.iterdir()} == {"Kbuild", "old.o"}


def test_one_that_clang_has_built_is_gone_on_with_by_clang(built: Path, sources: Path) -> None:
    (built / "include/config/auto.conf").write_text("CONFIG_SMP=y\nCONFIG_CC_IS_CLANG=y\n")
    assert ", LLVM=1, " in kernel_module.compile_folder(sources, built).said


def test_what_its_make_says_is_said_with_the_kernel(built: Path, sources: Path) -> None:
    (built / "made.ko").unlink()
    with pytest.raises(TestbedError, match=f"{sources} cannot be compiled for the kernel in {built}:\n(.|\n)*made.ko"):
        kernel_module.compile_folder(sources, built)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("none", "none does not exist; give a kernel's file, or the folder in which it was built"),
        ("/dev/null", "/dev/null is no file; give a kernel's file, or the folder in which it was built"),
        ("linux", "linux is no folder in which a kernel was built: it has no Module.symvers; build it there"),
        ("text", "text is no kernel of Linux for x86-64; give a bzImage"),
        ("mine", "mine (6.16.1-mine) is none of Debian's, so nothing says what it was built with; give the folder in"),
        ("linux/arch/x86/boot/bzImage", "bzImage (6.16.1-mine) is none of Debian's"),
    ],
)
def test_another_is_refused_before_anything_is_built(
    built: Path, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, message: str
) -> None:
    (built / "Module.symvers").unlink()
    (tmp_path / "text").write_text("text")
    (tmp_path / "mine").write_bytes(vmlinux(MINE))
    monkeypatch.delattr(kernel_headers, "build_components")
    with pytest.raises(TestbedError) as refused:
        kernel_module.compile_folder(sources, tmp_path / kernel)
    said = str(refused.value)
    assert (message in said, refused.value.exit_status, said.count("\n")) == (True, 2, 0), said


@pytest.mark.parametrize("image", [bzimage(DEBIANS), vmlinux(DEBIANS)], ids=("bzImage", "vmlinux"))
def test_headers_of_debians_kernel_are_fetched_once_by_its_release_and_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: bytes
) -> None:
    script = tmp_path / "fetch"
    script.write_text(f'#!/bin/sh\necho "$1 $2 $3" >>{tmp_path}/asked\necho "$1" >"$4/kernel-release"\n')
    script.chmod(0o755)
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_headers, "_SCRIPTS", (script,))
    monkeypatch.setattr(kernel_headers, "_module_root", lambda: Product(Path("/root-of-image"), "key"))
    (tmp_path / "vmlinuz").write_bytes(image)
    compiler, again = (kernel_headers.compiler_for(tmp_path / "vmlinuz") for _ in range(2))
    assert compiler == again
    release = DEBIANS.split()[0]
    assert (tmp_path / "asked").read_text() == f"{release} 7.3.4-1~bpo13+1 /root-of-image\n"
    _, root, folder = compiler.arguments(Path("/sources"))
    assert ((Path(root) / "kernel-release").read_text(), folder) == (f"{release}\n", "/sources")
    script.write_text("#!/bin/sh\necho 'fetch: Debian has none' >&2\nexit 2\n")
    with pytest.raises(TestbedError, match=r"^fetch: Debian has none$"):
        kernel_headers.compiler_for(tmp_path / "vmlinuz")


@pytest.mark.parametrize("version", ["9.9.9-1", "9.9.9-1~bpo13+1"])
def test_headers_that_debian_does_not_have_are_one_sentence(tmp_path: Path, version: str) -> None:
    """For example of a kernel with packages that have left Debian's archive."""
    script, folders = REPO / "guest-image/image/kernel-headers.sh", [tmp_path] * 3
    command: list[str | Path] = [script, "9.9.9-none", version, *folders]
    done = subprocess.run(command, capture_output=True, text=True)
    why = f"Debian 13 and its backports have no linux-headers-9.9.9-none {version} now: give the folder"
    assert (done.returncode, why in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
