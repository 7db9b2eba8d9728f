#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""In QEMU's place where only what is around a guest is tested: its result is a hash of what was sent into it.

The job's words `--pause-s N` say how long the guest takes.
"""

import hashlib
import json
import re
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def option(pattern: str) -> str:
    """The first match in the command line, or an exit as QEMU's for a bad one."""
    found = re.search(pattern, " ".join(sys.argv))
    return found[1] if found else sys.exit(f"mock guest: the command line has no {pattern}")


def run_guest() -> None:
    """What the guest would write to its results port."""
    initrd = Path(option(r"-initrd (\S+)")).read_bytes()
    pause = re.search(rb"--pause-s ([\d.]+)", initrd)
    time.sleep(float(pause[1]) if pause else 0)
    lines = ({"type": "result", "data": {"initrd": hashlib.sha256(initrd).hexdigest()}}, {"type": "exit", "status": 0})
    Path(option(r"file,id=results,path=(\S+)")).write_text("".join(json.dumps(line) + "\n" for line in lines))


def requests(monitor: socket.socket) -> Iterator[dict[str, Any]]:
    """JSON objects, with nothing between them."""
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
    """As much of QMP as the executor speaks."""

    def say(message: dict[str, Any]) -> None:
        monitor.sendall(json.dumps(message).encode() + b"\n")

    say({"QMP": {"version": {"qemu": {"major": 10, "minor": 0, "micro": 0}, "package": ""}, "capabilities": []}})
    for request in requests(monitor):
        counters = {"rois": [], "last-mark": 0}
        say({"return": counters if request["execute"] == "query-cxl-ssd" else {}, "id": request.get("id")})
        if request["execute"] == "cont":
            run_guest()
            say({"event": "SHUTDOWN", "data": {}, "timestamp": {"seconds": 0, "microseconds": 0}})
        elif request["execute"] == "quit":
            return


if "--version" in sys.argv:
    print("mock guest")
else:
    serve(socket.socket(fileno=int(option(r"id=qmp,fd=(\d+)"))))
