# SPDX-License-Identifier: BSD-3-Clause
"""Workloads and their archives: the guests that get them, the content of a workload.toml, and the inputs of a key."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.build import components, workloads
from testbed.errors import TestbedError
from testbed.guest import own_archives
from testbed.guest.boots import kind
from testbed.guest.executor import GuestSpec
from testbed.manifest import render
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.program.guest_script import guest_script_job
from testbed.program.job_archive import Job, script_job

GOOD = 'about = "x"\nprograms = ["one"]\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("exec kv --engine snapshot --file /pmem/list", ("kv",)),
        ("kv-$engine --verify && btree", ("btree", "kv")),
        ("kyoto-server --engine wal", ("kyoto-server",)),
        ("kyoto-wal", ("kyoto",)),
        ("pages-fams --verify", ("pages-fams",)),
        ("memcached -m 64", ()),
        ("/job/kv; cat /pmem/kv; ./kv", ()),
        ("/usr/local/libexec/testbed-bugs/kv-snapshot-bug", ("kv",)),
        ("bash -c 'exec shared-kv-cpnvm'", ("shared-kv",)),
        ("store=list;(tenants)", ("list", "tenants")),
        ("mylist kvs", ()),
    ],
)
def test_a_script_names_the_workloads_whose_programs_it_runs(text: str, named: tuple[str, ...]) -> None:
    assert workloads.named_in(text) == named


def guest(small_manifest: Path, asks: str) -> GuestConfig:
    small_manifest.write_text(small_manifest.read_text().replace("[cpu]", f"[guest]\n{asks}\n[cpu]"))
    return render.runs(small_manifest)[0].guest


def test_a_guest_has_what_its_job_and_its_manifest_name(small_manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "own_archive", lambda name: Path(f"/{name}.cpio"))
    plain, kv = render.runs(small_manifest)[0].guest, script_job("kv --verify")
    asking = guest(small_manifest, 'workloads = ["mtree", "filework"]')
    assert own_archives.of(plain, None) == own_archives.of(plain, script_job("sleep 1")) == ()
    assert own_archives.of(plain, kv) == (Path("/kv.cpio"),)
    assert own_archives.of(asking, kv) == (Path("/filework.cpio"), Path("/kv.cpio"), Path("/mtree.cpio"))
    assert own_archives.of(plain, Job("", workloads=("list",))) == (Path("/list.cpio"),)


def test_a_shell_script_beside_the_job_names_workloads_too(tmp_path: Path) -> None:
    for script in (b"#!/bin/bash\nkv --verify\n", b"#!/usr/bin/env sh\nkv --verify\n"):
        job = Job("list", {"check": script, "data": b"btree"}, {"more": b"#!/usr/bin/python3\nbtree"})
        assert job.all_workloads == job.with_script("list --seed 2").all_workloads == ("kv", "list")
    sent = tmp_path / "sent.sh"
    sent.write_text("mtree-cpnvm --file /pmem/kv\n")
    job = guest_script_job(sent, [], [], (), tmp_path, marked=False)
    assert job.all_workloads == ("mtree",)


def test_a_program_belongs_to_its_own_workload_if_its_name_begins_with_the_program_of_another() -> None:
    assert workloads.named_in("pages-fams --pages 1; pages-fams-uffd --pages 1") == ("pages", "pages-fams")
    assert workloads.named_in("pages-fams-exchange --pages 1") == ("pages",)


def test_runs_with_other_workloads_do_not_share_a_boot(guest: GuestConfig) -> None:
    one, same, other = (GuestSpec(guest, script_job(f"{program} --seed 1")) for program in ("kv", "kv-pmdk", "list"))
    assert kind(one) == kind(same) != kind(other)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with one workload that replaces experiments/workloads."""
    monkeypatch.setattr(workloads, "FOLDER", tmp_path)
    for cached in (workloads.known, workloads._owners, workloads.named_in):
        cached.cache_clear()
    (tmp_path / "one").mkdir()
    (tmp_path / "one/workload.toml").write_text(GOOD)
    yield tmp_path
    for cached in (workloads.known, workloads._owners, workloads.named_in):
        cached.cache_clear()


def test_a_workload_is_known_by_its_folder(folder: Path) -> None:
    assert workloads.named_in("one --seed 1") == ("one",)
    assert workloads.named_in("two --seed 1") == ()
    (folder / "two").mkdir()
    (folder / "two/workload.toml").write_text('about = "y"\nprograms = ["two", "one-and-more"]\n')
    for cached in (workloads.known, workloads._owners, workloads.named_in):
        cached.cache_clear()
    assert workloads.named_in("one-and-more") == workloads.named_in("two --seed 1") == ("two",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"two has no workload\.toml, which says how its programs are built; write one"),
        (
            'about = "y"\nprograms = ["one"]\n',
            r"two/workload\.toml: key 'programs': .*one/workload\.toml has 'one'",
        ),
        ('about = "y"\nprograms = []\n', r"two/workload\.toml: key 'programs'"),
        ('about = "y"\nprograms = ["../x"]\n', r"two/workload\.toml: key 'programs\.0'"),
        ('programs = ["two"]\n', r"two/workload\.toml: .*'about'"),
        (
            'about = "y"\nprograms = ["two"]\nsource = ["x"]\n',
            r"two/workload\.toml: unknown key .source.",
        ),
        ('about = "y"\nprograms = ["two"]\nsources = ["../../etc"]\n', r"two/workload\.toml: key 'sources\.0'"),
        ('about = "y"\nprograms = ["two"]\nupstream = "/bin/sh"\n', r"two/workload\.toml: key 'upstream'"),
        ("about = ", r"two/workload\.toml is not valid TOML"),
    ],
)
def test_a_wrong_workload_is_one_sentence(folder: Path, text: str | None, message: str) -> None:
    (folder / "two").mkdir()
    if text is not None:
        (folder / "two/workload.toml").write_text(text)
    with pytest.raises(TestbedError, match=message) as caught:
        workloads.known()
    assert (caught.value.exit_status, "\n" in str(caught.value)) == (2, False)


def test_what_a_workload_is_built_from_is_there_and_no_test_is_in_it() -> None:
    for name in workloads.known():
        inputs = workloads.inputs(name)
        assert inputs and all((REPO / path).exists() for path in inputs), name
        others = [path for path in inputs if path not in workloads.SEEDED]
        assert not [path for path in others if "tests" in Path(path).parts or path.endswith("workload.toml")]


def test_a_workload_is_a_component_and_what_its_file_says_is_in_its_key() -> None:
    neo4j = components.component("neo4j")
    assert neo4j.needs == ("buildroot",) and components.component("pages-fams").needs == ("buildroot", "module-root")
    before = components.hash_inputs(neo4j)
    jars = dict(neo4j.environment)["JARS"]
    other = components.Component(**vars(neo4j) | {"environment": (("JARS", jars.replace("1.9.9", "1.9.8")),)})
    assert components.hash_inputs(other) != before
    with pytest.raises(TestbedError, match=r"no component 'none'; there are: qemu, .*, kv, "):
        components.component("none")


def test_a_folder_of_several_workloads_is_no_workload_and_is_an_input_of_those_that_use_it() -> None:
    assert not set(workloads.SHARED) & workloads.known().keys()
    kv, stl_map = workloads.inputs("kv"), workloads.inputs("stl-map")
    assert "experiments/workloads/common" in kv
    assert "experiments/workloads/kv/kv_store.hpp" in workloads.inputs("memcached")
    kyoto = {"experiments/workloads/kyoto/kyoto_store.hpp", "experiments/workloads/upstream/store_program.cpp"}
    assert kyoto <= set(stl_map)
    assert not kyoto & set(kv)
