# SPDX-License-Identifier: BSD-3-Clause
"""Progress lines of `testbed exec` for a guest that takes long."""

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rigs.guest.qmp_rig import monitor
from testbed.cli import execution
from testbed.guest import pulse
from testbed.guest.top import Sample


def answer(time_ps: int, **region: int) -> dict[str, Any]:
    running = {"id": 2, "begin-ps": 0, "end-ps": time_ps, "counters": {}, **region}
    return {"time-ps": time_ps, "rois": [], **({"running": running} if region else {})}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (None, answer(3 * 10**12), "9 s of this host: the guest is at 3 s of its own time"),
        (answer(3 * 10**12), answer(3 * 10**12 + 5 * 10**11), "at 3.5 s of its own time; a second of it takes 40 s"),
        (answer(3 * 10**12), answer(3 * 10**12), "at 3 s of its own time; none of it passes"),
        (
            answer(10**12, instructions=10**6), answer(2 * 10**12, instructions=401 * 10**6),
            "; a second of it takes 20 s, 20 M instructions a second in region 2",
        ),
        (
            answer(10**12), answer(2 * 10**12, instructions=10**8),
            "; a second of it takes 20 s, 5 M instructions a second in region 2",
        ),
    ],
)  # fmt: skip
def test_a_line_says_how_far_it_is_and_how_slowly_its_time_passes(
    before: dict[str, Any] | None, after: dict[str, Any], said: str
) -> None:
    line = pulse.said(Sample(1.0, before) if before else None, Sample(21.0, after), 9.4)
    assert line.startswith("9 s of this host: the guest is") and line.endswith(said)


def told(socket: Path, answers: list[dict[str, Any]], work_s: float) -> list[str]:
    lines: list[str] = []

    async def work() -> None:
        async with monitor(socket, answers), pulse.felt(socket, lines.append, silence_s=0.05):
            await asyncio.sleep(work_s)

    asyncio.run(work())
    return lines


def test_it_is_silent_at_first_and_ends_with_the_work_or_the_guest(tmp_path: Path) -> None:
    many = [answer(n * 10**12) for n in range(1, 1000)]
    assert told(tmp_path / "short", many, 0.0) == []
    assert len(told(tmp_path / "two", many[:2], 1.0)) == 2  # the guest has ended by then, and the work goes on
    assert 0 < len(told(tmp_path / "long", many, 0.5)) < 20


def test_nobody_listens_and_nothing_is_said(tmp_path: Path) -> None:
    lines: list[str] = []

    async def work() -> str:
        async with pulse.felt(tmp_path / "none", None), pulse.felt(tmp_path / "none", lines.append, silence_s=0.01):
            await asyncio.sleep(0.1)
        return "done"

    assert (asyncio.run(work()), lines) == ("done", [])


def test_a_line_is_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guest's output goes to the same stream from another thread, so it could come between two writes."""
    written: list[str] = []
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=written.append))
    execution.tell_progress("9 s of this host")
    assert written == ["testbed: 9 s of this host\n"]
