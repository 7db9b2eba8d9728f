# SPDX-License-Identifier: BSD-3-Clause
"""Writes traces by docs/reference/formats.md, without the model's help: the plainest form of each item."""

import struct
from dataclasses import dataclass, field

LOAD, STORE, EVICT, END_RECORD = 0, 2, 7, 29
GAP_NONE, GAP_PLAIN = 0, 1
WINDOW, TIMED, RESET, ROI, END = 24, 25, 26, 28, 29

CPU = """l1d-size=32768 l1d-ways=8 l2-size=262144 l2-ways=16 l2-latency-ps=5000 llc-size=1048576 llc-ways=16
llc-latency-ps=20000 dram-latency-ps=80000 dram-bandwidth=20000000000 wc-buffers=4"""
DEVICE = """capacity=536870912 link-latency-ps=100000 link-read-bandwidth=32000000000 link-write-bandwidth=16000000000
controller-latency-ps=30000 cache-size=1048576 cache-page-size=4096 cache-latency-ps=50000 flash-channels=4
flash-read-ps=10000000 flash-program-ps=70000000"""


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(difference: int) -> int:
    return difference << 1 if difference >= 0 else ((-difference) << 1) - 1


@dataclass
class Trace:
    """The items of one block. `now_ps` is the time at capture that the writer states."""

    version: int = 1
    cpu: str = CPU
    device: str = DEVICE
    payload: bytearray = field(default_factory=bytearray)
    operations: int = 0
    now_ps: int = 0
    last_line: dict[int, int] = field(default_factory=dict)

    def op(self, kind: int, line: int, gap_ps: int) -> None:
        self.payload += bytes([kind | GAP_PLAIN << 6]) + varint(gap_ps)
        self.payload += varint(zigzag(line - self.last_line.get(kind, 0)))
        self.last_line[kind] = line
        self.operations += 1
        self.now_ps += gap_ps

    def record(self, kind: int, *numbers: int, text: bytes | None = None) -> None:
        self.payload += bytes([kind]) + varint(0) + varint(self.now_ps)
        for number in numbers:
            self.payload += varint(number)
        if text is not None:
            self.payload += varint(len(text)) + text

    def map_device(self, hpa: int, size: int) -> None:
        self.record(WINDOW, 0, hpa, size, 0, 1, 0, *[0] * 8)

    def header(self) -> bytes:
        lines = ["start-ps=0"]
        lines += [f"cpu.{word}" for word in self.cpu.split()]
        lines += [f"device0.{word}" for word in self.device.split()]
        text = "".join(f"{line}\n" for line in lines).encode()
        return b"CXLTRACE" + struct.pack("<III", self.version, crc32c(text), len(text)) + text

    def bytes(self, end: bool = True) -> bytes:
        if end:
            self.record(END)
        rest = struct.pack("<IIQ", len(self.payload), self.operations, 0) + bytes(self.payload)
        return self.header() + struct.pack("<II", 0x4B4C4254, crc32c(rest)) + rest


def small_trace(loads: int = 2000, end_region: bool = True) -> Trace:
    """Return a trace of loads all over 4 MiB of the device, the second half in a region of interest."""
    trace = Trace()
    trace.map_device(1 << 32, 1 << 29)
    for step in range(loads):
        if step == loads // 2:
            trace.record(TIMED, 1)
            trace.record(RESET)
            trace.record(ROI, 1, 7)
        trace.op(LOAD, (1 << 26) + step * 7919 % 65536, 100_000)
    if end_region:
        trace.record(TIMED, 0)
        trace.record(ROI, 0, 7, text=b"loads=1000\n")
    return trace
