# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints beside clients that fill the arena or store large items: arena_test.py PART BUILD_FOLDER SCRATCH"""

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
KILLS, BUG_KILLS = 20, 60
OLDER = 300
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
            connection = connected()
            assert connection
            answers: Counter[bytes] = Counter()
            for _ in range(10):  # on a busy host it takes longer until the memory is full
                answers.update(load(5, 20_000, value_bytes))
                counts = stats(connection)
                if int(counts[b"evictions"]):
                    break
        print(f"values of {value_bytes} bytes, {counts[b'checkpoints'].decode()} checkpoints: {dict(answers)}")
        if answers.keys() != {b"STORED"}:
            sys.exit("with full memory, beside checkpoints, some requests fail")
        if not int(counts[b"evictions"]) or not int(counts[b"checkpoints"]):
            sys.exit(f"there were no evictions beside checkpoints: {counts}")


def keeps_items_after_a_kill(program: str, seed: int) -> bool:
    """Whether a server that was killed amid sets of chunked items starts again and has all older items."""
    options = "slab_chunk_max=1,checkpoint_us=500"
    clear()
    with Server(program, options) as server:
        connection = connected()
        assert connection
        assert set(ask(connection, b"".join(stored(n) for n in range(OLDER)), OLDER)) == {b"STORED"}
        before = int(stats(connection)[b"checkpoints"])
        while int(stats(connection)[b"checkpoints"]) < before + 2:  # the second began after the answers
            time.sleep(0.01)
        killer = threading.Timer(0.5 + random.Random(seed).random() / 5, server.process.kill)
        killer.start()
        load(ANSWER_S, 500, 3000)
        killer.join()
    with Server(program, options):
        connection = connected()
        try:
            return connection is not None and all(has(connection, n) for n in range(OLDER))
        except OSError:
            return False


def older(n: int) -> bytes:
    return b"%d" % n * (1000 + n)


def stored(n: int) -> bytes:
    return b"set older-%d 0 0 %d\r\n%s\r\n" % (n, len(older(n)), older(n))


def has(connection: socket.socket, n: int) -> bool:
    return older(n) in ask(connection, b"get older-%d\r\n" % n, 3)


def check_chunked() -> None:
    """A checkpoint has whole headers of chunked items; without the lock of the slabs, some start loses items."""
    for seed in range(KILLS):
        if not keeps_items_after_a_kill("memcached-snapshot", seed):
            sys.exit(f"seed {seed}: no server starts from the arena, or it lacks older items")
    bug = (seed for seed in range(BUG_KILLS) if not keeps_items_after_a_kill("memcached-bug-unlocked", seed))
    failed = next(bug, None)
    if failed is None:
        sys.exit("the seeded bug was not caught")
    print(f"{KILLS} kills, and the seeded bug is caught with kill {failed + 1}")


def stats(connection: socket.socket) -> dict[bytes, bytes]:
    said = ask(connection, b"stats\r\n", 1000)
    return dict(line.split(b" ")[1:] for line in said if line.startswith(b"STAT"))


def check_uploads() -> None:
    """The memory of large items that were on their way at a crash is free again."""
    options, large = "checkpoint_us=1000", b"y" * 900_000
    clear()
    for crash in range(4):
        with Server("memcached-snapshot", options):
            connection = connected()
            assert connection
            sets = (b"set large-%d 0 0 %d\r\n%s\r\n" % (n, len(large), large) for n in range(30))
            answers = Counter(ask(connection, request, 1)[0] for request in sets)
            if answers.keys() != {b"STORED"}:
                sys.exit(f"after {crash} crashes amid uploads: {dict(answers)}")
            uploads = [uploading for _ in range(8) if (uploading := connected())]
            for n, upload in enumerate(uploads):
                upload.sendall(b"set upload-%d 0 0 1000000\r\n%s" % (n, large))
            time.sleep(0.1)  # many checkpoints


def check_numbers() -> None:
    """A number for compare-and-swap from before a crash matches nothing that is stored after it."""
    for period_us in (300_000, 600_000, 1_200_000):  # the change below falls between two checkpoints
        options = f"checkpoint_us={period_us}"
        clear()
        with Server("memcached-snapshot", options):
            connection = connected()
            assert connection
            ask(connection, b"set k 0 0 2\r\nv0\r\n", 1)
            before = stats(connection)[b"checkpoints"]
            while stats(connection)[b"checkpoints"] == before:
                time.sleep(0.01)
            ask(connection, b"set k 0 0 2\r\nv1\r\n", 1)
            number = ask(connection, b"gets k\r\n", 3)[0].split()[-1]
        with Server("memcached-snapshot", options):
            connection = connected()
            assert connection
            if ask(connection, b"get k\r\n", 3)[1] != b"v0":
                continue  # a checkpoint came between
            ask(connection, b"set k 0 0 2\r\nv2\r\n", 1)
            if (answer := ask(connection, b"cas k 0 0 2 %s\r\nv3\r\n" % number, 1)) != [b"EXISTS"]:
                sys.exit(f"cas with number {number.decode()} from before the crash: {answer}")
            return
    sys.exit("no crash came before the next checkpoint")


def check_clock() -> None:
    """Many crashes within a second do not put the server's clock ahead."""
    clear()
    for _ in range(10):
        with Server("memcached-snapshot", "checkpoint_us=1000"):
            connection = connected()
            assert connection
            ahead_s = int(stats(connection)[b"time"]) - time.time()
            time.sleep(0.02)
    if ahead_s > 2:
        sys.exit(f"after ten crashes the server's clock is {ahead_s:.1f} s ahead")


def check_crashes() -> None:
    check_uploads()
    check_numbers()
    check_clock()


def main() -> None:
    parts: dict[str, Callable[[], None]] = {"full": check_full, "chunked": check_chunked, "crashes": check_crashes}
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    parts[PART]()
    shutil.rmtree(SCRATCH)


if __name__ == "__main__":
    main()
