# SPDX-License-Identifier: BSD-3-Clause
"""Kernel modules of a guest: parsed, rejected before a boot, sent along, and part of the identity of a run."""

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import MANIFEST, MOCK_QEMU, QuietReporter
from rigs.guest.module_writer import KERNEL, MAGIC, module_bytes
from testbed.cli.module_commands import with_modules
from testbed.errors import TestbedError
from testbed.guest import own_modules
from testbed.guest.cpio import names
from testbed.guest.executor import GuestSpec, QemuExecutor, prepare_files
from testbed.guest.qemu_line import Images, Layout, run_arguments
from testbed.guest.session import Session
from testbed.manifest import render
from testbed.manifest.guest_config import GuestConfig
from testbed.program import kernel_module
from testbed.program.job_archive import script_job
from testbed.results import results
from testbed.run.runner import drive, run_all


@pytest.fixture
def executor(tmp_path: Path) -> QemuExecutor:
    (tmp_path / "vmlinux").write_bytes(KERNEL)
    return QemuExecutor(Images(MOCK_QEMU, tmp_path, tmp_path / "vmlinux", initrds=()))


def with_two(small_manifest: Path, order: str = '"b.ko", "a.ko"') -> Path:
    for name in "ab":
        (small_manifest.parent / f"{name}.ko").write_bytes(module_bytes(name))
    own_program = MANIFEST.replace('["snapshot", "pmdk", "volatile"]', '["snapshot"]').replace("kv --", "/bin/true --")
    small_manifest.write_text(own_program.replace("[cpu]", f"[guest]\nmodules = [{order}]\n[cpu]"))
    return small_manifest


def guest_of(path: Path) -> GuestConfig:
    return render.runs(path)[0].guest


# ---- Parsing ----


def test_a_module_says_its_name_and_its_kernel() -> None:
    module = kernel_module.of("any.ko", module_bytes("one", code=b"x" * 99))
    assert (module.name, module.magic) == ("one", MAGIC)
    assert kernel_module.modinfo(module.content)["license"] == "GPL"


def test_every_cut_of_a_module_is_refused() -> None:
    whole = module_bytes("one")
    for length in range(len(whole)):
        with pytest.raises(TestbedError, match=r"^one.ko is no kernel module for x86-64 \(.*\); make one with"):
            kernel_module.of("one.ko", whole[:length])


def test_every_changed_byte_of_a_module_is_refused_or_read() -> None:
    """The parser raises no exception but TestbedError."""
    whole, refused = module_bytes("one"), 0
    for at in range(len(whole)):
        for value in (0, 0x7F, 0xFF):
            try:
                kernel_module.of("one.ko", whole[:at] + bytes([value]) + whole[at + 1 :])
            except TestbedError:
                refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no such ELF file"),
        (b"\xfd7zXZ\0" + bytes(100), "no such ELF file"),
        (module_bytes("one", machine=183), "no such ELF file"),
        (module_bytes("one").replace(b"name=", b"nome="), "says no 'name'"),
        (module_bytes("one").replace(b"\0.modinfo", b"\0.modinfa"), "it has no section .modinfo"),
    ],
)
def test_what_is_no_module_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(TestbedError) as caught:
        kernel_module.of("one.ko", content)
    assert (f"({why})" in str(caught.value), caught.value.exit_status) == (True, 2)


# ---- In a guest ----


def test_a_guest_has_them_in_their_order(small_manifest: Path, executor: QemuExecutor, tmp_path: Path) -> None:
    guest = guest_of(with_two(small_manifest))
    assert [module.name for module in guest.modules] == ["b", "a"]
    archive = own_modules.archive(guest.modules)
    folder = own_modules.FOLDER
    wanted = ["usr", "usr/lib", "usr/lib/testbed", folder, *(f"{folder}/{name}" for name in ("order", "b.ko", "a.ko"))]
    assert list(names(io.BytesIO(archive))) == wanted
    assert archive.count(b"b\na\n") == 1
    files = prepare_files(executor.images, GuestSpec(guest, None), tmp_path)
    assert files.initrd.read_bytes() == archive


def test_one_without_is_as_it_was(small_manifest: Path, executor: QemuExecutor, tmp_path: Path) -> None:
    guest = guest_of(small_manifest)
    files = prepare_files(executor.images, GuestSpec(guest, None), tmp_path)
    assert files.initrd.read_bytes() == b""
    assert "modules" not in results.machine_identity(guest, {})
    with_one = replace(guest, modules=guest_of(with_two(small_manifest)).modules)
    assert run_arguments(with_one, Layout(kernel="x")) == [*run_arguments(guest, Layout()), "x"]


def test_what_they_are_and_their_order_is_in_the_identity(small_manifest: Path) -> None:
    def identity() -> object:
        return results.machine_identity(guest_of(small_manifest), {})["modules"]

    before = (with_two(small_manifest), identity())[1]
    (small_manifest.parent / "b.ko").rename(small_manifest.parent / "c.ko")
    with_two(small_manifest, '"c.ko", "a.ko"')
    assert identity() == before
    with_two(small_manifest, '"a.ko", "b.ko"')
    assert identity() != before
    (with_two(small_manifest).parent / "a.ko").write_bytes(module_bytes("a", code=b"other"))
    assert identity() != before


def test_a_base_elsewhere_has_its_own(small_manifest: Path, tmp_path: Path) -> None:
    with_two(small_manifest)
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "other.toml"
    other.write_text(f'name = "other"\nsummary = "x"\nbase = "{small_manifest}"\n')
    assert guest_of(other) == guest_of(small_manifest)


def test_a_guest_is_sent_what_they_hold(small_manifest: Path, executor: QemuExecutor) -> None:
    guest = guest_of(with_two(small_manifest))
    one, two = guest.modules
    changed = replace(two, content=two.content + b"more")
    guests = [replace(guest, modules=modules) for modules in ((), (one, two), (one, changed), (two, one))]
    rows = [drive(executor.run(GuestSpec(guest, script_job("true")))).rows[0]["sent"] for guest in guests]
    assert len(set(rows)) == 4


def test_options_add_to_what_the_manifest_names(small_manifest: Path, tmp_path: Path) -> None:
    guest = guest_of(with_two(small_manifest))
    (tmp_path / "c.ko").write_bytes(module_bytes("c"))
    assert [module.name for module in with_modules(guest, [tmp_path / "c.ko"]).modules] == ["b", "a", "c"]
    assert with_modules(guest, None) == guest
    with pytest.raises(TestbedError, match="the kernel module a is named twice; leave one out"):
        with_modules(guest, [tmp_path / "a.ko"])


# ---- Rejection ----


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ('"none.ko"', "none.ko does not exist; give a .ko"),
        ('"."', "is no file; give a .ko"),
        ('"a.ko", "a.ko"', "the kernel module a is named twice; leave one out"),
        ('"small.toml"', "small.toml is no kernel module for x86-64 (no such ELF file)"),
    ],
)
def test_a_manifest_that_names_none_is_refused(small_manifest: Path, order: str, message: str) -> None:
    with pytest.raises(TestbedError) as caught:
        render.runs(with_two(small_manifest, order))
    assert str(caught.value).startswith(f"{small_manifest}: key 'guest.modules': ")
    assert (message in str(caught.value), caught.value.exit_status) == (True, 2)


def test_one_for_another_kernel_is_refused_before_a_boot(
    small_manifest: Path, executor: QemuExecutor, tmp_path: Path
) -> None:
    with_two(small_manifest)
    (tmp_path / "b.ko").write_bytes(module_bytes("b", magic="6.1.0-mock SMP preempt mod_unload modversions "))
    guest = guest_of(small_manifest)
    executor.images = replace(executor.images, qemu=tmp_path / "none")  # a start would be lost, not refused
    sentence = (
        "the kernel module b is for a kernel '6.1.0-mock SMP preempt mod_unload modversions', and the guest's is "
        f"'{MAGIC.strip()}'; compile it again with `testbed module build DIR`, for another kernel than the image's "
        "with --kernel"
    )
    with pytest.raises(TestbedError) as caught:
        drive(executor.run(GuestSpec(guest, script_job("true"))))
    assert (str(caught.value), caught.value.exit_status) == (sentence, 2)
    with pytest.raises(TestbedError) as caught:
        drive(run_all(render.runs(small_manifest), Session(executor, {}), tmp_path / "r", QuietReporter()))
    assert (str(caught.value), caught.value.exit_status) == (f"{small_manifest}: key 'guest.modules': {sentence}", 2)


def test_a_kernel_that_takes_none_is_said(small_manifest: Path, tmp_path: Path) -> None:
    (tmp_path / "bare").write_bytes(b"no modules")
    own_modules.check((), tmp_path / "bare")
    with pytest.raises(TestbedError, match="bare takes no kernel modules; leave them out"):
        own_modules.check(guest_of(with_two(small_manifest)).modules, tmp_path / "bare")


NOTHING_BUILT = """
from testbed.cli import main
from testbed.program import kernel_headers
def built(*_, **__): raise AssertionError("it builds")
main.open_session = kernel_headers.build_components = built
main.main()
"""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["module", "build", "none"], "none does not exist; give one with the sources of a kernel module"),
        (["module", "build", "text"], "text is no folder; give one with the sources of a kernel module"),
        (
            ["module", "build", "empty"],
            "empty has neither a Kbuild nor a Makefile; add a Kbuild with the key 'obj-m",
        ),
        (["module", "build", "one", "--kernel", "none"], "none does not exist; give a kernel's file, or the folder"),
        (["exec", "--module", "none.ko", "--", "true"], "none.ko does not exist; give a .ko, as `testbed module build"),
        (["exec", "--module", "text", "--", "true"], "text is no kernel module for x86-64 (no such ELF file)"),
    ],
)
def test_what_cannot_be_is_one_sentence_before_anything_is_built(
    tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "one").mkdir()
    (tmp_path / "one/Kbuild").touch()
    (tmp_path / "text").write_text("text")
    command = [sys.executable, "-c", NOTHING_BUILT, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, message in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
