# SPDX-License-Identifier: BSD-3-Clause
"""guest.page_size: its effect on kernel and identity, errors for bad values, and warnings if points map other pages."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import MANIFEST
from testbed.build import components
from testbed.cli import tables
from testbed.cli.machine_options import MachineOptions
from testbed.errors import TestbedError
from testbed.guest.qemu_line import Layout, run_arguments
from testbed.manifest import render
from testbed.manifest.guest_config import GuestConfig
from testbed.replay import verdicts
from testbed.results import mapped_files, results
from testbed.results.mapped_files import Mapped
from testbed.results.results import Result


@pytest.fixture(autouse=True)
def without_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "own_archive_key", lambda name: f"of the component {name}")


def machine(path: Path, guest: str) -> GuestConfig:
    path.write_text(f"{MANIFEST}[guest]\n{guest}\n")
    return verdicts.machine_of(path)


def test_a_page_size_reaches_the_kernel_and_the_identity_and_none_leaves_both_alone(small_manifest: Path) -> None:
    plain, small = machine(small_manifest, ""), machine(small_manifest, 'page_size = "4KiB"')
    assert "testbed.pages=4KiB" in run_arguments(small, Layout())
    assert not any("testbed.pages" in argument for argument in run_arguments(plain, Layout()))
    assert results.machine_identity(small, {})["page_size"] == "4KiB"
    assert "page_size" not in results.machine_identity(plain, {})


def test_points_of_a_study_differ_by_page_size(small_manifest: Path) -> None:
    text = MANIFEST.replace("[matrix]", '[matrix]\npages = ["4KiB", "2MiB"]')
    small_manifest.write_text(text.replace("[cpu]", '[guest]\npage_size = "{pages}"\n[cpu]'))
    found = {str(run.point["pages"]): run.guest.page_size for run in render.runs(small_manifest)}
    assert found == {"4KiB": "4KiB", "2MiB": "2MiB"}


def test_a_command_sets_it_as_any_key_of_the_guest(small_manifest: Path) -> None:
    small_manifest.write_text(MANIFEST)
    own = MachineOptions(setting=["guest.page-size=2MiB"]).changes()
    assert verdicts.machine_of(small_manifest, own).page_size == "2MiB"


@pytest.mark.parametrize(
    ("guest", "sentence"),
    [
        ('page_size = "1GiB"', '"1GiB" is no page size of a mapped file; write "4KiB" or "2MiB", or leave it out'),
        ('page_size = "4kib"', '"4kib" is no page size of a mapped file; write "4KiB" or "2MiB", or leave it out'),
        (
            'page_size = "2MiB"\nfile_system = "ext4-ordered"',
            "no file of ext4-ordered is mapped without the page cache; use a file system with DAX",
        ),
        ('page_size = "2MiB"\nfile_system = "tbfs"', "tbfs cannot be made to map all files by pages of 2 MiB"),
    ],
)
def test_a_page_size_that_cannot_be_is_refused_in_a_sentence(small_manifest: Path, guest: str, sentence: str) -> None:
    with pytest.raises(TestbedError) as error:
        machine(small_manifest, guest)
    assert f"{small_manifest}: key 'guest.page_size': " in str(error.value) and sentence in str(error.value)


def test_tbfs_can_have_small_pages(small_manifest: Path) -> None:
    assert machine(small_manifest, 'page_size = "4KiB"\nfile_system = "tbfs"').page_size == "4KiB"


# ---- Warnings from results ----

SMALL = Mapped("device=nand", "", faults_4k=2833, faults_2m=0, kernel_flushes=116_544, sync_calls=565)
LARGE = Mapped("device=dram", "", faults_4k=278, faults_2m=525, kernel_flushes=17_220_992, sync_calls=565)


def test_points_that_are_mapped_alike_need_no_warning() -> None:
    other = Mapped("device=cxl", "", faults_4k=300, faults_2m=500, kernel_flushes=16_403_200, sync_calls=565)
    untouched = Mapped("device=none", "", 0, 0, 0, 0)
    assert not list(mapped_files.warnings([LARGE, other, untouched]))
    assert not list(mapped_files.warnings([SMALL, SMALL, untouched]))
    assert not list(mapped_files.warnings([]))


def test_points_that_differ_in_their_pages_are_warned_of_by_name_with_the_key() -> None:
    pages, lines = mapped_files.warnings([LARGE, SMALL])
    assert pages == (
        "files are mapped by pages of 2 MiB at device=dram, and by pages of 4 KiB alone at device=nand; "
        'guest.page_size = "4KiB" or "2MiB" gives all points the same'
    )
    assert lines == (
        "a call of msync() or fsync() flushes 30,480 lines at device=dram, and 206 at device=nand; "
        "see docs/reference/manifest.md on page sizes"
    )


def test_lines_are_warned_of_where_all_pages_were_mapped_before_the_region() -> None:
    before = [Mapped(name, "", 0, 0, lines * 10, 10) for name, lines in (("a", 64), ("b", 511), ("c", 512))]
    assert not list(mapped_files.warnings(before[:2]))
    assert len(list(mapped_files.warnings(before))) == 1


def test_large_pages_in_spite_of_the_key_are_warned_of() -> None:
    asked = Mapped("device=dram", "4KiB", 278, 525, 64, 1)
    assert list(mapped_files.warnings([asked])) == [
        "device=dram asks for pages of 4 KiB, and 525 page faults were served by pages of 2 MiB: "
        "blocks lay so by chance"
    ]


def result(name: str, mappings: dict[str, int] | None) -> Result:
    roi: dict[str, Any] = {"begin-ps": 0, "end-ps": 10, "counters": {"loads": 1}}
    roi |= {"mappings": mappings} if mappings else {}
    return Result(Path(name), {"point": {"device": name}, "rois": [roi, roi], "identity": {"machine": {"cpu": {}}}})


def counted(by_4k: int, by_2m: int, lines: int, calls: int) -> dict[str, int]:
    return {"page-faults-4k": by_4k, "page-faults-2m": by_2m, "kernel-flushes": lines, "sync-calls": calls}


def test_run_shows_how_points_mapped_files_if_they_differ(capsys: pytest.CaptureFixture[str]) -> None:
    large, small = result("dram", counted(0, 3, 98304, 3)), result("nand", counted(3, 0, 192, 3))
    tables.show_mapped_files([large, large])
    assert capsys.readouterr().out == ""
    tables.show_mapped_files([large, small])
    said = capsys.readouterr().out
    assert "how files were mapped" in said and "32,768" in said and said.count("WARNING: ") == 2


def test_results_without_counts_are_not_passed_over_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show_mapped_files([result("dram", None), result("nand", counted(0, 0, 0, 0))])
    assert "WARNING: 1 results are of a build that did not count page faults" in capsys.readouterr().out


def test_counters_of_a_region_have_the_lines_of_a_call() -> None:
    found = result("dram", counted(0, 3, 98305, 3)).counters
    assert found["kernel-flushes-per-sync-call"] == 32768 and found["page-faults-2m"] == 3
    without = json.loads(json.dumps(result("dram", counted(1, 0, 5, 0)).counters))
    assert "kernel-flushes-per-sync-call" not in without
