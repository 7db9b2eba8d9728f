# SPDX-License-Identifier: BSD-3-Clause
"""Files that come back from a guest: the script that sends them, run by bash, and the host's side."""

import base64
import json
import shlex
import subprocess
from pathlib import Path

import pytest

from conftest import MANIFEST, MockExecutor, QuietReporter
from testbed.cli.execution import bring_back
from testbed.errors import TestbedError
from testbed.guest.executor import GuestOutcome, Said, read_outcome
from testbed.guest.machine import End
from testbed.guest.session import Session
from testbed.manifest import parse, render
from testbed.program import files_back
from testbed.program.job_archive import script_job
from testbed.results import results
from testbed.run.runner import drive, run_all

KEYS = {"qemu": "q" * 64}


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "port"
    path.touch()
    monkeypatch.setattr(files_back, "RESULTS_PORT", str(path))
    return path


def given(
    port: Path, script: str, patterns: list[str], home: Path, root: str = ""
) -> tuple[int, str, dict[str, bytes]]:
    """Run the job; return its status, its errors and the files that came back."""
    home.mkdir(exist_ok=True)
    cwd = str(home).removeprefix(root)
    job = files_back.job(script_job(f"cd {shlex.quote(str(home))}\n{script}"), patterns, cwd, root)
    done = subprocess.run(["bash", "-c", job.script], cwd=home, capture_output=True, text=True)
    return done.returncode, done.stderr, read_outcome(Said(results=port.read_bytes()), End()).files


def test_what_matches_comes_back_with_its_bytes(port: Path, tmp_path: Path) -> None:
    home = tmp_path / "a folder"
    script = """
mkdir -p deep/er; printf '\\000\\001\\n' > deep/er/x.bin; seq 20000 > long.csv; : > empty.csv
echo a > 'two words.csv'; echo b > .hidden.csv; echo c > no; ln -s no link.csv; echo '$(date)' > '$(x).csv'; exit 3
"""
    status, said, files = given(port, script, ["*.csv", "**/x.bin", "*.csv", "none*"], home)
    assert (status, said) == (3, "")
    assert files == {
        "$(x).csv": b"$(date)\n", ".hidden.csv": b"b\n", "deep/er/x.bin": b"\0\1\n", "empty.csv": b"",
        "link.csv": b"c\n", "long.csv": "".join(f"{n}\n" for n in range(1, 20001)).encode(), "two words.csv": b"a\n",
    }  # fmt: skip


def test_paths_are_those_of_the_programs_own_root(port: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "pmem").mkdir(parents=True)
    script = f"echo log > {root}/pmem/1.log; echo 'it is' > \"$PWD/it's\""
    _, said, files = given(port, script, ["/pmem/*.log", "it's", "/pmem"], root / "home", str(root))
    assert (said, files) == ("", {"pmem/1.log": b"log\n", "it's": b"it is\n"})


def test_what_is_too_much_is_said_and_the_rest_comes_back(
    port: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_back, "BYTES_MAX", 1000)
    script = "head -c 900 /dev/zero > a; head -c 101 /dev/zero > b; head -c 100 /dev/zero > c"
    status, said, files = given(port, script, ["?"], tmp_path / "home")
    assert (status, {name: len(content) for name, content in files.items()}) == (0, {"a": 900, "c": 100})
    assert said == "testbed: b of 101 bytes does not come back: all files of a run have 1000 bytes at most\n"


def test_a_job_without_patterns_is_as_it_was() -> None:
    job = script_job("true")
    assert files_back.job(job, []) is job


def message(name: bytes, content: bytes = b"x") -> bytes:
    encoded = {"name": base64.b64encode(name).decode(), "base64": base64.b64encode(content).decode()}
    return json.dumps({"type": "file", **encoded}).encode() + b"\n"


@pytest.mark.parametrize("name", [b"../x", b"/x", b"a/../../x", b"", b"a//b", b"\xff", b"x\0y", b"y" * 300])
def test_a_guest_has_no_file_outside_of_the_folder(name: bytes, tmp_path: Path) -> None:
    outcome = read_outcome(Said(results=message(name) + message(b"good") + b'{"type":"file"}\n'), End())
    assert outcome.files == {"good": b"x"}
    bring_back(outcome, ["*"], tmp_path / "into")
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()] == [Path("into/good")]


def test_a_name_is_no_file_and_folder_at_once() -> None:
    said = message(b"a") + message(b"a/b") + message(b"c/d") + message(b"c")
    assert set(read_outcome(Said(results=said), End()).files) == {"a", "c/d"}


@pytest.mark.parametrize("pattern", ["", "../x", "/pmem/../x", "x/", "/", "a//b", "./x", "x\0"])
def test_a_pattern_that_names_no_file_is_refused(pattern: str, tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(f"{MANIFEST}\n[results]\nfiles = [{json.dumps(pattern)}]\n")
    with pytest.raises(TestbedError, match="is no path of files in the guest; write it as") as refused:
        parse.load(path)
    assert refused.value.exit_status == 2


@pytest.fixture
def runs(tmp_path: Path) -> list[render.Run]:
    path = tmp_path / "small.toml"
    path.write_text(f'{MANIFEST}\n[results]\nfiles = ["/pmem/*.log"]\n')
    return render.runs(path)


def played(*said: bytes, outcome: str = "ok") -> Session:
    files = read_outcome(Said(results=b"".join(said)), End()).files
    answer = GuestOutcome(outcome, int(outcome != "ok"), rows=[{"roi_ns": 1}], files=files)
    return Session(MockExecutor(lambda _: answer), KEYS)


def test_files_are_kept_beside_the_result_and_checked(runs: list[render.Run], tmp_path: Path) -> None:
    done = drive(run_all(runs, played(message(b"pmem/1.log", b"log")), tmp_path, QuietReporter()))
    for result in done:
        assert {name: path.read_bytes() for name, path in result.files.items()} == {"pmem/1.log": b"log"}
        assert results.load(result.path).files == result.files
    done[0].files["pmem/1.log"].write_bytes(b"other")
    with pytest.raises(TestbedError, match=r"has not the file .*pmem/1\.log that came back with it"):
        results.load(done[0].path)


def test_a_second_result_with_other_files_leaves_the_first_whole(runs: list[render.Run], tmp_path: Path) -> None:
    (first, *_) = drive(run_all(runs[:1], played(message(b"log", b"one")), tmp_path, QuietReporter()))
    data = results.guest_data(GuestOutcome("ok", 0, rows=[{"roi_ns": 1}]))
    with pytest.raises(TestbedError, match="one run gave two results"):
        results.store(first.path, runs[0], KEYS, data, {"log": b"two"})
    assert results.load(first.path).files["log"].read_bytes() == b"one"


def test_files_of_a_failure_are_kept_with_it(runs: list[render.Run], tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="gave no result"):
        drive(run_all(runs[:1], played(message(b"core"), outcome="failed"), tmp_path, QuietReporter()))
    assert [path.read_bytes() for path in tmp_path.glob("*/*.failed/files/core")] == [b"x"]


def test_what_comes_back_is_part_of_the_identity(runs: list[render.Run], small_manifest: Path) -> None:
    plain = render.runs(small_manifest)
    assert [run.argv for run in plain] == [run.argv for run in runs]
    assert all(run.program is None for run in plain)
    assert all(results.identity(a, KEYS) != results.identity(b, KEYS) for a, b in zip(plain, runs, strict=True))
