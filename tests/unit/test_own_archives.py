# SPDX-License-Identifier: BSD-3-Clause
"""Archives that are components of their own: who has them, and whose identity says so."""

from pathlib import Path

import pytest

from testbed.build import components
from testbed.errors import TestbedError
from testbed.guest import image_programs, own_archives
from testbed.guest.cpio import CpioWriter
from testbed.guest.qemu_line import Images
from testbed.manifest import manifest
from testbed.manifest.manifest import GuestConfig
from testbed.results import results


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the place of the one that would be built."""
    path = tmp_path / "filework.cpio"
    with path.open("wb") as file:
        writer = CpioWriter(file)
        writer.add_file("usr/local/bin/filework", b"x", executable=True)
        writer.close()
    monkeypatch.setattr(components, "own_archive", lambda name: tmp_path / f"{name}.cpio")
    monkeypatch.setattr(components, "own_archive_key", lambda name: f"key of {name}")
    return path


def guest(small_manifest: Path, asks: str) -> GuestConfig:
    small_manifest.write_text(small_manifest.read_text().replace("[cpu]", f"[guest]\n{asks}\n[cpu]"))
    return manifest.runs(small_manifest)[0].guest


def test_a_guest_that_asks_for_one_has_it_beside_the_image(small_manifest: Path, archive: Path) -> None:
    images = Images(archive, archive, archive, (), {"threaded": archive.with_name("threaded.cpio")})
    plain = manifest.runs(small_manifest)[0].guest
    asking = guest(small_manifest, 'archives = ["threaded", "filework"]')
    assert own_archives.of(plain) == () and "own_archives" not in results.machine_identity(plain, {})
    assert own_archives.of(asking) == (archive,)
    assert images.initrds_of(asking) == (archive.with_name("threaded.cpio"),)
    identity = results.machine_identity(asking, {})
    assert identity["archives"] == ["threaded", "filework"]
    assert identity["own_archives"] == {"filework": "key of filework"}


def test_a_program_of_one_is_there_for_those_who_ask_only(small_manifest: Path, archive: Path) -> None:
    text = small_manifest.read_text().replace("kv --engine {engine} --records {records}", "filework --folder {engine}")
    small_manifest.write_text(text)
    images = Images(archive, archive, archive, ())
    with pytest.raises(TestbedError, match=r'no program \'filework\'; .*: guest\.archives = \["filework"\]'):
        image_programs.check(manifest.runs(small_manifest), images)
    guest(small_manifest, 'archives = ["filework"]')
    image_programs.check(manifest.runs(small_manifest), images)


def test_each_is_a_component_of_its_name() -> None:
    assert set(own_archives.NAMES) <= set(components.COMPONENTS)
