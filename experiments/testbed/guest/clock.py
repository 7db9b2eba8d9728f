# SPDX-License-Identifier: BSD-3-Clause
"""The wall clock of a guest: a fixed date at its first boot; on kept media the clock continues after the last boot.

The file `clock` in a media folder holds the date of the next boot, in seconds after the first one. Only virtual time
moves the clock, so equal histories of the media give equal dates.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..errors import TestbedError
from ..units import TIME_PS

CLOCK = "clock"  # in a media folder
FIRST_BOOT = datetime(2026, 1, 1, tzinfo=UTC)
OFF_S = 60  # how long a machine is without power between an end that the monitor saw and the next boot
UNSEEN_S = 86_400  # from the last boot to the next one if nothing saw the end, as with a killed QEMU
LAST = datetime(2099, 12, 31, tzinfo=UTC)  # the guest's clock counts years within a century


def next_boot(media: Path | None) -> datetime:
    """The date at which a guest on these media boots; FIRST_BOOT without media."""
    if media is None:
        return FIRST_BOOT
    try:
        seconds = int((media / CLOCK).read_text())
        date = FIRST_BOOT + timedelta(seconds=seconds)
    except FileNotFoundError:
        # Media without this file come from elsewhere, and a guest may have written to them.
        known = not any(media.glob("media*.raw"))
        return FIRST_BOOT if known else FIRST_BOOT + timedelta(seconds=UNSEEN_S)
    except (ValueError, OverflowError) as error:
        raise TestbedError(
            f"{media / CLOCK} holds no number of seconds; write one into it, such as {UNSEEN_S}"
        ) from error
    if not FIRST_BOOT <= date <= LAST:
        raise TestbedError(
            f"{media / CLOCK}: {seconds} s after {FIRST_BOOT:%Y-%m-%d} is outside the years 2026 to 2099; "
            f"write a number from 0 to {int((LAST - FIRST_BOOT).total_seconds())}"
        )
    return date


def after(booted: datetime, time_ps: int | None) -> datetime:
    """The date of the next boot after one at `booted` that ended at this virtual time (None if nothing saw the end)."""
    if time_ps is None:
        return booted + timedelta(seconds=UNSEEN_S)
    return booted + timedelta(seconds=-(-time_ps // TIME_PS["s"]) + OFF_S)


def keep(media: Path | None, date: datetime) -> None:
    """Make the next boot on these media start at this date."""
    if media is None:
        return
    new = media / f"{CLOCK}.new"
    new.write_text(f"{int((date - FIRST_BOOT).total_seconds())}\n")
    new.replace(media / CLOCK)


def option(date: datetime) -> str:
    """The argument of QEMU's -rtc."""
    return f"base={date:%Y-%m-%dT%H:%M:%S},clock=vm"
