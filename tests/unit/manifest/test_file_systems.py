# SPDX-License-Identifier: BSD-3-Clause
"""The table of file systems: the options that a guest gets for each, the identity of a run, and mistakes."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.build.components import COMPONENTS
from testbed.errors import TestbedError
from testbed.file_systems import table
from testbed.file_systems.table import ROWS, FileSystem
from testbed.guest import regions
from testbed.guest.executor import GuestSpec, prepare_files
from testbed.guest.qemu_line import Images, Layout, run_arguments
from testbed.manifest import parse, render
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.program.job_archive import script_job
from testbed.results import results


def exchanging(guest: GuestConfig) -> GuestConfig:
    return replace(guest, file_system="xfs-exchange")


@pytest.mark.parametrize("row", [row for row in ROWS if not row.component], ids=lambda row: row.name)
def test_a_guest_is_told_how_to_make_and_mount_what_its_image_has(
    guest: GuestConfig, images: Images, tmp_path: Path, row: FileSystem
) -> None:
    guest = replace(guest, file_system=row.name)
    assert prepare_files(images, GuestSpec(guest, None), tmp_path).initrd.read_bytes() == b""
    mkfs = [f"testbed.mkfs={row.mkfs}"] if row.mkfs else []
    assert run_arguments(guest, Layout()) == [f"testbed.fs={row.name}", *mkfs, f"testbed.mount={row.mount}"]
    assert "own_archives" not in results.machine_identity(guest, {})


def test_no_option_has_a_space_which_would_end_it_on_the_kernels_command_line() -> None:
    assert [row.name for row in ROWS if re.search(r"\s", row.mount + row.mkfs)] == []


def test_how_it_is_made_is_in_the_identity(guest: GuestConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    before = results.machine_identity(exchanging(guest), {})
    assert before["file_system"] == "xfs-exchange"
    assert before["file_systems"] == ["xfs-exchange made with 'exchange=1', mounted with 'dax=always'"]
    others = {**table.table(), "xfs-exchange": FileSystem("xfs-exchange", "dax=always", mkfs="another")}
    monkeypatch.setattr(table, "table", lambda: others)
    monkeypatch.setattr("testbed.manifest.topology.table", lambda: others)
    after = results.machine_identity(exchanging(guest), {})
    assert {key for key in before if before[key] != after[key]} == {"file_systems"}


def test_a_region_may_have_it(small_manifest: Path) -> None:
    with small_manifest.open("a") as file:
        file.write('[[region]]\ndevices = [0]\nfile_system = "xfs-exchange"\n')
    guest = render.runs(small_manifest)[0].guest
    script = regions.before(script_job("true"), guest).executables[regions.NAME].decode()
    assert "    use_region 0 pmem fsdax /pmem xfs-exchange exchange=1 dax=always || return\n" in script


# ---- Mistakes ----


@pytest.mark.parametrize("key", ["guest.file_system", "guest.file_system_of.pmdk", "region.0.file_system"])
def test_a_name_that_no_row_has_is_refused_with_those_that_there_are(small_manifest: Path, key: str) -> None:
    line = f'file_system{"_of.pmdk" if "_of" in key else ""} = "ext5-dax"\n'
    head = "[[region]]\ndevices = [0]\n" if "region" in key else "[guest]\n"
    small_manifest.write_text(small_manifest.read_text() + head + line)
    with pytest.raises(TestbedError) as caught:
        parse.load(small_manifest)
    names = "ext4-dax, ext4-journal, ext4-ordered, ext4-smalljournal, xfs-dax, xfs-exchange or tbfs"
    assert str(caught.value) == f"{small_manifest}: key '{key}': 'ext5-dax' is no file system; write {names}"
    assert caught.value.exit_status == 2


def test_two_of_one_name_are_one_sentence(small_manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "ROWS", (*ROWS, FileSystem("xfs-dax", "dax=never")))
    small_manifest.write_text(small_manifest.read_text() + '[guest]\nfile_system = "ext4-dax"\n')
    table.table.cache_clear()
    try:
        with pytest.raises(TestbedError) as caught:
            parse.load(small_manifest)
    finally:
        table.table.cache_clear()
    sentence = "two file systems have the name 'xfs-dax'; rename one in testbed.file_systems.table"
    assert (str(caught.value), caught.value.exit_status) == (sentence, 2)


# ---- Other users of the names ----


def test_each_component_that_brings_one_exists() -> None:
    assert {row.component for row in ROWS if row.component} <= set(COMPONENTS)


def test_the_page_has_a_line_for_each_row_with_its_options() -> None:
    text = (REPO / "docs/reference/guest.md").read_text()
    page = text.partition("\n### File systems\n")[2].partition("\nThese are ")[0]
    lines = [
        tuple(cell.strip(" `") for cell in line.split("|")[1:4]) for line in page.splitlines() if line[:3] == "| `"
    ]
    assert lines == [(row.name, row.mkfs or "-", row.mount) for row in ROWS]
