# SPDX-License-Identifier: BSD-3-Clause
"""Streams in place of files: standard input and process substitutions."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import TestbedError
from testbed.program import streamed
from testbed.program.guest_script import guest_script_job

TAKES = """
import sys
from pathlib import Path
from testbed.program import streamed
from testbed.program.guest_script import guest_script_job
script = streamed.file_of("--script", Path(sys.argv[1]))
print(guest_script_job(script, [], [], (), Path.cwd(), False).files)
"""


@pytest.fixture
def pipe() -> Iterator[int]:
    """The read end of a pipe that holds a script."""
    reader, writer = os.pipe()
    os.write(writer, b"ls -l\n")
    os.close(writer)
    yield reader
    os.close(reader)


@pytest.mark.parametrize("shown", ["/dev/fd", "/proc/self/fd"])
def test_a_script_comes_from_a_process_substitution(pipe: int, shown: str, tmp_path: Path) -> None:
    script = streamed.file_of("--script", Path(shown) / str(pipe))
    assert dict(guest_script_job(script, [], [], (), tmp_path, False).files) == {str(pipe): b"ls -l\n"}


@pytest.mark.parametrize("name", ["/dev/stdin", "-"])
@pytest.mark.parametrize("piped", [True, False])
def test_a_script_comes_from_standard_input(piped: bool, name: str, tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text("ls -l\n")
    words = [sys.executable, "-c", TAKES, name]
    with (tmp_path / "s.sh").open("rb") as file:
        given: dict[str, Any] = {"input": b"ls -l\n"} if piped else {"stdin": file}
        done = subprocess.run(words, capture_output=True, **given)
    assert done.stdout == b"{'stdin': b'ls -l\\n'}\n", done.stderr


@pytest.mark.parametrize("path", ["x", "/dev/null", "/dev/fd", "/dev/fd/x"])
def test_other_paths_stay_as_they_are(path: str) -> None:
    assert streamed.file_of("--file", Path(path)) == Path(path)


@pytest.mark.parametrize("number", ["1023", "99999999999999999999"])
def test_a_stream_that_is_not_open_is_refused_by_its_option(number: str) -> None:
    with pytest.raises(TestbedError, match=f"--file /dev/fd/{number}: cannot be read: .*; give a file"):
        streamed.file_of("--file", Path("/dev/fd") / number)


def test_a_stream_without_end_is_refused(pipe: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "BYTES_MAX", 5)
    with pytest.raises(TestbedError, match=f"--file /dev/fd/{pipe}: has more than 0 GiB; write it to a file"):
        streamed.file_of("--file", Path("/dev/fd") / str(pipe))
