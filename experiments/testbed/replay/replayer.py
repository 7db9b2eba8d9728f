# SPDX-License-Identifier: BSD-3-Clause
"""Runs memsys-replay: replays a captured trace on other device configurations, several in one process."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..build.components import build
from ..errors import RunFailed, TestbedError
from ..manifest.guest_config import GuestConfig
from ..manifest.parameters import assignments

Assignments = tuple[str, ...]  # of one configuration: ("device.cache-size=65536", ...)


@dataclass(frozen=True)
class Replayer:
    """The built program and the key of its build."""

    program: Path
    key: str

    def pass_through(self, arguments: Sequence[str]) -> int:
        """Run the program on this terminal; return its exit status."""
        sys.stdout.flush()
        return subprocess.run([str(self.program), *arguments], stdin=subprocess.DEVNULL).returncode

    def check(self, trace: Path, configurations: Sequence[Assignments]) -> None:
        """Reject a trace or configurations that cannot be replayed, before any replay starts."""
        done = subprocess.run(
            [str(self.program), "--dry-run", "--grid", "-", str(trace)],
            input=_lines(configurations), capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise _failure(done.returncode, done.stderr)

    def judge(self, guests: Sequence[GuestConfig]) -> list[str]:
        """Return for each machine why the model rejects it; empty if the model accepts it."""
        if not guests:
            return []
        done = subprocess.run(
            [str(self.program), "--judge"], input=_lines([_machine(guest) for guest in guests]),
            capture_output=True, text=True,
        )  # fmt: skip
        said = done.stdout.splitlines()
        if done.returncode or len(said) != len(guests):
            raise _failure(done.returncode, done.stderr)
        return ["" if line == "ok" else line for line in said]

    async def run(self, trace: Path, configurations: Sequence[Assignments]) -> AsyncGenerator[dict[str, Any], None]:
        """Yield each configuration's replay in order, as soon as it is done. Closing kills the process."""
        process = await asyncio.create_subprocess_exec(
            *("setpriv", "--pdeathsig", "KILL", "--", str(self.program), "--json", "--grid", "-", str(trace)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            limit=2**20,
        )  # fmt: skip
        assert process.stdin and process.stdout and process.stderr
        try:
            process.stdin.write(_lines(configurations).encode())
            process.stdin.close()
            async for line in process.stdout:
                yield json.loads(line)
            said = (await process.stderr.read()).decode(errors="replace")
            if status := await process.wait():
                raise _failure(status, said)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def open_replayer() -> Replayer:
    """Build the program unless it is already built."""
    product = build(("replay",))["replay"]
    return Replayer(product.path / "memsys-replay", product.key)


def _machine(guest: GuestConfig) -> Assignments:
    """Return all parameters of the machine that the model knows."""
    cpu = (f"cpu.{word}" for word in assignments(guest.cpu))
    device = (f"device.{word}" for word in assignments(guest.device))
    return (*cpu, f"device.capacity={guest.device.capacity}", *device)


def _lines(configurations: Sequence[Assignments]) -> str:
    return "".join(" ".join(words) + "\n" for words in configurations)


def _failure(status: int, said: str) -> TestbedError:
    last = (said.strip().splitlines() or ["it said nothing"])[-1].removeprefix("memsys-replay: ")
    return TestbedError(last) if status == 2 else RunFailed(f"memsys-replay ended with status {status}: {last}")
