# SPDX-License-Identifier: BSD-3-Clause
"""Manifests with a tbfs: the machine, the script that makes it, the identity, and one sentence for each mistake."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import MANIFEST
from testbed.build import components
from testbed.crash.plan import Plan
from testbed.errors import TestbedError
from testbed.file_systems import tbfs_options
from testbed.guest import file_systems, own_archives, regions
from testbed.guest.qemu_line import Layout, run_arguments
from testbed.manifest import render
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.program.job_archive import script_job
from testbed.replay import verdicts
from testbed.results import results

KEY = "of the component"
REGIONS = """
[[device]]
profile = "snapshot-paper-mss"
[[device]]
profile = "snapshot-paper-mss"
[[region]]
devices = [0]
[[region]]
devices = [1]
file_system = "tbfs"
mount = "/other"
"""


@pytest.fixture(autouse=True)
def without_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "own_archive_key", lambda name: f"{KEY} {name}")
    monkeypatch.setattr(components, "own_archive", lambda name: Path(f"{name}.cpio"))


def written(path: Path, guest: str, devices: str = "") -> Path:
    """Write the short manifest with `guest` as its [guest] table, and `devices` in place of its [device] table."""
    one = '[device]\nprofile = "snapshot-paper-mss"\n'
    path.write_text((MANIFEST.replace(one, devices) if devices else MANIFEST) + f"[guest]\n{guest}\n")
    return path


def machine(path: Path, guest: str, devices: str = "") -> GuestConfig:
    return verdicts.machine_of(written(path, guest, devices))


def script(guest: GuestConfig) -> str:
    made = regions.before(script_job("true"), guest).executables[regions.NAME].decode()
    assert subprocess.run(["bash", "-n"], input=made, text=True).returncode == 0
    return made


def test_a_guest_with_a_tbfs_has_its_archive_and_is_told_of_its_options(small_manifest: Path) -> None:
    guest = machine(small_manifest, 'file_system = "tbfs"')
    assert own_archives.of(guest, None) == (Path("tbfs.cpio"),) and guest.topology is None
    assert run_arguments(guest, Layout()) == ["testbed.fs=tbfs", "testbed.mount=data=inplace"]
    options = 'file_system = "tbfs"\nmount_options = "gc_read=off, data=hybrid"'
    assert "testbed.mount=data=hybrid,gc_read=off" in run_arguments(machine(small_manifest, options), Layout())
    assert own_archives.of(machine(small_manifest, ""), None) == ()


def test_a_region_may_have_one_with_options_of_its_own(small_manifest: Path) -> None:
    guest = machine(small_manifest, "", REGIONS + 'mount_options = "data=cow"\n')
    assert guest.topology
    found = [(one.file_system, one.mount_options) for one in guest.topology.regions]
    assert found == [("ext4-dax", ""), ("tbfs", "data=cow")]
    assert "use_region 1 pmem fsdax /other tbfs '' data=cow ||" in script(guest)
    assert own_archives.of(guest, None) == (Path("tbfs.cpio"),)


def test_points_of_a_study_differ_by_file_system_and_by_options(small_manifest: Path) -> None:
    axis = MANIFEST.replace("[matrix]", '[matrix]\npolicy = ["ext4", "cow", "hybrid"]')
    asks = '[guest]\nfile_system_of = { cow = "tbfs", hybrid = "tbfs" }\nmount_options = "data={policy}"\n'
    small_manifest.write_text(axis.replace("[cpu]", f"{asks}[cpu]"))
    runs = {str(run.point["policy"]): run.guest for run in render.runs(small_manifest)}
    found = {policy: (guest.file_system, guest.mount_options) for policy, guest in runs.items()}
    assert found == {"ext4": ("ext4-dax", ""), "cow": ("tbfs", "data=cow"), "hybrid": ("tbfs", "data=hybrid")}
    assert len({str(results.machine_identity(guest, {})) for guest in runs.values()}) == 3


def test_media_of_a_guest_with_a_tbfs_are_refused_to_others(small_manifest: Path, tmp_path: Path) -> None:
    other, own = machine(small_manifest, ""), machine(small_manifest, 'file_system = "tbfs"')
    file_systems.check_media(other, tmp_path)
    file_systems.check_media(own, tmp_path)
    file_systems.check_media(own, tmp_path)
    with pytest.raises(TestbedError, match=f"--media {tmp_path}: its media are of a guest with a tbfs, and this one"):
        file_systems.check_media(other, tmp_path)


def test_options_and_programs_are_in_the_identity_of_those_who_have_a_tbfs(
    small_manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def identity(guest: str) -> dict[str, Any]:
        return results.machine_identity(machine(small_manifest, guest), {})

    assert "file_system_archives" not in identity("") and "topology" not in identity("")
    plain = identity('file_system = "tbfs"')
    assert plain["file_system_archives"] == {"tbfs": f"{KEY} tbfs"}
    assert identity('file_system = "tbfs"\nmount_options = "data=cow"') != plain
    monkeypatch.setattr(components, "own_archive_key", lambda name: f"another of {name}")
    assert identity('file_system = "tbfs"') != plain
    others = results.machine_identity(machine(small_manifest, "", REGIONS.replace('"tbfs"', '"xfs-dax"')), {})
    assert "file_system_archives" not in others and all(
        "mount_options" not in one for one in others["topology"]["regions"].values()
    )


def test_options_of_a_command_put_out_those_of_the_manifest(small_manifest: Path) -> None:
    written(small_manifest, 'file_system = "tbfs"\nmount_options = "data=cow"')
    for options, stated in (
        ({}, "data=cow"),
        ({"guest": {"file_system": "tbfs"}}, ""),
        ({"guest": {"mount_options": "atomic=16"}}, "atomic=16"),
    ):
        guest = verdicts.machine_of(small_manifest, options)
        assert (guest.file_system, guest.mount_options) == ("tbfs", stated)
    guest = verdicts.machine_of(small_manifest, {"guest": {"file_system": "ext4-dax"}})
    assert (guest.file_system, guest.mount_options) == ("ext4-dax", "")


def test_the_options_are_those_of_the_module() -> None:
    source = (REPO / "guest-image/modules/tbfs/module/super.c").read_text()
    assert set(re.findall(r'fsparam_string\("(\w+)"', source)) == set(tbfs_options.NAMES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("data=zebra", "data=zebra is none; write data=inplace, cow or hybrid"),
        ("metadata=redo", "metadata=redo is none; write metadata=undo or log"),
        ("data=hybrid,gc_low=101", "gc_low=101 is none; write gc_low=1 to 100 or off"),
        ("data=cow,gc_low=5", "gc_low= is of logs of pages; write data=hybrid beside it"),
        ("data=hybrid,gc_high=9", "gc_high= is of merging in the background; write gc_low=1 to 100 beside it"),
        ("data=hybrid,gc_low=9,gc_high=8", "gc_high=8 is less than gc_low=9; write one that is as large or larger"),
        ("atomic=7", "atomic=7 is none; write atomic=off, 8, 16 or 64"),
        ("barrier=yes", "barrier=yes is none; write barrier=on or off"),
        ("data=hybrid,hybrid_max=4096", "hybrid_max=4096 is none; write hybrid_max=1 to 4095"),
        ("data=hybrid,gc_read=-1", "gc_read=-1 is none; write gc_read=1 to 9223372036854775807 or off"),
        ("data", "data= is none; write data=inplace, cow or hybrid"),
        ("colour=red", "'colour=red' is no option of tbfs; there are data=, metadata=, "),
        ("data=cow,data=cow", "data= stands there twice; leave one out"),
        ("data=cow,read=forward", "read= is of logs of pages; write data=hybrid beside it, or leave it out"),
        ("data={policy}", "key 'guest.mount_options' uses {policy}, which is no axis of the matrix"),
    ],
)
def test_options_that_cannot_be_are_refused(small_manifest: Path, options: str, message: str) -> None:
    with pytest.raises(TestbedError) as caught:
        machine(small_manifest, f'file_system = "tbfs"\nmount_options = "{options}"')
    assert "key 'guest.mount_options'" in str(caught.value) and message in str(caught.value)
    assert caught.value.exit_status == 2


def test_a_store_of_64_bytes_is_for_a_cpu_that_has_it(small_manifest: Path) -> None:
    options = 'file_system = "tbfs"\nmount_options = "atomic=64,wprotect=on"'
    message = r"key .guest\.direct_stores.: atomic=64 of a tbfs needs a CPU with MOVDIR64B; write it as true"
    with pytest.raises(TestbedError, match=message) as caught:
        machine(small_manifest, options)
    assert caught.value.exit_status == 2
    guest = machine(small_manifest, options + "\ndirect_stores = true")
    assert guest.direct_stores and "atomic=64" in guest.mount_options


@pytest.mark.parametrize(
    ("guest", "devices", "message"),
    [
        ('mount_options = "data=cow"', "", "key 'guest.mount_options': they are of a tbfs, and ext4-dax has none"),
        ('file_system = "tbfs"\nkernel = "k"', "", "key 'guest.kernel': the module of tbfs is for the image's kernel"),
        ("", REGIONS + 'mount_options = "data=x"\n', "key 'region.1.mount_options': data=x is none; write"),
        (
            "",
            REGIONS.replace('"tbfs"', '"xfs-dax"') + 'mount_options = "data=cow"\n',
            "key 'region.1.mount_options': they are of a tbfs; write file_system = 'tbfs' beside them",
        ),
        ("", REGIONS + 'use = "sector"\n', "key 'region.1.file_system': sector has no DAX"),
        ('file_system = "tbsf"', "", "key 'guest.file_system': "),
    ],
)
def test_what_has_no_tbfs_says_so(small_manifest: Path, guest: str, devices: str, message: str) -> None:
    with pytest.raises(TestbedError) as caught:
        machine(small_manifest, guest, devices)
    assert message in str(caught.value)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(("stated", "options"), [("tbfs", ""), (None, "data=cow"), ("ext4-dax", "")])
def test_a_crash_test_has_that_of_its_machine_or_another(
    small_manifest: Path, stated: str | None, options: str
) -> None:
    """A crash test that states its own file system ignores the machine's mount options."""
    said = {"name": "x", "summary": "x", "machine": "small", "file_system": stated, "crash": {"workload": "true"}}
    own = machine(small_manifest, 'file_system = "tbfs"\nmount_options = "data=cow"')
    guest = Plan.model_validate(said).guest(own, Path("x.toml"))
    assert (guest.file_system, guest.mount_options) == (stated or "tbfs", options)
