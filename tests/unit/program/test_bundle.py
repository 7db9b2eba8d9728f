# SPDX-License-Identifier: BSD-3-Clause
"""A manifest's [program]: the files that go into the guest, their part in a run's identity, and rejected input."""

import pickle
import subprocess
from pathlib import Path

import pytest

from conftest import MANIFEST
from testbed.errors import TestbedError
from testbed.manifest import render
from testbed.program import packages
from testbed.results import results

PROGRAM = """
[program]
host = ["./main"]
files = ["data", "in.txt"]
setup = "echo {engine} > /pmem/engine"
finish = "cat /pmem/engine"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A manifest with a program and files beside it."""
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-o", "main", "main.c"], cwd=tmp_path, check=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("a")
    (tmp_path / "in.txt").write_text("in")
    (tmp_path / "deep" / "a").mkdir(parents=True)
    (tmp_path / "deep" / "a" / "b").write_text("b")
    path = tmp_path / "study.toml"
    path.write_text(MANIFEST.replace('"kv --engine', '"./main --engine') + PROGRAM)
    return path


def test_the_folder_above_goes_along_by_its_name(study: Path) -> None:
    study.write_text(study.read_text().replace('"in.txt"]', '"deep/a/..", "in.txt"]'))
    assert render.runs(study)[0].job.files["deep/a/b"] == b"b"


def digest(path: Path) -> str:
    return results.path_for(Path(), render.runs(path)[0], {}).name


def test_a_program_takes_its_libraries_and_files_by_content(study: Path) -> None:
    run = pickle.loads(pickle.dumps(render.runs(study)[0]))
    names = {*run.job.files, *run.job.executables}
    assert {"main", "data/a", "in.txt"} <= names
    assert any("libc.so.6" in name for name in names)
    assert run.job.files["in.txt"] == b"in"
    assert not any(str(study.parent) in name for name in names), "a path of this host would be in the result's identity"


def test_the_region_of_interest_is_the_command_between_setup_and_finish(study: Path) -> None:
    lines = render.runs(study)[1].job.script.splitlines()
    command = "roi-run unshare --root=/job/root --wd=/job -- /job/main --engine pmdk --records 100"
    order = ["echo pmdk > /pmem/engine", f"{command} || status=$?", "cat /pmem/engine", "exit $status"]
    assert [line for line in lines if line in order] == order
    study.write_text(study.read_text() + 'roi = "own"\n')
    assert "roi-run" not in render.runs(study)[1].job.script


@pytest.mark.parametrize(
    ("name", "content"), [("in.txt", "other"), ("data/a", "b"), ("main.c", "int main(void) { return 1; }\n")]
)
def test_the_content_of_what_goes_along_is_in_the_identity(study: Path, name: str, content: str) -> None:
    before = digest(study)
    assert digest(study) == before
    (study.parent / name).write_text(content)
    subprocess.run(["cc", "-o", "main", "main.c"], cwd=study.parent, check=True)
    assert digest(study) != before


def test_setup_is_in_the_identity_and_the_plot_is_not(study: Path) -> None:
    before, text = digest(study), study.read_text()
    study.write_text(text + '[plot]\nx = "engine"\ny = ["time"]\n[results]\npattern = "(?P<n>[0-9]+)"\n')
    assert digest(study) == before
    study.write_text(text.replace("cat /pmem/engine", "true"))
    assert digest(study) != before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"./main"', '"./mean"', r"key 'program\.host': program '\./mean' does not exist"),
        ('"./main"', '"no-such-program"', r"key 'program\.host': program 'no-such-program' is not on the PATH"),
        ('"in.txt"]', '"out.txt"]', r"key 'program\.files': out\.txt does not exist; paths are relative to the manif"),
        ('"in.txt"]', '"/"]', r"key 'program\.files': / is neither a file nor a folder with a name"),
        ('"in.txt"]', '"/dev/null"]', r"key 'program\.files': /dev/null is neither a file nor a folder with a name"),
        ('"in.txt"]', f'"{"x" * 300}"]', r"key 'program\.files': x+ does not exist"),
        (
            '"in.txt"]',
            '"data/a", "deep/a"]',
            r"key 'program\.files': the name 'a' is taken by a file and by the folder",
        ),
        ('"in.txt"]', '"main"]', r"key 'program\.files': the name 'main' is taken in the guest; rename main"),
        ("{engine} >", "{machine} >", r"key 'program\.setup' uses \{machine\}, which is neither"),
        ("[program]", '[program]\npackages = ["Redis"]', r"key 'program\.packages\.0': String should match pattern"),
        ("[program]", '[program]\nroi = "all"', r"key 'program\.roi': Input should be 'command' or 'own'"),
        ("[program]", '[results]\npattern = "[0-9"\n[program]', r"key 'results\.pattern': is no regular expression"),
        (
            "[program]",
            '[results]\npattern = "[0-9]"\n[program]',
            r"key 'results\.pattern': names no cell; write one as",
        ),
        ("[program]", '[plot]\nx = "engine"\ny = []\n[program]', r"key 'plot\.y': List should have at least 1 item"),
    ],
)
def test_what_cannot_go_along_names_file_key_and_fix(study: Path, old: str, new: str, message: str) -> None:
    assert old in study.read_text()
    study.write_text(study.read_text().replace(old, new, 1))
    with pytest.raises(TestbedError, match=message) as caught:
        render.runs(study)
    assert caught.value.exit_status == 2
    assert str(study) in str(caught.value)


def test_packages_are_versions_in_the_identity(study: Path) -> None:
    study.write_text(study.read_text() + 'packages = ["sqlite3"]\n')
    run = render.runs(study)[0]
    names = [package.partition("=")[0] for package in run.job.packages]
    assert {"sqlite3", "libsqlite3-0", "libc6"} <= set(names)
    assert results.identity(run, {})["program"]["packages"]["versions"] == list(run.job.packages)


def test_an_unknown_package_is_one_sentence(study: Path) -> None:
    study.write_text(study.read_text() + 'packages = ["no-such-package-here"]\n')
    with pytest.raises(
        TestbedError, match=r"'program\.packages': Debian 13 .*Unable to locate package no-such"
    ) as caught:
        render.runs(study)
    assert caught.value.exit_status == 2
    assert "\n" not in str(caught.value)


def test_a_package_archive_holds_what_the_package_says() -> None:
    """Files are unpacked where current Debian has them, whatever path the package states; documentation is left out."""
    archive = packages.archive(packages.resolve(("sqlite3",)))
    listed = subprocess.run(["cpio", "--quiet", "-t"], stdin=archive.open("rb"), capture_output=True, text=True).stdout
    names = listed.splitlines()
    assert "usr/bin/sqlite3" in names
    assert not [name for name in names if name.startswith(("lib/", "bin/", "usr/share/doc/", "usr/share/man/"))]
    assert archive.stat().st_size % 512 == 0
