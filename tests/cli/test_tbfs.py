# SPDX-License-Identifier: BSD-3-Clause
"""The command-line tool of tbfs, the file system for comparing designs, from the user's view."""

import subprocess
from pathlib import Path

import pytest

from rigs.guest.tbfs_rig import write_xfstests
from testbed.paths import REPO

TBFS = REPO / "build/native/tbfs/tbfs"  # built by tests/native.sh


def tbfs(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TBFS, *arguments], capture_output=True, text=True)


def new_image(folder: Path, size_bytes: int = 2**21) -> Path:
    path = folder / "image"
    path.write_bytes(bytes(size_bytes))
    return path


def test_a_new_file_system_has_no_fault_and_only_its_root(tmp_path: Path) -> None:
    image = new_image(tmp_path)
    made = tbfs("make", image, "64")
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    before = image.read_bytes()
    checked, dumped = tbfs("check", image), tbfs("dump", image)
    assert (checked.returncode, checked.stdout) == (0, "")
    assert dumped.returncode == 0 and dumped.stdout.endswith(" inodes 63 free 62\n")
    assert image.read_bytes() == before


def test_a_fault_is_told_with_its_inode(tmp_path: Path) -> None:
    image = new_image(tmp_path)
    tbfs("make", image, "64")
    content = bytearray(image.read_bytes())
    inodes = int.from_bytes(content[40:48], "little")
    content[inodes + 128 + 38] += 1  # link count of the root
    image.write_bytes(content)
    checked = tbfs("check", image)
    assert checked.returncode == 1
    assert checked.stdout == "inode 1: an inode has another number of links than names: 3\n"


@pytest.mark.parametrize(
    ("inodes", "said"),
    [
        ("many", "'many' is no number of inodes"),
        ("-1", "'-1' is no number of inodes"),
        ("0", "'0' is no number of inodes"),
        ("99999999999999999999999", "is no number of inodes"),
        ("1000000", "has no room for a tbfs of so many inodes"),
    ],
)
def test_a_bad_number_of_inodes_is_refused_and_nothing_is_written(tmp_path: Path, inodes: str, said: str) -> None:
    image = new_image(tmp_path)
    done = tbfs("make", image, inodes)
    assert (done.returncode, said in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
    assert not any(image.read_bytes())


@pytest.mark.parametrize("verb", ["check", "dump"])
def test_what_is_no_file_system_is_refused(tmp_path: Path, verb: str) -> None:
    for path, said in (
        (new_image(tmp_path), "holds no tbfs"),
        (tmp_path / "none", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ):
        done = tbfs(verb, path)
        assert (done.returncode, said in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr


XFSTESTS = REPO / "guest-image/modules/tbfs/xfstests.sh"


def xfstests(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    image = new_image(folder)
    places = {"TEST_DIR": folder / "test", "SCRATCH_MNT": folder / "scratch", "TEST_DEV": image}
    other = folder / "other"
    other.write_bytes(bytes(2**21))
    environment = {name: str(place) for name, place in {**places, "SCRATCH_DEV": other}.items()}
    environment["PATH"] = f"{TBFS.parent}:/usr/sbin:/usr/bin:/sbin:/bin"
    return subprocess.run([XFSTESTS, *arguments], capture_output=True, text=True, env=environment)


def test_a_user_s_xfstests_find_what_they_ask_for(tmp_path: Path) -> None:
    write_xfstests(tmp_path)
    done = xfstests(tmp_path, str(tmp_path), "-g", "quick")
    assert done.stdout == f"tbfs {tmp_path}/test -g quick\nsound\nstatus 4\n", done.stderr
    assert (tmp_path / "scratch").is_dir()


def test_what_is_no_xfstests_is_refused(tmp_path: Path) -> None:
    done = xfstests(tmp_path, str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "give the folder of an xfstests that is built" in done.stderr
