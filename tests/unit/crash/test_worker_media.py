# SPDX-License-Identifier: BSD-3-Clause
"""A worker keeps the initial media of recent crash tests: a few folders, with an open file for each."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from testbed.guest.executor import GuestOutcome, GuestSpec, device_file
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import Job
from testbed.run import dask_task
from testbed.run.errand import Begin, Errand, media_digest


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


class Writer:
    """Guests that write their script to their media."""

    def __init__(self) -> None:
        self.guests = 0

    async def run(self, spec: GuestSpec) -> GuestOutcome:
        assert spec.job and spec.media_folder
        self.guests += 1
        for kind in ("media", "lsa"):
            (spec.media_folder / device_file(kind, 0)).write_text(spec.job.script)
        return GuestOutcome("ok", 0)


def test_media_that_nobody_asked_for_lately_are_given_up(
    quick_guest: GuestConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_task, "MEDIA_MAX", 2)
    worker: Any = SimpleNamespace(extensions={}, address="tcp://127.0.0.1:1")
    writer = Writer()
    asked = Errand("one", "one.toml", GuestSpec(quick_guest, None))

    async def ask(script: str) -> Path:
        begin = Begin(Job(script), digests[script])
        return await dask_task._media(writer, replace(asked, begin=begin), worker)

    async def all_of(scripts: str) -> list[Path]:
        return [await ask(script) for script in scripts]

    digests = {}
    for script in "abcd":
        asyncio.run(writer.run(GuestSpec(quick_guest, Job(script), media_folder=tmp_path)))
        digests[script] = media_digest(tmp_path)
    writer.guests, before = 0, open_files()
    a, b, again, c, d = asyncio.run(all_of("abacd"))
    assert (writer.guests, again) == (4, a)
    assert [path.exists() for path in (a, b, c, d)] == [False, False, True, True]
    assert open_files() == before + 2
