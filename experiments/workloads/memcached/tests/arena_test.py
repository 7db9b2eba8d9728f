# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints beside clients that fill the arena, or that store large items: arena_test.py PART BUILD_FOLDER SCRATCH"""

import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

PART, BUILD, SCRATCH = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
FILE, SOCKET = SCRATCH / "arena", SCRATCH / "socket"
OPTIONS = "no_lru_crawler,no_lru_maintainer,no_slab_reassign,no_hashexpand,hashpower=16"
CLIENTS = 12  # more than there are CPUs, so that some wait with the lock of an item
KILLS, BUG_KILLS = 6, 60
ANSWER_S = 10


class Server:
    """A server with an arena of 64 MiB and several threads. It is killed at the end of the block."""

    def __init__(self, program: str, options: str) -> None:
        words = ["-u", "root", "-s", str(SOCKET), "-t", str(CLIENTS), "-m", "64", "-e", str(FILE)]
        environment = os.environ | {"EVENT_PRECISE_TIMER": "1", "SNAPSHOT_DIR": str(FILE)}
        SOCKET.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [BUILD / program, *words, "-o", f"{OPTIONS},{options}"], env=environment, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def connected() -> socket.socket | None:
    """A connection to the server; None if there is none within ANSWER_S seconds."""
    deadline = time.monotonic() + ANSWER_S
    while time.monotonic() < deadline:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(ANSWER_S)
        try:
            connection.connect(str(SOCKET))
            return connection
        except OSError:
            time.sleep(0.02)
    return None


def ask(connection: socket.socket, text: bytes, lines: int) -> list[bytes]:
    """The first lines of the answer, or all up to END."""
    connection.sendall(text)
    answer = b""
    while answer.count(b"\r\n") < lines and not answer.endswith(b"END\r\n"):
        piece = connection.recv(1 << 16)
        if not piece:
            raise ConnectionError("the server has ended")
        answer += piece
    return answer.split(b"\r\n")[:lines]


def sets(client: int, seed: int, keys: int, value_bytes: int) -> bytes:
    """Twenty requests."""
    chosen = random.Random(seed)
    value = b"x" * value_bytes
    names = (b"key-%d-%d" % (client, chosen.randrange(keys)) for _ in range(20))
    return b"".join(b"set %s 0 0 %d\r\n%s\r\n" % (name, value_bytes, value) for name in names)


def clear() -> None:
    for path in SCRATCH.iterdir():
        path.unlink()


def load(seconds: float, keys: int, value_bytes: int) -> Counter[bytes]:
    """The answers to the sets of several clients. A client ends early if the server does."""
    answers: Counter[bytes] = Counter()
    until = time.monotonic() + seconds

    def work(client: int) -> None:
        connection, seed = connected(), client
        try:
            while connection and time.monotonic() < until:
                seed += CLIENTS
                answers.update(ask(connection, sets(client, seed, keys, value_bytes), 20))
        except OSError:
            pass

    threads = [threading.Thread(target=work, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def check_full() -> None:
    """A checkpoint beside an eviction makes no request fail: a failed set would delete the old value, too."""
    for options, value_bytes in (("checkpoint_us=1000", 1000), ("slab_chunk_max=1,checkpoint_us=1000", 3000)):
        clear()
        with Server("memcached-snapshot", options):
            answers = load(5, 20_000, value_bytes)
            connection = connected()
            assert connection
            said = ask(connection, b"stats\r\n", 1000)
        stats = dict(line.split(b" ")[1:] for line in said if line.startswith(b"STAT"))
        print(f"values of {value_bytes} bytes, {stats[b'checkpoints'].decode()} checkpoints: {dict(answers)}")
        if answers.keys() != {b"STORED"}:
            sys.exit("with full memory, beside checkpoints, some requests fail")
        if not int(stats[b"evictions"]) or not int(stats[b"checkpoints"]):
            sys.exit(f"there were no evictions beside checkpoints: {stats}")


def starts_after_a_kill(program: str, seed: int) -> bool:
    """Whether a server that was killed amid sets of chunked items starts again and answers."""
    options = "slab_chunk_max=1,checkpoint_us=500"
    clear()
    with Server(program, options) as server:
        killer = threading.Timer(0.5 + random.Random(seed).random() / 5, server.process.kill)
        killer.start()
        load(ANSWER_S, 500, 3000)
        killer.join()
    with Server(program, options):
        connection = connected()
        try:
            return connection is not None and ask(connection, b"version\r\n", 1)[0].startswith(b"VERSION")
        except OSError:
            return False


def check_chunked() -> None:
    """A checkpoint has whole headers of chunked items; without the lock of the slabs, some start fails."""
    for seed in range(KILLS):
        if not starts_after_a_kill("memcached-snapshot", seed):
            sys.exit(f"seed {seed}: no server starts from the arena")
    failed = next((seed for seed in range(BUG_KILLS) if not starts_after_a_kill("memcached-bug-unlocked", seed)), None)
    if failed is None:
        sys.exit("the seeded bug was not caught")
    print(f"{KILLS} kills, and the seeded bug is caught with kill {failed + 1}")


def main() -> None:
    parts: dict[str, Callable[[], None]] = {"full": check_full, "chunked": check_chunked}
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    parts[PART]()
    shutil.rmtree(SCRATCH)


if __name__ == "__main__":
    main()
