# SPDX-License-Identifier: BSD-3-Clause
"""Only one guest at a time may use a folder of `--media`; a second command is rejected and changes nothing."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import scratch
from testbed.errors import TestbedError
from testbed.guest import media_lock, shell
from testbed.guest.executor import GuestSpec, QemuExecutor
from testbed.guest.qemu_line import GuestFiles, Images, PowerCut, batch_ports, command_line, terminal_ports
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

# A command that holds the folder until its input ends.
HOLDER = """
import sys
from pathlib import Path
from testbed.guest import media_lock
with media_lock.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("file", "it is no folder"),
        ("socket", "it is no folder"),
        ("x" * 300, "File name too long"),
        ("nul\0", "embedded null"),
        ("file/below", "Not a directory"),
    ],
)
def test_media_that_can_be_no_folder_are_one_sentence(tmp_path: Path, what: str, said: str) -> None:
    (tmp_path / "file").touch()
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(tmp_path):
        listener.bind("socket")
        with pytest.raises(TestbedError, match=said) as caught, media_lock.held(Path(what)):
            raise AssertionError("it is held")
    assert caught.value.exit_status == 2


def holder(folder: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", HOLDER, str(folder)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "held\n"
    return process


def by_exec(images: Images, guest: GuestConfig, folder: Path) -> object:
    return drive(QemuExecutor(images).run(GuestSpec(guest, script_job("true"), media_folder=folder))).outcome


def by_shell(images: Images, guest: GuestConfig, folder: Path) -> object:
    return shell.run_shell(images, guest, folder)


@pytest.mark.parametrize("use", [by_exec, by_shell])
def test_the_second_is_refused_and_told_who_has_the_folder(
    images: Images, guest: GuestConfig, tmp_path: Path, use: Callable[[Images, GuestConfig, Path], object]
) -> None:
    folder = tmp_path / "media"
    first = holder(folder)
    (folder / "media.raw").write_text("the first's")
    with pytest.raises(TestbedError) as caught:
        use(images, guest, folder)
    where = f"process {first.pid} on {socket.gethostname()}"
    assert str(caught.value).startswith(f"--media {folder} is in use by '")
    assert str(caught.value).endswith(f"', {where}; wait for it or name another folder")
    assert caught.value.exit_status == 2
    assert (folder / "media.raw").read_text() == "the first's"
    first.kill()
    first.wait()
    (folder / "media.raw").unlink()
    assert use(images, guest, folder) != "lost"


def test_a_folder_is_free_when_its_guest_has_ended(images: Images, guest: GuestConfig, tmp_path: Path) -> None:
    for _ in range(2):
        assert by_exec(images, guest, tmp_path / "media") == "ok"
    assert (tmp_path / "media" / media_lock.LOCK).read_text() == ""


def test_of_many_at_once_one_has_the_folder(tmp_path: Path) -> None:
    """In each of thirty rounds, one of four commands gets the folder and the others raise TestbedError."""
    program = (
        "import sys; from pathlib import Path; from testbed.guest import media_lock\n"
        "from testbed.errors import TestbedError\n"
        "for _ in range(30):\n"
        "    print('go', flush=True); sys.stdin.readline()\n"
        "    try:\n"
        "        with media_lock.held(Path(sys.argv[1])): print('held', flush=True); sys.stdin.readline()\n"
        "    except TestbedError: print('refused', flush=True); sys.stdin.readline()\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "media")]
    pipe = subprocess.PIPE
    commands = [subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) for _ in range(4)]

    def step() -> list[str]:
        said = [command.stdout.readline().strip() for command in commands if command.stdout]
        for command in commands:
            assert command.stdin
            command.stdin.write("\n")
            command.stdin.flush()
        return sorted(said)

    for _ in range(30):
        assert step() == ["go"] * 4
        assert step() == ["held", "refused", "refused", "refused"]
    for command in commands:
        command.communicate()


def test_a_folder_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file", "file/below", "x" * 300):
        with pytest.raises(TestbedError, match=r"--media .*: it cannot be written: .*; name another folder"):
            media_lock.held(tmp_path / name).__enter__()


def test_a_media_folder_is_no_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A media folder with a name like a scratch folder's is not removed with the folders of killed processes."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / f"{scratch.PREFIX}mine"
    with media_lock.held(folder):
        (folder / "media.raw").write_text("mine")
    scratch.remove_orphans()
    assert (folder / "media.raw").read_text() == "mine"


def test_a_comma_in_a_path_begins_no_option(images: Images, guest: GuestConfig, tmp_path: Path) -> None:
    """QEMU would parse `share=off` in `--media a,share=off` as an option."""
    home = tmp_path / "a,share=off"
    files = GuestFiles(home / "initrd", (home / "media.raw",), (home / "lsa.raw",), home / "job.tar")
    ports = [*batch_ports(home / "console", home / "results", 3), *terminal_ports(home / "results")]
    line = command_line(images, guest, files, PowerCut(), ports, trace=home / "trace")
    options = [word for word in line if "share=off/" in word and "=" in word.partition("share=off")[0]]
    assert len(options) == 8
    assert all("a,,share=off/" in word for word in options)
