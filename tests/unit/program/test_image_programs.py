# SPDX-License-Identifier: BSD-3-Clause
"""Programs and engines that the guest lacks are found before it boots."""

import io
from pathlib import Path

import pytest

from testbed.build import components
from testbed.errors import TestbedError
from testbed.guest import image_programs
from testbed.guest.cpio import CpioWriter, names
from testbed.guest.qemu_line import Images
from testbed.manifest import render


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Images:
    """An image with a Debian program and two workloads, one of them with two engines."""
    folders = {
        "base": ["usr/bin/ls"],
        "tools": ["usr/local/bin/latency"],
        "kv": ["usr/local/bin/kv", "usr/local/bin/kv-pmdk", "usr/local/bin/kv-snapshot"],
        "shared-kv": ["usr/local/bin/shared-kv", "usr/local/bin/shared-kv-pmdk"],
    }
    for name, programs in folders.items():
        with (tmp_path / f"{name}.cpio").open("wb") as file:
            writer = CpioWriter(file)
            for program in programs:
                writer.add_file(program, b"x" * 5, executable=True)
            writer.close()
    monkeypatch.setattr(components, "own_archive", lambda name: tmp_path / f"{name}.cpio")
    return Images(tmp_path, tmp_path, tmp_path, (tmp_path / "base.cpio", tmp_path / "tools.cpio"))


def test_an_archive_lists_what_was_added() -> None:
    file = io.BytesIO()
    writer = CpioWriter(file)
    writer.add_file("a/b/odd", b"123")
    writer.add_symlink("a/link", "b/odd")
    writer.close()
    file.seek(0)
    assert list(names(file)) == ["a", "a/b", "a/b/odd", "a/link"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("kv --engine {engine}", "key 'matrix.engine': kv has no engine 'volatile'; there are: pmdk, snapshot"),
        ("kv --engine=snap", "key 'workload.command': kv has no engine 'snap'; there are: pmdk, snapshot"),
        ("kw --engine pmdk", "key 'workload.command': the guest has no program 'kw'; did you mean 'kv'?"),
        ("shared-kv --engine none", "key 'workload.command': shared-kv has no engine 'none'; there are: pmdk"),
        ("flework", "key 'workload.command': the guest has no program 'flework'; did you mean 'filework'?"),
    ],
)
def test_what_the_guest_lacks_is_named(small_manifest: Path, images: Images, command: str, message: str) -> None:
    text = small_manifest.read_text().replace("kv --engine {engine} --records {records}", command)
    small_manifest.write_text(text)
    with pytest.raises(TestbedError) as caught:
        image_programs.check(render.runs(small_manifest), images)
    assert (str(caught.value), caught.value.exit_status) == (f"{small_manifest}: {message}", 2)


@pytest.mark.parametrize("command", ["ls --engine none", "kv --engine pmdk", "/pmem/anything", "kv --engine=snapshot"])
def test_what_the_guest_has_may_run(small_manifest: Path, images: Images, command: str) -> None:
    text = small_manifest.read_text().replace("kv --engine {engine} --records {records}", command)
    small_manifest.write_text(text)
    image_programs.check(render.runs(small_manifest), images)


@pytest.mark.parametrize(
    ("damage", "how"),
    [
        (lambda whole: whole[: whole.index(b"TRAILER") - 110], "it ends before its trailer"),
        (lambda whole: whole[:60], "not a newc cpio archive"),
        (lambda whole: b"\0" * len(whole), "not a newc cpio archive"),
        (lambda whole: whole.replace(b"kv-pmdk", b"\xff\xff\xff\xff\xff\xff\xff"), "can't decode"),
    ],
)
def test_a_damaged_image_is_named(small_manifest, images, damage, how) -> None:  # type: ignore[no-untyped-def]
    kv = images.initrds[0].with_name("kv.cpio")
    kv.write_bytes(damage(kv.read_bytes()))
    with pytest.raises(TestbedError, match=f"kv.cpio is damaged: .*{how}.*; remove .* and run `testbed build`"):
        image_programs.check(render.runs(small_manifest), images)
