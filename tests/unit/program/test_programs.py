# SPDX-License-Identifier: BSD-3-Clause
"""Packing a program of the host: the files that go along, and the input that is rejected."""

import contextlib
import errno
import os
import random
import socket
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from testbed.errors import TestbedError
from testbed.guest.cpio import CpioWriter
from testbed.paths import why_not_there
from testbed.program import host_program
from testbed.program.job_archive import Job


def test_a_dynamic_program_takes_its_loader_and_libraries(tmp_path: Path) -> None:
    job = host_program.program_job(["/bin/ls", "-l"], [], tmp_path)
    names = {*job.files, *job.executables}
    assert "root/bin/ls" in names
    assert any("ld-linux" in name for name in names)
    assert any("libc.so.6" in name for name in names)
    assert "-- /bin/ls -l" in job.script


def test_a_static_program_takes_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 7; }\n")
    subprocess.run(["cc", "-static", "-o", "main", "main.c"], cwd=tmp_path, check=True)
    job = host_program.program_job(["./main"], [], tmp_path)
    assert [*job.files, *job.executables] == [f"root{tmp_path}/main"]


def test_argument_files_and_extra_files_go_along(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("in")
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "a").write_text("a")
    job = host_program.program_job(["cat", "in.txt", "/proc/version"], [Path("extra")], tmp_path)
    assert job.files[f"root{tmp_path}/in.txt"] == b"in"
    assert job.files[f"root{tmp_path}/extra/a"] == b"a"
    assert not any("proc/version" in name for name in job.files)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["no-such-program"], "program 'no-such-program' is not on the PATH; give the path"),
        (["./missing"], "program './missing' does not exist"),
        (["./text"], "program './text' is not an executable file"),
        (["./script"], "not an x86-64 ELF program"),
        (["./folder"], "is not an executable file"),
    ],
)
def test_what_cannot_run_is_refused(tmp_path: Path, argv: list[str], message: str) -> None:
    (tmp_path / "text").write_text("text")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "folder").mkdir()
    with pytest.raises(TestbedError, match=message) as caught:
        host_program.program_job(argv, [], tmp_path)
    assert caught.value.exit_status == 2


def test_a_script_is_told_from_the_program_that_it_starts(tmp_path: Path) -> None:
    """Shims such as pyenv's: `exec -- python3` used to fail with an ELF error."""
    (tmp_path / "python3").write_text('#!/usr/bin/env bash\nexec /opt/python/bin/python3 "$@"\n')
    (tmp_path / "python3").chmod(0o755)
    with pytest.raises(TestbedError, match=r"is a script of '/usr/bin/env bash' and not .*only starts a program, that"):
        host_program.program_job(["./python3"], [], tmp_path)


def test_a_folder_goes_along_through_its_links(tmp_path: Path) -> None:
    """Links to folders used to be dropped."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a").write_text("a")
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "link").symlink_to("../far")
    job = host_program.program_job(["/bin/ls"], [Path("near")], tmp_path)
    assert job.files[f"root{tmp_path}/near/link/a"] == b"a"


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("fifo", r"/d/x along: it is neither a file nor a folder; remove it, or name the files"),
        ("socket", r"/d/x along: it is neither a file nor a folder"),
        ("dangling", r"/d/x along: no such file or folder at the end of the link"),
        ("circle", r"/d/x along: Too many levels of symbolic links at the end of the link"),
        ("above", r"/d/x along: it is a link to a folder that it is in"),
    ],
)
def test_what_of_a_folder_cannot_go_along_is_said(tmp_path: Path, what: str, message: str) -> None:
    """The packer used to drop these entries."""
    path = tmp_path / "d" / "x"
    path.parent.mkdir()
    (tmp_path / "d" / "file").write_text("in")
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(path.parent):
        if what == "fifo":
            os.mkfifo(path)
        elif what == "socket":
            listener.bind(path.name)
        else:
            path.symlink_to({"dangling": "nothing", "circle": "x", "above": "."}[what])
        with pytest.raises(TestbedError, match=message) as caught:
            host_program.program_job(["/bin/ls"], [Path("d")], tmp_path)
    assert caught.value.exit_status == 2


def test_a_file_that_cannot_be_reached_is_not_one_that_does_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(TestbedError, match="--file circle: Too many levels of symbolic links"):
        host_program.program_job(["/bin/ls"], [Path("circle")], tmp_path)
    denied = Mock(side_effect=PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    monkeypatch.setattr(Path, "stat", denied)  # the tests may run as root, which may access every file
    assert why_not_there(tmp_path) == "Permission denied"


def test_a_missing_extra_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="--file nothing: no such file or folder"):
        host_program.program_job(["/bin/ls"], [Path("nothing")], tmp_path)


# ---- Names ----


def unpacked(job: Job, folder: Path) -> Path:
    """Unpack the job as the guest would: tar must accept every name."""
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", folder, "-f", "-"], input=job.archive(), check=True)
    return folder / "job"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A working folder, a second folder beside it, and a link from the first into a third."""
    for name in ("here/sub", "there", "far/away"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("data.txt", "here/data.txt", "there/data.txt", "far/data.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "here" / "link").symlink_to("../far/away")
    return tmp_path / "here"


NAMES = [
    ("../data.txt", "data.txt"),
    ("./../there/../data.txt", "data.txt"),
    ("sub/../data.txt", "here/data.txt"),
    ("../there/data.txt", "there/data.txt"),
    ("link/../data.txt", "far/data.txt"),  # '..' is relative to the link's target, not to the link
]


@pytest.mark.parametrize(("name", "what"), NAMES)
@pytest.mark.parametrize("as_extra", [False, True])
def test_a_path_through_dots_leads_to_the_same_file(home: Path, name: str, what: str, as_extra: bool) -> None:
    job = host_program.program_job(["cat", *([] if as_extra else [name])], [Path(name)] if as_extra else [], home)
    there = unpacked(job, home / "guest")
    assert (there / f"root{home}" / name).read_text() == what


def test_a_folder_and_a_program_through_dots_go_along(home: Path) -> None:
    job = host_program.program_job(["../here/../../../../../../../bin/ls"], [Path("../there")], home)
    assert "-- /bin/ls" in job.script
    assert job.files[f"root{home.parent}/there/data.txt"] == b"there/data.txt"


def test_two_files_that_would_be_one_in_the_guest_are_refused(home: Path) -> None:
    with pytest.raises(TestbedError, match=r"would be one in the guest; give their paths without '\.\.'"):
        host_program.program_job(["cat", "link/../data.txt", "data.txt"], [], home)


def test_an_argument_that_can_be_no_path_is_an_argument(tmp_path: Path) -> None:
    """A script given by -c can be longer than any file name, which used to raise an OSError."""
    for argument in ("echo " + "x" * 300, "x/" * 5000, "\udcff"):
        assert "root/bin/bash" in host_program.program_job(["/bin/bash", "-c", argument], [], tmp_path).executables


def test_what_begins_as_a_folder_of_the_guest_does_goes_along(home: Path) -> None:
    assert not host_program.is_guests_own(Path("/devel/x"))
    assert not host_program.is_guests_own(Path("/home/../procedure"))
    assert host_program.is_guests_own(Path("/home/../proc/version"))
    assert not host_program.is_guests_own(Path("/"))
    assert host_program.program_job(["cat", "/proc/version", "../../../../../../proc/version"], [], home).files == {}


def test_what_no_guest_can_have_is_refused_before_it_boots(home: Path) -> None:
    os.mkfifo(home / "pipe")
    for extra, message in (
        ("/proc/version", "/proc is the guest's own there"),
        ("/dev/zero", "is neither a file nor a folder"),
        ("pipe", "is neither a file nor a folder"),
        ("x" * 300, "no such file or folder"),
    ):
        with pytest.raises(TestbedError, match=message) as caught:
            host_program.program_job(["cat"], [Path(extra)], home)
        assert caught.value.exit_status == 2
    with pytest.raises(TestbedError, match=r"/run is the guest's own there; take it from another folder"):
        host_program.program_job(["cat"], [], Path("/run"))


def test_no_random_name_is_refused_by_the_guests_tar(tmp_path: Path) -> None:
    """A job either has only names that tar unpacks, or is rejected with a sentence."""
    dice, taken = random.Random(1), 0
    for number in range(300):
        words = ["".join(dice.choice("./\n\\ -abcdefgü\0\udcff") for _ in range(dice.randrange(6))) for _ in range(3)]
        try:
            job = Job("x", {f"root/{word}": word.encode(errors="surrogateescape") for word in words})
        except TestbedError as error:
            assert str(error).startswith("the name ")
            continue
        taken += 1
        there = unpacked(job, tmp_path / str(number))
        assert all((there / name).read_bytes() == content for name, content in job.files.items())
    assert 20 < taken < 280


@pytest.mark.parametrize("name", ["", "..", "a/../b", "/a", "a//b", "a\0b", "\udcff", "a" * 256, "a/" * 2000 + "a"])
def test_a_name_that_tar_refuses_is_no_job(name: str) -> None:
    with pytest.raises(TestbedError, match="the name "):
        Job("x", {name: b""})


def test_cpio_reads_what_was_written(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    with archive.open("wb") as file:
        writer = CpioWriter(file)
        writer.add_file("a/b/c", b"content\n")
        writer.add_file("a/run", b"#!/bin/sh\n", executable=True)
        writer.add_symlink("a/link", "run")
        writer.close()
    subprocess.run(["cpio", "--quiet", "-id"], cwd=tmp_path, stdin=archive.open("rb"), check=True)
    assert (tmp_path / "a/b/c").read_text() == "content\n"
    assert (tmp_path / "a/run").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "a/link").readlink() == Path("run")


def test_equal_jobs_are_equal_bytes() -> None:
    files = {"b": b"2", "a": b"1"}
    assert Job("x", files).archive() == Job("x", dict(reversed(files.items()))).archive()
