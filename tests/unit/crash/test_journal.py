# SPDX-License-Identifier: BSD-3-Clause
"""The reader of persistence journals parses the format of docs/reference/formats.md and rejects damaged journals."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rigs.crash.journal_writer import PARAMETERS, JournalText, block
from testbed.crash import journal
from testbed.crash.journal import Kind, Record
from testbed.errors import TestbedError

WHOLE = [
    Record(Kind.STORE, 1, 0, 0, 4096 + 56, 0xFFFFFFFF81000000, 0x1000, 5, b"8 bytes."),
    Record(Kind.NT_STORE, 0, 7, 0, 64, 0x401000, 0x2000, 6, bytes(64)),
    Record(Kind.FLUSH, 0, 0, 2, 128),
    Record(Kind.FENCE, 31, 0, 4),
    *(Record(kind, value=2**32 - 1, at_ps=2**64 - 1) for kind in (Kind.BARRIER, Kind.WBINVD, Kind.MARK)),
    Record(Kind.WRITE_BACK, dpa=2**40),
    Record(Kind.DURABLE, dpa=2**40),
    Record(Kind.POWER_CUT),
    Record(Kind.END, at_ps=9),
]


@pytest.mark.parametrize("records_in_block", [1, 3, 100])
def test_what_is_written_is_read(records_in_block: int, tmp_path: Path) -> None:
    path = tmp_path / "whole.journal"
    path.write_bytes(JournalText(WHOLE).bytes(records_in_block))
    found = journal.read(path)
    assert (dict(found.parameters), list(found.records)) == (PARAMETERS, WHOLE)


def spoilt(change: Callable[[bytearray], object]) -> bytes:
    content = bytearray(JournalText(WHOLE).bytes())
    change(content)
    return bytes(content)


BLOCK_AT = len(JournalText().header())
BAD = {
    "is no persistence journal": b"",
    "is of version 2, and this program reads 1; record the run again": JournalText(WHOLE, version=2).bytes(),
    "is damaged: the checksum of its header is wrong": spoilt(lambda c: c.__setitem__(30, 0)),
    f"is damaged: there is no block at byte {BLOCK_AT}": spoilt(lambda c: c.__setitem__(BLOCK_AT, 0)),
    f"is damaged: the checksum of the block at byte {BLOCK_AT} is wrong": spoilt(lambda c: c.__setitem__(-1, 0xEE)),
    "is cut short": JournalText(WHOLE[:-1]).bytes(),
    "is damaged: there is a record that no run makes": JournalText([WHOLE[0]._replace(dpa=60), WHOLE[-1]]).bytes(),
}


@pytest.mark.parametrize("sentence", BAD)
def test_what_is_damaged_is_refused(sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.journal"
    path.write_bytes(BAD[sentence])
    with pytest.raises(TestbedError, match=re.escape(f"{path} {sentence}")):
        journal.read(path)


def test_a_record_stays_in_its_block() -> None:
    short = JournalText().header() + block([])[:-8]
    with pytest.raises(ValueError, match="is cut short"):
        journal.parse(short)


def test_every_cut_and_every_changed_byte_is_found() -> None:
    whole = JournalText(WHOLE).bytes(4)
    for length in range(len(whole)):
        with pytest.raises(ValueError, match=r"is (cut short|no persistence journal)"):
            journal.parse(whole[:length])
    draw = random.Random(1)
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << draw.randrange(8)
        with pytest.raises(ValueError, match=r"^is "):
            journal.parse(bytes(changed))


def test_a_journal_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="cannot read"):
        journal.read(tmp_path / "none")
