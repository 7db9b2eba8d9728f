# SPDX-License-Identifier: BSD-3-Clause
"""Kernel modules: compiled against the guest's kernel, and loaded by a guest."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.own_modules import magic
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program import kernel_module
from testbed.program.job_archive import script_job
from testbed.program.kernel_module import KernelModule
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

HELLO = """
#include <linux/module.h>
static int __init hello(void)
{
	pr_info("hello from a module\\n");
	return STATUS;
}
module_init(hello);
MODULE_LICENSE("GPL");
"""


def folder_of(folder: Path, name: str = "hello", status: str = "0") -> Path:
    folder.mkdir(parents=True)
    (folder / "Kbuild").write_text(f"obj-m := {name}.o\n")
    (folder / f"{name}.c").write_text(HELLO.replace("STATUS", status))
    return folder


def run(session: Session, guest: GuestConfig, modules: tuple[KernelModule, ...], script: str) -> GuestOutcome:
    return drive(session.executor.run(GuestSpec(replace(guest, modules=modules), script_job(script))))


def test_a_module_is_compiled_for_the_guests_kernel(session: Session, tmp_path: Path) -> None:
    """The bytes depend neither on the folder's path nor on leftovers; `module build` adds the module alone to it."""
    one, two = folder_of(tmp_path / "one"), folder_of(tmp_path / "a" / "two")
    (two / "old.ko").write_bytes(b"of before")
    made = [kernel_module.compile_all([folder])[0] for folder in (one, two)]
    assert made[0] == made[1]
    assert (made[0].name, made[0].magic) == ("hello", magic(session.images.kernel))
    command = [sys.executable, "-m", "testbed", "module", "build", str(one)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"written: {one / 'hello.ko'}\n"), done.stderr
    assert {path.name for path in one.iterdir()} == {"Kbuild", "hello.c", "hello.ko"}
    assert (one / "hello.ko").read_bytes() == made[0].content


@pytest.mark.parametrize(
    ("kbuild", "source", "message"),
    [
        ("obj-m := hello.o", "int x = y;", "{}/hello.c:1:9: error: 'y' undeclared here"),
        ("obj-m := hello.o", "", "{} cannot be compiled for the guest's kernel:"),
        ("", HELLO, "{}: its Kbuild or Makefile makes no module; add the key 'obj-m := NAME.o'"),
    ],
)
def test_what_cannot_be_compiled_is_said(tmp_path: Path, kbuild: str, source: str, message: str) -> None:
    folder = folder_of(tmp_path / "one")
    (folder / "Kbuild").write_text(f"{kbuild}\n")
    (folder / "hello.c").write_text(source)
    with pytest.raises(TestbedError) as caught:
        kernel_module.compile_folder(folder)
    said = str(caught.value)
    assert (message.format(folder) in said, caught.value.exit_status) == (True, 2), said


def test_modules_are_loaded_before_anything_is_mounted(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    first, second = folder_of(tmp_path / "first", "zzz"), folder_of(tmp_path / "second", "aaa")
    modules = kernel_module.compile_all([first, second])
    outcome = run(session, quick_guest, modules, 'lsmod | awk \'$1 == "zzz" || $1 == "aaa" { print $1 }\'; dmesg')
    assert outcome.outcome == "ok", outcome.console
    lines = outcome.stdout.decode().splitlines()
    assert lines[:2] == ["aaa", "zzz"]  # lsmod lists the last loaded module first
    said = [at for at, line in enumerate(lines) if line.endswith("hello from a module")]
    mounted = [at for at, line in enumerate(lines) if "mounted filesystem" in line]
    assert len(said) == 2 and mounted and said[-1] < mounted[0]


def test_a_module_that_fails_ends_the_guest_and_is_named(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    modules = kernel_module.compile_all([folder_of(tmp_path / "bad", "bad", "-ENODEV")])
    outcome = run(session, quick_guest, modules, "true")
    assert (outcome.outcome, outcome.error) == ("lost", "the kernel module bad cannot be loaded: see the console log")
    assert "No such device" in outcome.console
