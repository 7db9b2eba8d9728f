# SPDX-License-Identifier: BSD-3-Clause
"""Mock guests of a crash test (whole guests, and copies that judge a state), and a crash test of a ring."""

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

from rigs.crash.journal_writer import JournalText
from testbed.crash.journal import Kind, Record
from testbed.guest.executor import GuestOutcome, GuestSpec


def script_of(spec: GuestSpec) -> str:
    """Return the guest's script, or for a copy, the script that all copies run."""
    assert spec.job
    return spec.copy_of.rehearsal.executables["judge"].decode() if spec.copy_of else spec.job.script


def mark_of(spec: GuestSpec) -> int:
    """Return the last mark that a state had passed."""
    assert spec.job and spec.copy_of
    name, mark = spec.job.script.split()
    assert name == "judge"
    return int(mark)


def content_of(spec: GuestSpec) -> bytes:
    """Return the media that the guest starts on, with the lines of a copy applied."""
    assert spec.media_folder
    content = bytearray((spec.media_folder / "media.raw").read_bytes())
    for device, dpa, line in struct.iter_unpack("<QQ64s", spec.copy_of.lines if spec.copy_of else b""):
        assert device == 0
        content[dpa : dpa + 64] = line
    return bytes(content)


def reads_of(*lines: int) -> bytes:
    """Encode lines as a copy reports the lines that it has read."""
    return b"".join(struct.pack("<QQ", 0, dpa) for dpa in lines)


TEXT = """
name = "ring"
summary = "A record and its flag"

[crash]
setup = "the setup"
workload = "the workload"
recover = "the recovery"
check = "the check"
"""
RECORD, FLAG = 0, 64  # lines


def store(dpa: int, pc: int = 0) -> Record:
    return Record(Kind.STORE, dpa=dpa, pc=pc, data=b"x" * 8)


def flush(dpa: int) -> Record:
    return Record(Kind.FLUSH, dpa=dpa)


def mark(number: int) -> Record:
    return Record(Kind.MARK, value=number)


FENCE = Record(Kind.FENCE)
SOUND = [mark(0), store(RECORD), flush(RECORD), FENCE, store(FLAG), flush(FLAG), FENCE, mark(1), mark(1)]
NO_FLUSH = [record for record in SOUND if record != flush(RECORD)]
NO_FENCE = [*SOUND[:3], *SOUND[4:]]


@dataclass
class Played:
    """Guests with a check that fails for a flag without its record, and for a missing flag after acknowledgement."""

    records: Iterable[Record]
    outcomes: dict[str, GuestOutcome] = field(default_factory=dict)  # by text in the script; overrides the usual
    whole: bool = True  # whether the journal has its end record
    rehearsed: tuple[bytes, ...] = ()
    regions: set[str] = field(default_factory=set)  # values of region_is in the scripts of copies
    says: bytes = b""  # printed before the check's complaint

    def __call__(self, spec: GuestSpec) -> GuestOutcome:
        assert spec.media_folder
        media, script = spec.media_folder / "media.raw", script_of(spec)
        for lines, outcome in self.outcomes.items():
            if lines in script:
                return outcome
        if "the setup" in script:
            media.write_bytes(bytes(4096))
            media.with_name("lsa.raw").write_bytes(b"")
        if "the workload" in script:
            assert spec.journal
            media.write_bytes(b"x" * 4096)
            spec.journal.write_bytes(JournalText([*self.records, *([Record(Kind.END)] * self.whole)]).bytes())
        if not spec.copy_of:
            return GuestOutcome("ok", 0, console="booted")
        self.regions |= set(re.findall(r"^region_is=(\w+)$", spec.copy_of.rehearsal.script, re.MULTILINE))
        assert "the recovery\nthe check" in script
        content, acknowledged = content_of(spec), mark_of(spec) == 1
        sound = content[RECORD] > 0 if content[FLAG] else not acknowledged
        return GuestOutcome(
            "ok" if sound else "failed",
            int(not sound),
            console="booted",
            stderr=self.says + b"so\nit is not there\n",
            reads=reads_of(FLAG, *([RECORD] if content[FLAG] else [])),
            rehearsed=self.rehearsed,
        )
