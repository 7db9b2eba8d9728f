#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mock of QEMU for tests of the code around a guest: the guest's result is a hash of its input.

Words of the job control it: `--pause-s N` is the duration of the guest, `--abort TEXT` its message before an abort, and
`--asks N` how often it asks for another job. A copy with the word `--stillborn` in its job is killed before it reports
its begin. The mock rejects a device with the seed 666.
"""

import ctypes
import hashlib
import json
import os
import re
import resource
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
TIME_PS = 7_400_000_000_000  # virtual time of each end


def option(pattern: str) -> str:
    """Return the first match in the command line, or exit as QEMU does for a bad one."""
    found = re.search(pattern, " ".join(sys.argv))
    return found[1] if found else sys.exit(f"mock guest: the command line has no {pattern}")


def run_guest(job: Path) -> None:
    """Write the guest's results to its results port."""
    sent = Path(option(r"-initrd (\S+)")).read_bytes() + job.read_bytes()
    pause = re.search(rb"--pause-s ([\d.]+)", sent)
    time.sleep(float(pause[1]) if pause else 0)
    if last := re.search(rb"--abort (\w+)", sent):
        print(f"mock guest: an assertion\nmock guest: {last[1].decode()}", file=sys.stderr, flush=True)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.abort()
    lines = ({"type": "result", "data": {"sent": hashlib.sha256(sent).hexdigest()}}, {"type": "exit", "status": 0})
    with Path(option(r"file,id=results,path=(\S+)")).open("a") as results:
        results.write("".join(json.dumps(line) + "\n" for line in lines))


def asks(job: Path) -> int:
    """Return how often the job asks for another one."""
    stated = re.search(rb"--asks (\d+)", job.read_bytes())
    return int(stated[1]) if stated else 0


def copied() -> bool:
    """Fork: return True in the copy, and False in this process once the copy has ended."""
    original = os.getpid()
    if child := os.fork():
        os.waitpid(child, 0)
        return False
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != original:
        sys.exit(1)
    return True


def requests(monitor: socket.socket) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream without separators."""
    text, decoder = "", json.JSONDecoder()
    while received := monitor.recv(2**16):
        text += received.decode()
        while text := text.lstrip():
            try:
                request, end = decoder.raw_decode(text)
            except ValueError:
                break
            text = text[end:]
            yield request


def serve(monitor: socket.socket) -> None:
    """Serve the part of QMP that the executor uses."""

    def say(message: dict[str, Any]) -> None:
        monitor.sendall(json.dumps(message).encode() + b"\n")

    def tell(event: str, **data: int) -> None:
        say({"event": event, "data": data, "timestamp": {"seconds": 0, "microseconds": 0}})

    if "cache-seed=666" in " ".join(sys.argv):
        sys.exit("mock guest: cache_seed cannot be 666")
    Path(option(r"id=watch,path=([^,\s]+)")).touch()
    Path(option(r"file,id=console,path=(\S+)")).touch()
    Path(option(r"file,id=results,path=(\S+)")).touch()
    say({"QMP": {"version": {"qemu": {"major": 10, "minor": 0, "micro": 0}, "package": ""}, "capabilities": []}})
    asked = 0
    for request in requests(monitor):
        command, job = request["execute"], Path(request.get("arguments", {}).get("file", ""))
        if command == "cxl-ssd-job-run-in-copy":
            in_copy, own = copied(), os.getpid()
            if not in_copy:
                tell("CXL_SSD_COPY_ENDED", pid=own)
                say({"return": {}, "id": request.get("id")})
                continue
            if b"--stillborn" in job.read_bytes():
                os.kill(own, signal.SIGKILL)
            tell("CXL_SSD_COPY_BEGUN", pid=own)
        else:
            counters = {"rois": [], "last-mark": 0, "time-ps": TIME_PS}
            say({"return": counters if command == "query-cxl-ssd" else {}, "id": request.get("id")})
        if command == "cxl-ssd-job-run" and asked < asks(job):
            asked += 1
            tell("STOP")
        elif command.startswith("cxl-ssd-job-run"):
            run_guest(job)
            tell("SHUTDOWN")
        elif command == "cont":
            tell("STOP")
        elif command == "quit":
            return


if "--version" in sys.argv:
    print("mock guest")
else:
    serve(socket.socket(fileno=int(option(r"id=qmp,fd=(\d+)"))))
