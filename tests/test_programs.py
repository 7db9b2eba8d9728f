# SPDX-License-Identifier: BSD-3-Clause
"""Packing a program of the host: what goes along, and what is refused."""

import subprocess
from pathlib import Path

import pytest
from cpio_writer import CpioWriter

from testbed import programs
from testbed.errors import TestbedError
from testbed.job import Job


def test_a_dynamic_program_takes_its_loader_and_libraries(tmp_path: Path) -> None:
    job = programs.program_job(["/bin/ls", "-l"], [], tmp_path)
    names = {*job.files, *job.executables}
    assert "root/bin/ls" in names
    assert any("ld-linux" in name for name in names)
    assert any("libc.so.6" in name for name in names)
    assert "-- /bin/ls -l" in job.script


def test_a_static_program_takes_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 7; }\n")
    subprocess.run(["cc", "-static", "-o", "main", "main.c"], cwd=tmp_path, check=True)
    job = programs.program_job(["./main"], [], tmp_path)
    assert [*job.files, *job.executables] == [f"root{tmp_path}/main"]


def test_argument_files_and_extra_files_go_along(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("in")
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "a").write_text("a")
    job = programs.program_job(["cat", "in.txt", "/proc/version"], [Path("extra")], tmp_path)
    assert job.files[f"root{tmp_path}/in.txt"] == b"in"
    assert job.files[f"root{tmp_path}/extra/a"] == b"a"
    assert not any("proc/version" in name for name in job.files)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["no-such-program"], "program 'no-such-program' is not on the PATH; give the path"),
        (["./missing"], "program './missing' does not exist"),
        (["./text"], "program './text' is not an executable file"),
        (["./script"], "is not an x86-64 ELF program"),
        (["./folder"], "is not an executable file"),
    ],
)
def test_what_cannot_run_is_refused(tmp_path: Path, argv: list[str], message: str) -> None:
    (tmp_path / "text").write_text("text")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "folder").mkdir()
    with pytest.raises(TestbedError, match=message) as caught:
        programs.program_job(argv, [], tmp_path)
    assert caught.value.exit_status == 2


def test_a_missing_extra_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="--file nothing: no such file or folder"):
        programs.program_job(["/bin/ls"], [Path("nothing")], tmp_path)


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
