# SPDX-License-Identifier: BSD-3-Clause
"""Reads a persistence journal (docs/reference/formats.md), which qemu-patches/model/trace/journal_writer.c writes."""

import struct
from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from google_crc32c import value as crc32c

from ..errors import TestbedError
from ..run.interrupt import Steps, at_once

LINE_BYTES = 64
MAGIC, VERSION = b"CXLJOURN", 1
HEADER = struct.Struct("<8sIII")  # magic, version, CRC of the text, its length
BLOCK = struct.Struct("<4sIII")  # magic, CRC of the rest, length of the payload, records
BLOCK_MAGIC, BLOCK_BYTES_MAX = b"JBLK", 2**16
RECORD = struct.Struct("<BBBBIQQQQ")  # kind, core, device, count, value, dpa, pc, process, at_ps; then the bytes
RECORD_HEAD = struct.Struct("<BBBBIQ")  # the first fields of a record
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
CLFLUSH = 2  # the value of a flush that needs no fence


class Record(NamedTuple):
    """One step of the run; `data` holds the bytes of a store, all in one line."""

    kind: Kind
    core: int = 0
    device: int = 0
    value: int = 0
    dpa: int = 0
    pc: int = 0
    process: int = 0
    at_ps: int = 0
    data: bytes = b""


class Records:
    """The records in a journal's bytes. Each is decoded on access: millions of objects would need much memory."""

    def __init__(self, content: bytes, offsets: "array[int]", kinds: bytes) -> None:
        self._content, self._offsets, self._kinds = content, offsets, kinds

    def __len__(self) -> int:
        return len(self._offsets)

    def __getitem__(self, index: int) -> Record:
        return self._at(self._offsets[index])

    def __iter__(self) -> Iterator[Record]:
        return map(self._at, self._offsets)

    def _at(self, offset: int) -> Record:
        kind, core, device, count, value, dpa, pc, process, at_ps = RECORD.unpack_from(self._content, offset)
        begin = offset + RECORD.size
        data = self._content[begin : begin + count]
        return Record(_KINDS[kind], core, device, value, dpa, pc, process, at_ps, data)

    def lines_of(self, kinds: Collection[Kind], indices: range) -> set[tuple[int, int]]:
        """Return device and address of each line to which records of these kinds, among `indices`, refer."""
        found = set()
        for index in indices:
            if self._kinds[index] in kinds:
                _, _, device, _, _, dpa = RECORD_HEAD.unpack_from(self._content, self._offsets[index])
                found.add((device, dpa // LINE_BYTES * LINE_BYTES))
        return found

    def of_kind(self, kind: Kind) -> list[int]:
        """Return the numbers of all records of this kind."""
        found, at = [], self._kinds.find(kind)
        while at >= 0:
            found.append(at)
            at = self._kinds.find(kind, at + 1)
        return found


@dataclass(frozen=True)
class Journal:
    """A whole run. `parameters` maps the machine's parameters to text: "device0.persist-domain" to "adr"."""

    parameters: Mapping[str, str]
    records: Records


def read(path: Path) -> Journal:
    """Read a whole journal."""
    return at_once(reading(path))


def reading(path: Path) -> Steps[Journal]:
    """Like read(), in steps. TestbedError: the journal is not whole; without its end the states would be wrong."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TestbedError(f"cannot read {path}: {error.strerror}") from error
    try:
        return (yield from parsing(content))
    except ValueError as error:
        raise TestbedError(f"{path} {error}") from error


def parse(content: bytes) -> Journal:
    """Parse the journal in these bytes. ValueError: describes the damage."""
    return at_once(parsing(content))


def parsing(content: bytes) -> Steps[Journal]:
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
    records = yield from _records(content, HEADER.size + length)
    if not len(records) or records[len(records) - 1].kind != Kind.END:
        raise ValueError("is cut short")
    return Journal({name: value for name, _, value in lines}, records)


def _records(content: bytes, at: int) -> Steps[Records]:
    offsets, kinds = array("Q"), bytearray()
    while at < len(content):
        yield
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
        found = list(_block(content, at + BLOCK.size, at + BLOCK.size + length))
        if len(found) != count:
            raise ValueError(f"is damaged: the block at byte {at} has not the records that it says")
        offsets.extend(found)
        kinds += bytes(content[offset] for offset in found)
        at += BLOCK.size + length
    return Records(content, offsets, bytes(kinds))


def _block(content: bytes, at: int, end: int) -> Iterator[int]:
    """Yield the offset of each record of a block. ValueError: a record is damaged."""
    while at + RECORD.size <= end:
        kind, _, device, count, _, dpa = RECORD_HEAD.unpack_from(content, at)
        if kind not in _KINDS or device >= DEVICES_MAX or dpa % LINE_BYTES + count > LINE_BYTES:
            raise ValueError("is damaged: there is a record that no run makes")
        yield at
        at += RECORD.size + count
    if at != end:
        raise ValueError("is damaged: a record goes beyond its block")
