# SPDX-License-Identifier: BSD-3-Clause
"""Output of a guest: it arrives at once and fast, none is lost however the guest ends, and the reader has no influence
on the guest. Input of a guest from the host's standard input."""

import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import MANIFEST
from testbed.guest.session import Session

pytestmark = pytest.mark.guest

TESTBED = [sys.executable, "-m", "testbed"]
COUNT = "n=0\nwhile :; do echo line $((n++)); ((n % 7)) || echo error $n >&2; done\n"


PROGRESS = re.compile(rb"testbed: \d+ s of this host: [^\n]*\n")


def of_the_guest(errors: bytes) -> bytes:
    """Remove the lines of progress, which stand among those of the guest if the host is slow."""
    return PROGRESS.sub(b"", errors)


def start(folder: Path, script: str, *options: str, **more: object) -> "subprocess.Popen[bytes]":
    """Start `testbed exec` of a script in a process that reacts to SIGINT, unlike a shell's background job."""
    (folder / "script.sh").write_text(script)
    words = [*TESTBED, "exec", *options, "--script", "script.sh"]
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    process: subprocess.Popen[bytes] = subprocess.Popen(
        words,
        cwd=folder,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **pipes,
    )
    return process


def is_gapless(lines: list[str]) -> bool:
    """Tell whether the lines count up to some number without a gap; the last line may be incomplete."""
    return lines[:-1] == [f"line {n}" for n in range(len(lines) - 1)] and f"line {len(lines) - 1}".startswith(lines[-1])


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_output_comes_while_the_program_runs_and_none_is_lost_when_it_is_interrupted(
    tmp_path: Path, session: Session, end: signal.Signals
) -> None:
    assert session
    with start(tmp_path, COUNT) as guest:
        assert guest.stdout and guest.stderr
        first = b""
        while b"line 20\n" not in first and (piece := os.read(guest.stdout.fileno(), 100)):
            first += piece
        assert first.startswith(b"line 0\n") and guest.poll() is None, guest.stderr.read()
        guest.send_signal(end)  # before the rest is read: the pipe is full by then, QEMU's file is not
        time.sleep(2)
        rest, errors = guest.communicate(timeout=60)
    assert guest.returncode == 130, errors
    assert is_gapless((first + rest).decode().split("\n"))
    assert of_the_guest(errors).startswith(b"error 7\nerror 14\n") and b"testbed: interrupted" in errors
    print(f"{len(first + rest):,} bytes up to {end.name}")


def test_a_timeout_and_a_panic_lose_no_last_words(tmp_path: Path, session: Session) -> None:
    assert session
    for timeout_s in (40, 80, 160, 320):  # a busy host boots slowly, and the time is the host's
        (tmp_path / "short.toml").write_text(MANIFEST + f'[guest]\ntimeout = "{timeout_s}s"\n')
        with start(tmp_path, COUNT, "-m", "short.toml") as guest:
            said, errors = guest.communicate(timeout=600)
        if len(said) > 10_000:
            break
    assert guest.returncode == 1 and b"(timeout, see" in errors, errors[-2000:]
    lines = said.decode().split("\n")
    assert is_gapless(lines) and len(said) > 10_000
    counted = [
        int(line.split()[1]) for line in of_the_guest(errors).decode().split("\n") if re.fullmatch(r"error \d+", line)
    ]
    # The streams go separate ways; the least piece that could be lost of one, 4 KiB, has 300 lines.
    assert counted == list(range(7, 7 * len(counted) + 1, 7)) and len(lines) - counted[-1] in range(100)
    with start(tmp_path, "echo last words; echo of two >&2; echo c >/proc/sysrq-trigger; echo none") as guest:
        said, errors = guest.communicate(timeout=300)
    assert (guest.returncode, said) == (1, b"last words\n")
    assert of_the_guest(errors).startswith(b"of two\n") and b"(panic, see" in errors, errors


def test_fifty_megabytes_take_less_of_the_host_than_the_boot(tmp_path: Path, session: Session) -> None:
    """Compare the CPU times of a run with output and a run without, as both are slower on a slow or busy host."""
    assert session
    taken_s: dict[str, float] = {}
    for name, more in (("none", ""), ("all", "time cat /tmp/x\n")):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with start(tmp_path, "dd if=/dev/zero of=/tmp/x bs=1M count=50 status=none\n" + more, "--own-roi") as guest:
            said, errors = guest.communicate(timeout=600)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert guest.returncode == 0, errors
        taken_s[name] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert hashlib.sha256(said).digest() == hashlib.sha256(bytes(50 * 2**20)).digest()
    printing_s = taken_s["all"] - taken_s["none"]
    print(f"{printing_s:.1f} s of CPU time beside {taken_s['none']:.1f} s without; {errors.decode()}")
    assert printing_s < taken_s["none"]


def test_no_reader_is_seen_in_the_guest(tmp_path: Path, session: Session) -> None:
    """A quick and a slow reader get the same bytes, and their guests have the same counters and nanoseconds."""
    assert session
    script = "for i in $(seq 3); do seq 40000; echo $i >&2; done\n"
    counted = []
    for name, pause_s in (("quick", 0.0), ("slow", 0.02)):
        with start(tmp_path, script, "--json", f"{name}.json") as guest:
            assert guest.stdout
            said = b""
            while piece := os.read(guest.stdout.fileno(), 2**16 if not pause_s else 4096):
                said += piece
                time.sleep(pause_s)
            errors = guest.stderr.read() if guest.stderr else b""
        assert guest.returncode == 0, errors
        assert said.decode() == 3 * "".join(f"{n}\n" for n in range(1, 40001))
        counted.append(json.loads((tmp_path / f"{name}.json").read_text()))
    assert counted[0] == counted[1]


STREAMS = """
echo one; echo two >/dev/stdout; echo three >>/dev/stderr; (while :; do sleep 1; done) &
sort; head -c 3 /job/.testbed/stdin
dd if=/dev/zero of=/pmem/large bs=1M count=8 status=none
exit 7
"""


def test_streams_are_what_they_are_elsewhere(tmp_path: Path, session: Session) -> None:
    """A script may reopen its streams, leave a process that holds them, read stdin, and return a large file."""
    assert session
    (tmp_path / "words").write_text("b\na\n")
    with (tmp_path / "words").open() as words:
        guest = start(tmp_path, STREAMS, "--stdin", "--output", "/pmem/large", stdin=words)
    with guest:
        said, errors = guest.communicate(timeout=300)
    assert (guest.returncode, said) == (7, b"one\ntwo\na\nb\nb\na"), errors
    assert of_the_guest(errors).startswith(b"three\n"), errors
    assert (tmp_path / "pmem/large").read_bytes() == bytes(8 * 2**20)


def test_who_has_read_enough_ends_the_guest(tmp_path: Path, session: Session) -> None:
    assert session
    with start(tmp_path, "yes") as guest:
        assert guest.stdout and guest.stderr
        assert os.read(guest.stdout.fileno(), 4) == b"y\ny\n"
        guest.stdout.close()
        assert guest.wait(60) == 1
        assert of_the_guest(guest.stderr.read()) == b""
