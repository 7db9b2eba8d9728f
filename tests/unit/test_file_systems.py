# SPDX-License-Identifier: BSD-3-Clause
"""A file system that the guest's init does not know: what a guest brings along for it, and that others do not."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.guest import file_systems, regions
from testbed.guest.executor import GuestSpec, prepare_files
from testbed.guest.qemu_line import Images, Layout, run_arguments
from testbed.manifest import manifest
from testbed.manifest.manifest import GuestConfig
from testbed.manifest.sections import FileSystem
from testbed.program.job_archive import script_job
from testbed.results import results


def exchanging(guest: GuestConfig) -> GuestConfig:
    return replace(guest, file_system="xfs-exchange")


@pytest.mark.parametrize("name", ["ext4-dax", "xfs-dax"])
def test_a_guest_with_another_one_is_as_it_was(
    guest: GuestConfig, images: Images, tmp_path: Path, name: FileSystem
) -> None:
    guest = replace(guest, file_system=name)
    assert prepare_files(images, GuestSpec(guest, None), tmp_path).initrd.read_bytes() == b""
    assert run_arguments(guest, Layout()) == [f"testbed.fs={name}"]
    assert "makers" not in results.machine_identity(guest, {})


def test_xfs_that_exchanges_ranges_is_made_by_a_program_in_front_of_mkfs(
    guest: GuestConfig, images: Images, tmp_path: Path
) -> None:
    guest = exchanging(guest)
    archive = prepare_files(images, GuestSpec(guest, None), tmp_path).initrd
    assert run_arguments(guest, Layout()) == ["testbed.fs=xfs-dax"]
    subprocess.run(["cpio", "-idm", "--quiet"], stdin=archive.open("rb"), cwd=tmp_path, check=True)
    mkfs = tmp_path / "usr/local/bin/mkfs.xfs"
    traced = subprocess.run(["sh", "-nv", mkfs], capture_output=True, text=True, check=True).stderr
    assert traced.splitlines()[-1] == 'exec /usr/sbin/mkfs.xfs -i exchange=1 "$@"'
    assert mkfs.stat().st_mode & 0o111


def test_what_makes_it_is_in_the_identity(guest: GuestConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    before = results.machine_identity(exchanging(guest), {})
    assert before["file_system"] == "xfs-exchange"
    monkeypatch.setitem(file_systems.MAKERS, "xfs-exchange", ("usr/local/bin/mkfs.xfs", "another"))
    after = results.machine_identity(exchanging(guest), {})
    assert {key for key in before if before[key] != after[key]} == {"makers"}


def test_a_region_may_have_it(small_manifest: Path) -> None:
    with small_manifest.open("a") as file:
        file.write('[[region]]\ndevices = [0]\nfile_system = "xfs-exchange"\n')
    guest = manifest.runs(small_manifest)[0].guest
    assert file_systems.makers(guest)
    script = regions.before(script_job("true"), guest).executables[regions.NAME].decode()
    assert "    use_region 0 pmem fsdax xfs-dax /pmem || return\n" in script
