# SPDX-License-Identifier: BSD-3-Clause
"""Writes persistence journals in the format of docs/reference/formats.md, without the model's help."""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rigs.trace_writer import crc32c
from testbed.crash.journal import Journal, Kind, Record, parse

PARAMETERS = {
    "device0.capacity": "1048576",
    "device0.volatile-size": "0",
    "device0.cache-page-size": "4096",
    "device0.cache-power-loss-protected": "on",
    "device0.flash-channels": "4",
    "device0.persist-domain": "adr",
    "device0.gpf-energy-uj": "0",
    "device0.gpf-line-nj": "0",
    "device0.gpf-page-nj": "0",
}


def record_bytes(record: Record) -> bytes:
    numbers = (record.value, record.dpa, record.pc, record.process, record.at_ps)
    head = struct.pack("<BBBBIQQQQ", record.kind, record.core, record.device, len(record.data), *numbers)
    return head + record.data


@dataclass
class JournalText:
    """The pieces of a journal file; a test can damage each of them."""

    records: list[Record] = field(default_factory=list)
    parameters: Mapping[str, str] = field(default_factory=lambda: PARAMETERS)
    version: int = 1

    def header(self) -> bytes:
        text = "".join(f"{name}={value}\n" for name, value in self.parameters.items()).encode()
        return b"CXLJOURN" + struct.pack("<III", self.version, crc32c(text), len(text)) + text

    def bytes(self, records_in_block: int = 100) -> bytes:
        out = self.header()
        for at in range(0, len(self.records), records_in_block):
            out += block(self.records[at : at + records_in_block])
        return out


def block(records: Iterable[Record]) -> bytes:
    pieces = [record_bytes(record) for record in records]
    payload = b"".join(pieces)
    rest = struct.pack("<II", len(payload), len(pieces)) + payload
    return b"JBLK" + struct.pack("<I", crc32c(rest)) + rest


def journal_of(records: Iterable[Record], **device: str) -> Journal:
    """Return a journal in memory; `device` gives parameters that differ from PARAMETERS."""
    changed = {f"device0.{name.replace('_', '-')}": value for name, value in device.items()}
    return parse(JournalText([*records, Record(Kind.END)], PARAMETERS | changed).bytes())
