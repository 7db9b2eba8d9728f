# SPDX-License-Identifier: BSD-3-Clause
"""Reads a persistence journal (docs/crash.md), whose writer is qemu-patches/model/trace/journal_writer.c."""

import gc
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from google_crc32c import value as crc32c

from ..errors import TestbedError

LINE_BYTES = 64
MAGIC, VERSION = b"CXLJOURN", 1
HEADER = struct.Struct("<8sIII")  # magic, version, CRC of the text, its length
BLOCK = struct.Struct("<4sIII")  # magic, CRC of the rest, length of the payload, records
BLOCK_MAGIC, BLOCK_BYTES_MAX = b"JBLK", 2**16
RECORD = struct.Struct("<BBBBIQQQQ")  # kind, core, device, count, value, dpa, pc, process, at_ps; then the bytes
DEVICES_MAX = 8


class Kind(IntEnum):
    STORE = 0
    NT_STORE = 1
    FLUSH = 2
    FENCE = 3
    BARRIER = 4
    WBINVD = 5
    WRITE_BACK = 6
    DURABLE = 7
    MARK = 8
    POWER_CUT = 9
    END = 10


_KINDS = {int(kind): kind for kind in Kind}
CLFLUSH = 2  # the value of a flush that waits for itself


class Record(NamedTuple):
    """One of the run's steps; `data` are the bytes of a store, all in one line."""

    kind: Kind
    core: int = 0
    device: int = 0
    value: int = 0
    dpa: int = 0
    pc: int = 0
    process: int = 0
    at_ps: int = 0
    data: bytes = b""


@dataclass(frozen=True)
class Journal:
    """A whole run. `parameters` are those of the machine, as text: "device0.persist-domain" is "adr"."""

    parameters: Mapping[str, str]
    records: tuple[Record, ...]


def read(path: Path) -> Journal:
    """All of a journal, which must be whole: what is said of states would be wrong without its end."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TestbedError(f"cannot read {path}: {error.strerror}") from error
    try:
        with _without_search_for_cycles():
            return parse(content)
    except ValueError as error:
        raise TestbedError(f"{path} {error}") from error


@contextmanager
def _without_search_for_cycles() -> Iterator[None]:
    """Python looks for cycles among all that there is, again and again. In millions of records, which are in none, that
    takes as long as reading them; so it does not look at them later, either."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if searched:
            gc.enable()


def parse(content: bytes) -> Journal:
    """The journal of these bytes; ValueError says what is wrong with it."""
    if len(content) < HEADER.size or not content.startswith(MAGIC):
        raise ValueError("is no persistence journal")
    _, version, crc, length = HEADER.unpack_from(content)
    if version != VERSION:
        raise ValueError(f"is of version {version}, and this program reads {VERSION}; record the run again")
    text = content[HEADER.size : HEADER.size + length]
    if len(text) < length:
        raise ValueError("is cut short")
    if crc32c(text) != crc:
        raise ValueError("is damaged: the checksum of its header is wrong")
    lines = [line.partition("=") for line in text.decode(errors="replace").splitlines()]
    records = tuple(_records(content, HEADER.size + length))
    if not records or records[-1].kind != Kind.END:
        raise ValueError("is cut short")
    return Journal({name: value for name, _, value in lines}, records)


def _records(content: bytes, at: int) -> Iterator[Record]:
    while at < len(content):
        rest = content[at + 8 : at + BLOCK.size]
        if len(rest) < BLOCK.size - 8:
            raise ValueError("is cut short")
        magic, crc, length, count = BLOCK.unpack_from(content, at)
        payload = content[at + BLOCK.size : at + BLOCK.size + length]
        if magic != BLOCK_MAGIC or length > BLOCK_BYTES_MAX:
            raise ValueError(f"is damaged: there is no block at byte {at}")
        if len(payload) < length:
            raise ValueError("is cut short")
        if crc32c(rest + payload) != crc:
            raise ValueError(f"is damaged: the checksum of the block at byte {at} is wrong")
        found = list(_block(payload))
        if len(found) != count:
            raise ValueError(f"is damaged: the block at byte {at} has not the records that it says")
        yield from found
        at += BLOCK.size + length


def _block(payload: bytes) -> Iterator[Record]:
    at = 0
    while at + RECORD.size <= len(payload):
        kind, core, device, count, *rest = RECORD.unpack_from(payload, at)
        value, dpa, pc, process, at_ps = rest
        at += RECORD.size
        data = payload[at : at + count]
        if kind not in _KINDS or device >= DEVICES_MAX or dpa % LINE_BYTES + count > LINE_BYTES:
            raise ValueError("is damaged: there is a record that no run makes")
        yield Record(_KINDS[kind], core, device, value, dpa, pc, process, at_ps, data)
        at += count
    if at != len(payload):
        raise ValueError("is damaged: a record goes beyond its block")
