# SPDX-License-Identifier: BSD-3-Clause
"""What a guest prints: it comes as it is printed and fast, none of it is lost however the guest ends, and no reader is
seen in the guest. What the guest reads of the host's standard input."""

import hashlib
import json
import os
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
MB = 10**6
COUNT = "n=0\nwhile :; do echo line $((n++)); ((n % 7)) || echo error $n >&2; done\n"


def start(folder: Path, script: str, *options: str, **more: object) -> "subprocess.Popen[bytes]":
    """`testbed exec` of a script, to be interrupted as a person does, not as a shell's job in the background."""
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
    """Whether it is all that was counted up to some number; the last line may have been under way."""
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
        guest.send_signal(end)  # before the rest of it is read: a pipe is full by then, and QEMU's file is not
        time.sleep(2)
        rest, errors = guest.communicate(timeout=60)
    assert guest.returncode == 130, errors
    assert is_gapless((first + rest).decode().split("\n"))
    assert errors.startswith(b"error 7\nerror 14\n") and b"testbed: interrupted" in errors
    print(f"{len(first + rest):,} bytes up to {end.name}")


def test_a_timeout_and_a_panic_lose_no_last_words(tmp_path: Path, session: Session) -> None:
    assert session
    (tmp_path / "short.toml").write_text(MANIFEST + '[guest]\ntimeout = "40s"\n')
    with start(tmp_path, COUNT, "-m", "short.toml") as guest:
        said, errors = guest.communicate(timeout=300)
    assert guest.returncode == 1 and b"(timeout, see" in errors, errors[-2000:]
    assert is_gapless(said.decode().split("\n")) and len(said) > 10_000
    assert b"\nerror 7000\n" in errors
    with start(tmp_path, "echo last words; echo of two >&2; echo c >/proc/sysrq-trigger; echo none") as guest:
        said, errors = guest.communicate(timeout=300)
    assert (guest.returncode, said) == (1, b"last words\n")
    assert errors.startswith(b"of two\n") and b"(panic, see" in errors, errors


def test_fifty_megabytes_come_at_twenty_a_second_or_more(tmp_path: Path, session: Session) -> None:
    """By what the run takes of this host's CPUs beyond one that prints nothing, whatever else these do."""
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
    rate = 50 * 2**20 / MB / (taken_s["all"] - taken_s["none"])
    print(f"{rate:.0f} MB/s of CPU time ({taken_s['all']:.1f} s against {taken_s['none']:.1f} s); {errors.decode()}")
    assert rate >= 20


def test_no_reader_is_seen_in_the_guest(tmp_path: Path, session: Session) -> None:
    """One that takes all at once, and one that is slow: the same bytes, counters and nanoseconds."""
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
    """Opened once more, held by a process that stays, read by a program; and files come back the same way."""
    assert session
    (tmp_path / "words").write_text("b\na\n")
    with (tmp_path / "words").open() as words:
        guest = start(tmp_path, STREAMS, "--stdin", "--output", "/pmem/large", stdin=words)
    with guest:
        said, errors = guest.communicate(timeout=300)
    assert (guest.returncode, said) == (7, b"one\ntwo\na\nb\nb\na"), errors
    assert errors.startswith(b"three\n"), errors
    assert (tmp_path / "pmem/large").read_bytes() == bytes(8 * 2**20)


def test_who_has_read_enough_ends_the_guest(tmp_path: Path, session: Session) -> None:
    assert session
    with start(tmp_path, "yes") as guest:
        assert guest.stdout and guest.stderr
        assert os.read(guest.stdout.fileno(), 4) == b"y\ny\n"
        guest.stdout.close()
        assert guest.wait(60) == 1
        assert guest.stderr.read() == b""
