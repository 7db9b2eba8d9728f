# SPDX-License-Identifier: BSD-3-Clause
"""The crash tests that ship: each is found by its name or its path, and listed under its subject."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from testbed.crash import shipped
from testbed.errors import TestbedError
from testbed.paths import CRASH_TESTS, REPO


def crash(*words: str, folder: Path = REPO) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "testbed", "crash", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def test_a_name_belongs_to_one_test() -> None:
    assert [name for name, times in Counter(path.stem for path in shipped.shipped()).items() if times > 1] == []
    assert sorted(CRASH_TESTS.rglob("*.toml")) == sorted(shipped.shipped()), "a test lies in the folder of its subject"


def test_a_test_is_found_by_its_name_and_by_its_path(tmp_path: Path) -> None:
    assert shipped.find("records") == CRASH_TESTS / "examples/records.toml"
    own = tmp_path / "own"
    own.write_text("")
    for path in ("my/ring.toml", "records.toml", str(own)):
        assert shipped.find(path) == Path(path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("recrods", "the nearest names are records, "),
        ("no-such-test", "give a name that ships, or the path of a .toml file"),
        ("", "give a name that ships, or the path of a .toml file"),
        ("examples", "give a name that ships, or the path of a .toml file"),
    ],
)
def test_an_unknown_name_gets_one_sentence(name: str, hint: str) -> None:
    with pytest.raises(TestbedError, match="no crash test") as caught:
        shipped.find(name)
    assert hint in str(caught.value) and "`testbed crash --list`" in str(caught.value)
    assert (caught.value.exit_status, str(caught.value).count("\n")) == (2, 0)


def test_a_folder_of_a_tests_name_does_not_hide_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "records").mkdir()
    monkeypatch.chdir(tmp_path)
    assert shipped.find("records") == CRASH_TESTS / "examples/records.toml"


def test_the_list_has_each_name_with_its_summary_under_its_subject(tmp_path: Path) -> None:
    done = crash("--list", "--json", str(tmp_path / "list.json"), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    listed = json.loads((tmp_path / "list.json").read_text())
    assert {subject: sorted(tests) for subject, tests in listed.items()} == {
        folder.name: names
        for folder in CRASH_TESTS.iterdir()
        if (names := sorted(path.stem for path in folder.glob("*.toml")))
    }
    lines = done.stdout.splitlines()
    assert lines.index("examples:") < next(n for n, line in enumerate(lines) if line.split()[0] == "records")
    for tests in listed.values():
        for name, summary in tests.items():
            assert [line.split(None, 1)[1] for line in lines if line.split()[0] == name] == [summary]


@pytest.mark.parametrize("words", [(), ("recrods",), ("gone.toml",)])
def test_bad_input_ends_with_one_line_and_status_2(words: tuple[str, ...]) -> None:
    done = crash(*words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
