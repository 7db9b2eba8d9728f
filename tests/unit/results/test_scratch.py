# SPDX-License-Identifier: BSD-3-Clause
"""Temporary folders are removed at the end of their process, or by the next process if theirs was killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from testbed import scratch

# A process that makes a folder with content and keeps it until its input ends.
OWNER = """
import sys
from testbed import scratch
with scratch.folder("guest") as home:
    (home / "media.raw").write_bytes(b"x")
    (home / "dask-scratch-space").mkdir()
    (home / "dask-scratch-space" / "file").write_bytes(b"x")
    print(home, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def own_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put temporary files of this process and of its children into the test's folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def owner() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_a_folder_ends_with_its_context(tmp_path: Path) -> None:
    with scratch.folder("guest") as home:
        (home / "inside").mkdir()
        assert home.name.startswith("testbed-guest-")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next_folder_and_what_is_in_use_stays(tmp_path: Path) -> None:
    killed, left = owner()
    living, used = owner()
    killed.kill()
    killed.wait()
    assert (left / "media.raw").exists()
    with scratch.folder("dask") as mine:
        assert sorted(tmp_path.iterdir()) == sorted([used, mine])
        assert (used / "dask-scratch-space" / "file").exists()
    living.communicate()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_nobody_stays(tmp_path: Path) -> None:
    """A folder without a lock stays: it is from an earlier version of the testbed, which may run a guest in it."""
    (tmp_path / "testbed-guest-old").mkdir()
    scratch.remove_orphans()
    assert [path.name for path in tmp_path.iterdir()] == ["testbed-guest-old"]


def test_a_removal_that_was_cut_short_is_taken_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process, left = owner()
    process.kill()
    process.wait()
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda _: (_ for _ in ()).throw(OSError("cut short")))
        scratch.remove_orphans()
    assert left.exists()
    scratch.remove_orphans()
    assert list(tmp_path.iterdir()) == []


def test_a_starting_worker_removes_what_one_that_was_killed_left(tmp_path: Path) -> None:
    process, _ = owner()
    process.kill()
    process.wait()
    subprocess.run([sys.executable, "-c", "from testbed.run import worker; worker.become(['/bin/true'])"], check=True)
    assert list(tmp_path.iterdir()) == []


def test_without_locks_a_folder_is_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr("fcntl.flock", refuse)
    with scratch.folder("guest") as home:
        scratch.remove_orphans()
        assert home.exists()
    assert list(tmp_path.iterdir()) == []
