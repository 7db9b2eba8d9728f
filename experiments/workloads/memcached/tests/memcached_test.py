# SPDX-License-Identifier: BSD-3-Clause
"""Memcached with checkpoints, and its client, as users start them: memcached_test.py PART BUILD_FOLDER SCRATCH"""

import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PART, BUILD, SCRATCH = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
FILE, SOCKET = SCRATCH / "arena", SCRATCH / "socket"
PATCHES = Path(__file__).parents[1] / "patches"
SIZES = ("--records", "600", "--operations", "6000", "--epoch", "1000")
LONG = ("--records", "600", "--operations", "40000", "--epoch", "1000", "--kill-after", "30000", "--writes", "100")
OPTIONS = "no_lru_crawler,no_lru_maintainer,no_slab_reassign,slab_sizes=1088-524288"
ADDED_LINES_MAX = 180
CLIENTS = ("--clients", "3", "--threads", "2")
KILLS = 8


def check(holds: bool, message: str) -> None:
    if not holds:
        sys.exit(message)


def client(*words: str, program: str = "memcached-ycsb") -> tuple[int, dict[str, Any], str]:
    """Run the client; return its status, row and stderr."""
    command = [str(BUILD / program), "--file", str(FILE), "--socket", str(SOCKET), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    return done.returncode, json.loads(done.stdout or "{}") if "{" in done.stdout else {}, done.stderr


def has_uffd() -> bool:
    """Whether fams-uffd works here. If the kernel lacks or denies userfaultfd, the error must say so."""
    status, _, said = client("--engine", "fams-uffd", "--operations", "0", *SIZES[:2], *SIZES[4:])
    check(status == 0 or "userfaultfd" in said, said)
    return status == 0


def server(options: str, *words: str, program: str = "memcached-plain") -> subprocess.Popen[str]:
    command = [str(BUILD / program), "-u", "root", "-s", str(SOCKET), "-o", options, *words]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def end_of(process: subprocess.Popen[str]) -> str:
    """The stderr of a server until its end; a server that does not end in 60 s is killed."""
    try:
        return process.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[1]


def refusal(options: str, *words: str) -> str:
    """The stderr of a server that must end by itself with an error."""
    process = server(options, *words)
    said = end_of(process)
    check(process.returncode > 0, f"{options} {words}: {process.returncode}, {said}")
    return said


def check_patch() -> None:
    """The patches stay small. The preparation of the sources checks that they apply without fuzz."""
    series = (PATCHES / "series").read_text().split()
    lines = [line for name in series for line in (PATCHES / name).read_text().splitlines()]
    changed = [line for line in lines if not line.startswith(("+++", "---"))]
    added = sum(line.startswith("+") for line in changed)
    check(0 < added <= ADDED_LINES_MAX, f"the patches add {added} lines")
    print(f"the patches add {added} lines and remove {sum(line.startswith('-') for line in changed)}")


def with_checkpoint(change: Any = None) -> None:
    """Make the arena of a server that was stopped cleanly; `change` may then modify its bytes."""
    FILE.unlink(missing_ok=True)
    process = server(f"{OPTIONS},checkpoint_us=1000", "-e", str(FILE), "-m", "4")
    for _ in range(600):
        if SOCKET.exists() and FILE.exists() and b"checkpoint 1" in FILE.read_bytes():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGUSR1)
    said = end_of(process)
    check(process.returncode >= 0 and "Gracefully stopping" in said, said)
    if change:
        content = bytearray(FILE.read_bytes())
        change(content)
        FILE.write_bytes(content)


def check_refused_servers() -> None:
    base = ("-e", str(FILE), "-m", "4")
    for value in ("=0", "=-1", "=x", "", "=99999999999999999999"):
        said = refusal(f"{OPTIONS},checkpoint_us{value}", *base)
        check("checkpoint_us must be a number of microseconds, and at least 1" in said, said)
    for options, words in ((OPTIONS, ("-m", "4")), ("no_lru_crawler", base), ("no_slab_reassign", base)):
        said = refusal(f"{options},checkpoint_us=5000", *words)
        check("checkpoint_us needs a file (-e), no_slab_reassign and no_lru_crawler" in said, said)
    said = refusal(f"{OPTIONS},no_modern,no_slab_reassign,checkpoint_us=5000", *base)
    check("checkpoint_us needs chunks below a slab page: set slab_chunk_max to 512 or less" in said, said)
    page = 4 << 20

    def version(content: bytearray) -> None:
        place = content.index(b"1.6.", page)
        content[place : place + 3] = b"1.5"

    def damage(content: bytearray) -> None:
        content[content.index(b"Kmaxbytes", page)] ^= 1

    def cut(content: bytearray) -> None:
        del content[page:]

    cases: tuple[tuple[Callable[[bytearray], None] | None, tuple[str, ...], str], ...] = (
        (version, base, "has no whole checkpoint of memcached"),
        (damage, base, "has no whole checkpoint of memcached"),
        (cut, base, "has the size of another -m, or was cut off"),
        (None, ("-e", str(FILE), "-m", "5"), "has the size of another -m, or was cut off"),
        (None, (*base, "-C"), "has a checkpoint of other settings"),
    )
    for change, arguments, wanted in cases:
        with_checkpoint(change)
        before = FILE.read_bytes()
        said = refusal(f"{OPTIONS},checkpoint_us=5000", *arguments)
        check(f"memcached: {FILE} {wanted}" in said, said)
        check(FILE.read_bytes() == before, f"{wanted}: the file was changed")


def check_refused_crawler() -> None:
    """The crawler is not started at run time either: it would put an item of its own into the lists."""
    FILE.unlink(missing_ok=True)
    SOCKET.unlink(missing_ok=True)
    process = server(f"{OPTIONS},checkpoint_us=1000", "-e", str(FILE), "-m", "4")
    with socket.socket(socket.AF_UNIX) as connection:
        for _ in range(600):
            if SOCKET.exists() and connection.connect_ex(str(SOCKET)) == 0:
                break
            time.sleep(0.1)
        connection.sendall(b"lru_crawler enable\r\n")
        answer = connection.recv(4096)
    process.send_signal(signal.SIGTERM)
    end_of(process)
    check(answer == b"ERROR failed to start lru crawler thread\r\n", f"lru_crawler enable: {answer!r}")


def check_refused_clients() -> None:
    for words, wanted in (
        (("--engine", "redo"), "--engine must be one of volatile, device, msync, snapshot, fams-uffd, not 'redo'"),
        (("--engine", "snapshot", "--epoch", "0"), "--epoch must be a number from 1"),
        (("--engine", "snapshot"), "--epoch is missing"),
        (("--engine", "volatile", "--kill-after", "1"), "makes no checkpoints"),
        (("--engine", "snapshot", "--epoch", "9", "--value", "17"), "--value must be a multiple of 8"),
        (("--engine", "volatile", "--clients", "3"), "multiples of --clients"),
        (("--engine", "snapshot", "--epoch", "9", "--kill-after", "1001"), "--kill-after is larger"),
        (("--engine", "volatile", "--socket", "/tmp/" + "x" * 200), "--socket has a path of 205 characters"),
        (("--engine", "device", "--file", ""), "--file is missing"),
    ):
        status, _, said = client(*words)
        check(status == 2 and wanted in said, f"{words}: status {status}, {said!r}")


def check_workloads() -> None:
    """Every engine answers every request; engines with checkpoints make some."""
    for engine in ("volatile", "device", "msync", "snapshot", *(["fams-uffd"] if has_uffd() else [])):
        for writes in (0, 50, 100):
            more = SIZES if engine not in ("volatile", "device") else SIZES[:4]
            status, row, said = client("--engine", engine, "--writes", str(writes), *more)
            check(status == 0, f"{engine}, {writes} % writes: {said}")
            check((row["checkpoints"] > 0) == (len(more) == len(SIZES)), f"{row}")
            # One checkpoint may have begun before the region of interest, and one may end after it.
            most_ns = row["roi_ns"] + 2 * row["longest_stop_ns"]
            check(0 <= row["stop_ns"] <= most_ns and row["server_cpu_ns"] > 0, f"{row}")
    status, row, said = client(*("--engine", "snapshot", *SIZES, *CLIENTS, "--crash"), program="memcached-ycsb-tsan")
    check(status == 0 and row["verified"], f"under TSan: {said}")


def kill(engine: str, seed: int, *more: str) -> tuple[int, dict[str, Any], str]:
    return client("--engine", engine, *SIZES, "--seed", str(seed), "--kill-after", str(1 + seed * 331 % 1900), *more)


def check_killed() -> None:
    """Items match some write of each client, not before the last checkpoint; also after a second crash."""
    for engine in ("snapshot", *(["fams-uffd"] if has_uffd() else [])):
        lost, kept = [], []
        for seed in range(1, KILLS + 1):
            more = CLIENTS if seed % 2 else ()
            status, row, said = kill(engine, seed, *more)
            check(status == 0 and row["verified"], f"{engine}, seed {seed}: {said}")
            again = ("--promised", str(row["kept_writes"])) if not more else ()
            status, row_again, said = client("--engine", engine, *SIZES, "--seed", str(seed), "--verify", *more, *again)
            check(
                status == 0 and row_again["kept_writes"] == row["kept_writes"], f"{engine}, seed {seed} again: {said}"
            )
            lost.append(row["lost_writes"])
            kept.append(row["kept_writes"])
        check(any(kept), f"{engine}: no checkpoint was made before the server died")
        print(f"{engine}: lost {lost} and kept {kept} writes")


def check_bugs() -> None:
    """Verification detects a commit amid replacements. The other seeded bug is for crash tests in guests."""
    several = (*CLIENTS, "--operations", "39999", "--kill-after", "5000")
    seen = []
    for seed in random.Random(2).sample(range(1, 100), 5):
        status, _, said = client("--engine", "bug-unlocked", *LONG, *several, "--seed", str(seed))
        seen.append(status == 1)
        print(f"seed {seed}: {said.strip().splitlines()[-1:]}")
    check(2 * sum(seen) > len(seen), f"{seen}")  # a seed without new writes detects nothing


def main() -> None:
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    if PART == "refused":
        check_refused_clients()
        check_refused_servers()
        check_refused_crawler()
    else:
        {"patch": check_patch, "workloads": check_workloads, "killed": check_killed, "bugs": check_bugs}[PART]()
    shutil.rmtree(SCRATCH)


if __name__ == "__main__":
    main()
