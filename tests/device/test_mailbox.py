# SPDX-License-Identifier: BSD-3-Clause
"""The device's mailbox beside a model of its health commands, over QEMU's test interface: no guest software runs.

Commands are random, by seed: ours (42h) with right and wrong lengths and any payload, upstream's read-only commands,
and unknown opcodes. TESTBED_FUZZ_SECONDS=n goes on for n seconds; TESTBED_FUZZ_SEED=n replays one series.
"""

import os
import random
import struct
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from rigs.guest.qtest_rig import DEVICE_REGISTERS, QTest, registers
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig

pytestmark = pytest.mark.guest

MAILBOX = 2  # ID of the capability in the device registers

SUCCESS, INVALID_INPUT, UNSUPPORTED, INVALID_LENGTH = 0, 2, 3, 0x16
GET_HEALTH, GET_ALERTS, SET_ALERTS, GET_SHUTDOWN, SET_SHUTDOWN = range(0x4200, 0x4205)
LENGTHS = {GET_HEALTH: 0, GET_ALERTS: 0, SET_ALERTS: 12, GET_SHUTDOWN: 0, SET_SHUTDOWN: 1}
READ_ONLY = (0x0100, 0x0102, 0x0200, 0x0300, 0x0400, 0x0401, 0x4000, 0x4100, 0x4102, 0x4300)  # upstream's commands
# Upstream's commands that erase media, transfer firmware or run in the background are not tested at random.
HARMFUL = (0x0101, 0x0103, 0x0201, 0x0202, 0x0301, 0x0303, 0x0500, 0x4101, 0x4103, 0x4301, 0x4302, 0x4303)
HARMFUL_SETS = (0x44, 0x45, 0x46, 0x48, 0x51, 0x53)
COMMANDS_QUICK = 3000

GET_FIRMWARE, TRANSFER_FIRMWARE, GET_TIMESTAMP, SET_TIMESTAMP, SCAN_MEDIA, SANITIZE = (
    *(0x0200, 0x0201, 0x0300, 0x0301),
    *(0x4304, 0x4400),
)
BACKGROUND_STARTED, BUSY = 1, 6
WHOLE, FIRST_PART, LAST_PART = 0, 1, 3  # actions of a firmware transfer
NS_PER_S = 10**9


class Mailbox:
    def __init__(self, qtest: QTest) -> None:
        self.qtest = qtest
        capabilities = qtest.read(DEVICE_REGISTERS) >> 32 & 0xFFFF
        headers = [(i, qtest.read(DEVICE_REGISTERS + 16 * i)) for i in range(1, capabilities + 1)]
        self.base = DEVICE_REGISTERS + next(h >> 32 for i, h in headers if h & 0xFFFF == MAILBOX)

    def run(self, opcode: int, payload: bytes, length: int) -> tuple[int, bytes]:
        """Run a command that states a payload of `length` bytes; return its code and its output payload."""
        if payload:
            self.qtest.ask(f"write {self.base + 0x20:#x} {len(payload)} 0x{payload.hex()}")
        self.qtest.ask(f"writeq {self.base + 0x08:#x} {opcode | length << 16:#x}")
        self.qtest.ask(f"writel {self.base + 0x04:#x} 1")
        status = self.qtest.read(self.base + 0x10)
        answered = self.qtest.read(self.base + 0x08) >> 16 & 0x1FFFFF
        assert int(self.qtest.ask(f"readl {self.base + 0x04:#x}"), 16) & 1 == 0, "the doorbell is still set"
        answer = self.qtest.ask(f"read {self.base + 0x20:#x} {answered}") if answered else "0x"
        return status >> 32 & 0xFFFF, bytes.fromhex(answer[2:])

    def transfer(self, what: int, offset: int = 0) -> int:
        """Transfer firmware, or a part of it; return the answer's code."""
        payload = struct.pack("<2B2xI", what, 2, offset).ljust(0x80, b"\0") + bytes(128)
        return self.run(TRANSFER_FIRMWARE, payload, len(payload))[0]

    def pass_seconds(self, count: int) -> None:
        """Let at least `count` seconds of virtual time pass."""
        assert self.run(SET_TIMESTAMP, bytes(8), 8)[0] == SUCCESS
        self.qtest.clock.go()
        while struct.unpack("<Q", self.run(GET_TIMESTAMP, b"", 0)[1])[0] < count * NS_PER_S:
            pass
        self.qtest.clock.stop()

    def percent_done(self) -> int:
        """Progress of the background command, from its status register."""
        return self.qtest.read(self.base + 0x18) >> 16 & 0x7F


@dataclass
class Health:
    """The expected answers of the health commands (CXL 3.1, 8.2.9.9.3)."""

    dirty_shutdowns: int
    enabled: int = 0
    life_used: int = 0
    # Thresholds of over- and under-temperature, and of volatile and persistent errors.
    levels: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    dirty: int = 0

    def expect(self, opcode: int, payload: bytes, length: int) -> tuple[int, bytes]:
        if length != LENGTHS[opcode]:
            return INVALID_LENGTH, b""
        if opcode == GET_HEALTH:
            warning = self.enabled & 1 and self.life_used == 0  # 0 % is used: only a threshold of 0 warns
            return SUCCESS, struct.pack("<4BH3I", 0, 0, bool(warning), 0, 25, self.dirty_shutdowns, 0, 0)
        if opcode == GET_ALERTS:
            over, under, *errors = self.levels
            return SUCCESS, struct.pack("<4B6H", self.enabled, 31, 90, self.life_used, 85, 0, over, under, *errors)
        if opcode == SET_ALERTS:
            return self.set_alerts(payload), b""
        if opcode == GET_SHUTDOWN:
            return SUCCESS, bytes([self.dirty])
        self.dirty = payload[0] & 1
        return SUCCESS, b""

    def set_alerts(self, payload: bytes) -> int:
        valid, enable, life_used, _, *levels = struct.unpack("<4B4H", payload[:12])
        if valid > 31 or (valid & enable & 1 and life_used >= 90):
            return INVALID_INPUT
        self.enabled = (self.enabled & ~valid) | (enable & valid)
        self.life_used = life_used if valid & 1 else self.life_used
        self.levels = [
            new if valid >> i & 2 else old for i, (new, old) in enumerate(zip(levels, self.levels, strict=True))
        ]
        return SUCCESS


def any_payload(dice: random.Random, opcode: int) -> tuple[bytes, int]:
    """A payload, and the length that the command states for it."""
    length = LENGTHS.get(opcode, 0)
    if dice.randrange(8) == 0:
        length = dice.choice((0, 1, 2, 11, 12, 13, 64, 511, 512, 2048, dice.randrange(2049)))
    payload = dice.randbytes(max(length, 1))
    if opcode == SET_ALERTS and dice.randrange(4):
        payload = bytes([payload[0] & 31]) + payload[1:]
        if dice.randrange(4) == 0:
            payload = payload[:2] + bytes(len(payload[2:3])) + payload[3:]  # warn from 0 % of the life used
    return payload, length


def test_random_commands_do_what_the_model_of_them_says(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    seed = int(os.environ.get("TESTBED_FUZZ_SEED", "1"))
    end = time.monotonic() + float(os.environ.get("TESTBED_FUZZ_SECONDS", "0"))
    dice = random.Random(seed)
    done = dict.fromkeys((SUCCESS, INVALID_INPUT, UNSUPPORTED, INVALID_LENGTH), 0)
    count = 0
    with registers(session, quick_guest, tmp_path) as qtest:
        box = Mailbox(qtest)
        health = Health(dirty_shutdowns=0)
        while count < COMMANDS_QUICK or time.monotonic() < end:
            count += 1
            opcode = dice.choice(
                (*LENGTHS, *LENGTHS, GET_ALERTS, SET_ALERTS, SET_ALERTS, *READ_ONLY, dice.randrange(1 << 16))
            )
            if opcode in HARMFUL or opcode >> 8 in HARMFUL_SETS:
                continue
            payload, length = any_payload(dice, opcode)
            code, answer = box.run(opcode, payload, length)
            done[code] = done.get(code, 0) + 1
            if opcode in LENGTHS:
                where = f"seed {seed}, command {count}: {opcode:04x}h, {length} bytes {payload.hex()}"
                assert (code, answer) == health.expect(opcode, payload, length), where
    print(f"{count} commands: " + ", ".join(f"{n} answered {code:#x}" for code, n in sorted(done.items())))
    assert all(done[code] > 20 for code in (SUCCESS, INVALID_INPUT, UNSUPPORTED, INVALID_LENGTH))


@pytest.mark.parametrize(
    ("opcode", "payload"),
    [
        (TRANSFER_FIRMWARE, struct.pack("<2B", WHOLE, 2).ljust(256, b"\0")),
        (SCAN_MEDIA, struct.pack("<2QB", 0, 1 << 20, 0)),
        (SANITIZE, b""),
    ],
    ids=["firmware", "scan", "sanitize"],
)
def test_a_reset_ends_the_background_command_and_the_next_one_is_done(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, opcode: int, payload: bytes
) -> None:
    with registers(session, quick_guest, tmp_path) as qtest:
        box = Mailbox(qtest)
        assert box.run(opcode, payload, len(payload))[0] == BACKGROUND_STARTED
        assert box.transfer(WHOLE) == BUSY
        for _ in range(3):
            qtest.reset_device()
        assert box.percent_done() == 0
        box.pass_seconds(3)  # beyond the time of the command's next step
        assert box.transfer(WHOLE) == BACKGROUND_STARTED
        box.pass_seconds(12)
        assert box.percent_done() == 100


@pytest.mark.parametrize("cpus", [1, 4])
def test_idle_time_passes_again_after_each_stop(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, cpus: int
) -> None:
    guest = replace(quick_guest, cpu=replace(quick_guest.cpu, cores=cpus))
    with registers(session, guest, tmp_path) as qtest:
        for _ in range(3):
            Mailbox(qtest).pass_seconds(2)


def test_parts_of_a_firmware_may_be_thirty_seconds_apart_in_virtual_time(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    with registers(session, quick_guest, tmp_path) as qtest:
        box = Mailbox(qtest)
        assert box.transfer(FIRST_PART) == BACKGROUND_STARTED
        box.pass_seconds(20)
        assert box.transfer(LAST_PART, offset=1) == BACKGROUND_STARTED
        box.pass_seconds(4)
        assert box.transfer(FIRST_PART) == BACKGROUND_STARTED
        box.pass_seconds(60)
        assert box.transfer(LAST_PART, offset=1) == INVALID_INPUT  # too late
