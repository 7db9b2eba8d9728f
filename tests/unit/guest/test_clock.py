# SPDX-License-Identifier: BSD-3-Clause
"""The wall clock of guests on kept media never goes back, however their last boot ended."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.guest import clock, executor, qemu_line, shell
from testbed.guest.executor import GuestSpec, QemuExecutor
from testbed.guest.qemu_line import Images
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

FIRST = "base=2026-01-01T00:00:00,clock=vm"
SEEN = "base=2026-01-01T00:01:08,clock=vm"  # the mock's constant 7.4 s, rounded up, and a minute
SEEN_TWICE = "base=2026-01-01T00:02:16,clock=vm"
UNSEEN = "base=2026-01-02T00:00:00,clock=vm"


@pytest.fixture
def dates(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The -rtc option of each QEMU that starts."""
    started: list[str] = []

    def command_line(*arguments: object, **options: object) -> list[str]:
        line = original(*arguments, **options)  # type: ignore[arg-type]
        started.append(line[line.index("-rtc") + 1])
        return line

    original = qemu_line.command_line
    for module in (executor, shell):
        monkeypatch.setattr(module, "command_line", command_line)
    return started


def run(images: Images, guest: GuestConfig, media: Path | None, script: str = "true") -> str:
    return drive(QemuExecutor(images).run(GuestSpec(guest, script_job(script), media_folder=media))).outcome


def test_the_clock_continues_on_kept_media_and_only_there(
    images: Images, guest: GuestConfig, tmp_path: Path, dates: list[str]
) -> None:
    for media in (tmp_path / "a", tmp_path / "a", tmp_path / "a", tmp_path / "b", tmp_path / "b", None, None):
        assert run(images, guest, media) == "ok"
    assert dates == [FIRST, SEEN, SEEN_TWICE, FIRST, SEEN, FIRST, FIRST]


@pytest.mark.parametrize(("script", "outcome"), [("x --abort now", "lost"), ("x --pause-s 30", "timeout")])
def test_an_end_that_nothing_saw_is_a_day_before_the_next_boot(
    images: Images, guest: GuestConfig, tmp_path: Path, dates: list[str], script: str, outcome: str
) -> None:
    """QEMU aborts, or hangs and is killed."""
    media = tmp_path / "media"
    assert run(images, guest, media) == "ok"
    assert run(images, replace(guest, timeout_s=3), media, script) == outcome
    assert run(images, guest, media) == "ok"
    assert dates == [FIRST, SEEN, "base=2026-01-02T00:01:08,clock=vm"]


def test_a_shell_moves_the_clock_of_its_media(
    images: Images, guest: GuestConfig, tmp_path: Path, dates: list[str]
) -> None:
    """The mock has no terminal and ends at once, like a QEMU that is killed."""
    media = tmp_path / "media"
    assert run(images, guest, media) == "ok"
    shell.run_shell(images, guest, media)
    shell.run_shell(images, guest, media)
    assert dates == [FIRST, SEEN, "base=2026-01-02T00:01:08,clock=vm"]


def test_media_without_a_date_may_have_been_written_by_a_guest(
    images: Images, guest: GuestConfig, tmp_path: Path, dates: list[str]
) -> None:
    media = tmp_path / "media"
    assert run(images, guest, media) == "ok"
    (media / clock.CLOCK).unlink()
    assert run(images, guest, media) == "ok"
    assert dates == [FIRST, UNSEEN]


@pytest.mark.parametrize(
    ("content", "said"),
    [("x", "no number"), ("", "no number"), ("-1", "outside"), ("9" * 10, "outside"), ("9" * 30, "no number")],
)
def test_a_date_that_is_none_is_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / clock.CLOCK).write_text(content)
    with pytest.raises(TestbedError, match=said) as caught:
        clock.next_boot(tmp_path)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(("time_ps", "seconds"), [(0, 60), (1, 61), (10**12, 61), (10**12 + 1, 62), (None, 86_400)])
def test_the_next_boot_is_after_every_second_of_the_last(time_ps: int | None, seconds: int) -> None:
    booted = datetime(2026, 2, 28, 23, 59, 59, tzinfo=clock.FIRST_BOOT.tzinfo)
    assert clock.after(booted, time_ps) - booted == timedelta(seconds=seconds)
