# SPDX-License-Identifier: BSD-3-Clause
"""The way of a guest's output to this process's output, and of this process's input to a guest, on this host alone."""

import asyncio
import os
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conftest import MOCK_QEMU, MockExecutor
from testbed.cli import main
from testbed.errors import TestbedError
from testbed.guest import carrier, relay, streams
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestOutcome, GuestSpec, QemuExecutor
from testbed.guest.qemu_line import Images, batch_ports
from testbed.guest.session import Session
from testbed.manifest import render
from testbed.program import standard_input
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

# ---- Relay ----


async def grown(path: Path, descriptor: int, pieces: list[bytes], then_s: float = 0.0) -> None:
    """Relay a file to the descriptor while these pieces are appended to it."""
    path.touch()
    async with relay.relayed({path: descriptor}):
        for piece in pieces:
            with path.open("ab") as file:
                file.write(piece)
            await asyncio.sleep(0.05)
        await asyncio.sleep(then_s)


def read_slowly(descriptor: int, into: list[bytes], pause_s: float) -> None:
    while piece := os.read(descriptor, 2**14):
        into.append(piece)
        time.sleep(pause_s)


def test_a_slow_reader_gets_all_and_holds_up_nobody(tmp_path: Path) -> None:
    """The output exceeds a pipe's capacity, and its reader has read little of it when the file is complete."""
    ours, theirs = os.pipe()
    got: list[bytes] = []
    reader = threading.Thread(target=read_slowly, args=(ours, got, 0.02))
    reader.start()
    pieces = [bytes([n]) * 200_000 for n in range(5)]
    drive(grown(tmp_path / "stdout", theirs, pieces))
    os.close(theirs)
    reader.join()
    assert b"".join(got) == b"".join(pieces)


def test_what_is_printed_is_handed_on_while_there_may_be_more(tmp_path: Path) -> None:
    ours, theirs = os.pipe()

    async def first() -> float:
        begun_s = time.monotonic()
        work = asyncio.create_task(grown(tmp_path / "stdout", theirs, [b"first\n"], then_s=20))
        assert await asyncio.to_thread(os.read, ours, 100) == b"first\n"
        assert not work.done()
        work.cancel()
        await asyncio.wait({work})
        return time.monotonic() - begun_s

    assert drive(first()) < 10


def test_an_interrupted_one_gives_up_a_reader_that_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "PATIENCE_S", 0.5)
    ours, theirs = os.pipe()

    async def interrupted() -> bool:
        work = asyncio.create_task(grown(tmp_path / "stdout", theirs, [bytes(10**6)], then_s=20))
        await asyncio.sleep(0.3)
        work.cancel()
        await asyncio.wait({work}, timeout=10)
        return work.cancelled()

    assert drive(interrupted())
    assert len(os.read(ours, 10**6)) > 0


def test_who_reads_no_more_ends_it(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    begun_s = time.monotonic()
    with pytest.raises(BrokenPipeError):
        drive(grown(tmp_path / "stdout", theirs, [b"x"], then_s=20))
    assert time.monotonic() - begun_s < 10


def test_a_full_device_is_an_error_also_at_the_end(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        for work in (grown(tmp_path / "stdout", full.fileno(), [b"x"], 20), late(tmp_path, full.fileno())):
            with pytest.raises(OSError, match="No space left"):
                drive(work)


async def late(folder: Path, descriptor: int) -> None:
    """Write to the file just before the relay ends."""
    (folder / "stdout").touch()
    async with relay.relayed({folder / "stdout": descriptor}):
        (folder / "stdout").write_bytes(b"x")


# ---- Output ----


def test_the_carrier_moves_all_to_the_end_of_its_input(tmp_path: Path) -> None:
    program = tmp_path / "carry"
    program.write_bytes(carrier.program())
    program.chmod(0o755)
    content = os.urandom(3 * 2**20 + 5)
    pipe = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with (tmp_path / "out").open("wb") as out:
        moving = subprocess.Popen([program], stdin=pipe.stdout, stdout=out)
        assert pipe.stdin
        pipe.stdin.write(content)
        pipe.stdin.close()
        assert moving.wait() == 0
    assert pipe.wait() == 0
    assert (tmp_path / "out").read_bytes() == content
    assert subprocess.run([program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode != 0  # not a pipe


def test_a_kernel_without_the_device_has_its_output_at_the_end(tmp_path: Path) -> None:
    """Without the port the job prints as usual; output from the results port is appended to output from the streams."""
    job = streams.job(script_job("echo out; echo error >&2; exit 3"))
    done = subprocess.run(["bash", "-c", job.script], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"error\n")
    streams.make(tmp_path)
    (tmp_path / "stdout").write_bytes(b"before\n")
    assert streams.all_printed(tmp_path, b"after\n", b"") == [b"before\nafter\n", b""]


def test_each_stream_has_its_port_and_no_thread_of_its_own(tmp_path: Path) -> None:
    words = streams.options(tmp_path / "a,b")
    assert [streams.port(name) for name in streams.STREAMS] == [f"/dev/vport0p{n}" for n in (1, 2, 3)]
    assert [word.partition("nr=")[2] for word in words if "nr=" in word] == [
        "1,chardev=stdout",
        "2,chardev=stderr",
        "3,chardev=files",
    ]
    assert "ioeventfd=off" in words[1]
    assert f"file,id=stdout,path={tmp_path}/a,,b/stdout" in words
    assert not any("virtio" in word for word in batch_ports(tmp_path / "console", tmp_path / "results", 3))


def test_a_streamed_guest_is_the_job_in_its_pipes_with_the_device(small_manifest: Path, tmp_path: Path) -> None:
    """With a mock of QEMU: results come through the same device as output, and guests that are not streamed lack it."""
    (tmp_path / "vmlinux").write_text("mock")
    executor = QemuExecutor(Images(MOCK_QEMU, tmp_path, tmp_path / "vmlinux", initrds=()))
    spec = GuestSpec(render.runs(small_manifest)[0].guest, script_job("true"))
    ours, theirs = os.pipe()
    plain = drive(executor.run(spec))
    streamed = drive(executor.run(replace(spec, streamed=True), printed={"stdout": theirs, "stderr": theirs}))
    assert (plain.outcome, streamed.outcome) == ("ok", "ok"), (plain, streamed)
    assert plain.rows != streamed.rows  # another job was sent
    os.close(theirs)
    assert os.read(ours, 100) == b""


# ---- Standard input ----


def test_input_is_read_to_its_end_and_part_of_what_is_run(tmp_path: Path) -> None:
    ours, theirs = os.pipe()

    def write_and_close() -> None:
        os.write(theirs, b"a\nb\n")
        os.close(theirs)

    threading.Timer(0.2, write_and_close).start()
    content = standard_input.read(ours)
    assert content == b"a\nb\n"
    one, other = (standard_input.job(script_job("cat"), text) for text in (content, b"a\n"))
    assert one.identity() != other.identity() and one.identity()["files"][standard_input.NAME]
    script = one.script.replace(f"/job/{standard_input.NAME}", str(tmp_path / "in"))
    (tmp_path / "in").write_bytes(content)
    assert subprocess.run(["bash", "-c", script], capture_output=True).stdout == content


def test_input_that_cannot_be_or_never_ends_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard_input, "BYTES_MAX", 2**20)
    with (
        Path("/dev/zero").open("rb") as zero,
        pytest.raises(TestbedError, match="--stdin: standard input has more than"),
    ):
        standard_input.read(zero.fileno())
    with pytest.raises(TestbedError, match="--stdin: standard input cannot be read; give one, as <FILE"):
        standard_input.read(-1)


def test_only_input_that_somebody_gave_is_missed(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "words").write_text("words\n")
    ours, theirs = os.pipe()
    with (tmp_path / "empty").open() as empty, (tmp_path / "words").open() as words, Path("/dev/zero").open() as zero:
        assert not any(standard_input.waits(fd) for fd in (empty.fileno(), zero.fileno(), ours, -1))
        assert standard_input.waits(words.fileno())
        words.buffer.read()
        assert not standard_input.waits(words.fileno())  # the input has been read
    os.write(theirs, b"x")
    assert standard_input.waits(ours)


# ---- The command, with a mock guest ----


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch, small_manifest: Path) -> MockExecutor:
    mock = MockExecutor(lambda _: GuestOutcome("ok", 0, stdout=b"printed\n", stderr=b"said\n"))
    monkeypatch.setattr(main, "open_session", lambda: Session(mock, {}, here=Capacity(1, 2**20)))
    monkeypatch.chdir(small_manifest.parent)
    return mock


def test_exec_says_that_it_passes_no_input_on_unless_asked(
    executor: MockExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def exec_(*words: str) -> str:
        with Path("words").open() as words_file:
            monkeypatch.setattr("sys.stdin", words_file)
            with pytest.raises(SystemExit):
                main.app(["exec", "-m", "small.toml", *words, "--", "true"])
        return capsys.readouterr().err

    (tmp_path / "words").write_text("words\n")
    assert standard_input.NOT_TAKEN in exec_()
    assert standard_input.NOT_TAKEN not in exec_("--stdin")
    assert standard_input.NOT_TAKEN not in exec_("--file", "words")
    without, with_it, _ = (spec.job for spec in executor.started)
    assert without and with_it
    assert standard_input.NAME not in without.files
    assert with_it.files[standard_input.NAME] == b"words\n"


@pytest.mark.usefixtures("executor")
def test_what_a_guest_without_a_way_out_printed_is_shown() -> None:
    done = CliRunner().invoke(main.app, ["exec", "-m", "small.toml", "--", "true"])
    assert (done.exit_code, "printed\n" in done.output, "said\n" in done.output) == (0, True, True)
