# SPDX-License-Identifier: BSD-3-Clause
"""A reader of CDATs by their specification (1.04), independent of the writer."""

import struct
from dataclasses import dataclass, field

HEADER_BYTES = 16
LENGTHS = {0: 24, 1: 24, 2: 20, 4: 24}  # of DSMAS, DSLBIS, DSMSCIS and DSEMTS
KINDS = {1: "read_ps", 2: "write_ps", 4: "read_mb_s", 5: "write_mb_s"}


@dataclass
class Range:
    """A table's data on one range of a device's addresses."""

    base: int
    size: int
    non_volatile: bool
    memory: dict[str, int] = field(default_factory=dict)
    cache: dict[str, int] = field(default_factory=dict)
    cache_bytes: int = 0
    cache_attributes: int = 0
    listed_as: int = -1


def read(table: bytes) -> list[Range]:
    """Return the ranges by handle. AssertionError: the table violates the specification."""
    length, revision, _, *reserved, sequence = struct.unpack_from("<IBB6BI", table)
    assert (length, revision, sequence, sum(reserved)) == (len(table), 1, 0, 0)
    assert sum(table) % 256 == 0, "checksum"
    ranges: dict[int, Range] = {}
    at = HEADER_BYTES
    while at < length:
        kind, reserved_byte, size = struct.unpack_from("<BBH", table, at)
        assert (size, reserved_byte) == (LENGTHS[kind], 0) and at + size <= length
        _structure(ranges, kind, table[at + 4 : at + size])
        at += size
    assert list(ranges) == list(range(len(ranges)))
    return list(ranges.values())


def _structure(ranges: dict[int, Range], kind: int, body: bytes) -> None:
    handle = body[0]
    if kind == 0:
        assert handle not in ranges
        base, size = struct.unpack_from("<QQ", body, 4)
        ranges[handle] = Range(base, size, non_volatile=body[1] == 1 << 2)
    elif kind == 1:
        hierarchy, what = body[1] & 0xF, KINDS[body[2]]
        unit, entry, *others = struct.unpack_from("<QHHH", body, 4)
        assert 0 < entry < 0xFFFF and others == [0, 0]
        said = (ranges[handle].memory, ranges[handle].cache)[hierarchy]
        assert what not in said
        said[what] = unit * entry
    elif kind == 2:
        ranges[handle].cache_bytes, ranges[handle].cache_attributes = struct.unpack_from("<QI", body, 4)
    else:
        ranges[handle].listed_as = body[1]
        offset, size = struct.unpack_from("<QQ", body, 4)
        assert (offset, size) == (0, ranges[handle].size)
