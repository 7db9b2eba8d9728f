# SPDX-License-Identifier: BSD-3-Clause
"""HDM decoders with values that no sane host commits, over QEMU's test interface: QEMU warns and goes on."""

from pathlib import Path

import pytest

from rigs.guest.qtest_rig import COMPONENT_REGISTERS, QTest, registers
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig

pytestmark = pytest.mark.guest

CACHE_MEM = COMPONENT_REGISTERS + 0x1000
HDM_CAPABILITY = 5
BASE, SIZE, CONTROL, SKIP = 0x10, 0x18, 0x20, 0x24  # of decoder 0, relative to the capability; others follow 0x20 apart
COMMIT = 1 << 9
COMMITTED = 1 << 10
WINDOW = 0x1_0000_0000_0000


class Decoders:
    def __init__(self, qtest: QTest) -> None:
        self.qtest = qtest
        count = self.get(CACHE_MEM) >> 24
        headers = [self.get(CACHE_MEM + 4 * i) for i in range(1, count + 1)]
        self.base = CACHE_MEM + next(header >> 20 for header in headers if header & 0xFFFF == HDM_CAPABILITY)

    def get(self, address: int) -> int:
        return int(self.qtest.ask(f"readl {address:#x}"), 16)

    def put(self, which: int, register: int, value: int) -> None:
        self.qtest.ask(f"writel {self.base + 0x20 * which + register:#x} {value & 0xFFFFFFFF:#x}")

    def commit(self, which: int, base: int, size: int, skip: int = 0) -> None:
        for register, value in ((BASE, base), (SIZE, size), (SKIP, skip)):
            self.put(which, register, value)
            self.put(which, register + 4, value >> 32)
        self.put(which, CONTROL, COMMIT)
        assert self.get(self.base + 0x20 * which + CONTROL) & COMMITTED

    def uncommit(self, which: int) -> None:
        self.put(which, CONTROL, 0)
        assert not self.get(self.base + 0x20 * which + CONTROL) & COMMITTED


@pytest.mark.parametrize(
    ("base", "size", "skip"),
    [
        (WINDOW, 0, 0),
        (WINDOW, 2**40, 0),
        (WINDOW, 2**28, 2**64 - 2**28),
        (WINDOW, 2**28, 2**50),
        (2**64 - 2**28, 2**29, 0),
    ],
    ids=["no bytes", "more than there are", "a gap that wraps", "beyond the device", "addresses that wrap"],
)
def test_a_decoder_that_cannot_be_is_left_untimed(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, base: int, size: int, skip: int
) -> None:
    with registers(session, quick_guest, tmp_path) as qtest:
        decoders = Decoders(qtest)
        for _ in range(2):  # state left by the first must not break the second
            decoders.commit(0, base, size, skip)
            decoders.uncommit(0)
        decoders.commit(0, WINDOW, 2**28)
        decoders.commit(1, base + 2**28, size, skip)
    assert (tmp_path / "stderr").read_text().count("HDM decoder 0 is not one that can be timed") == 2


def test_a_decoder_may_go_and_come_back_elsewhere(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    with registers(session, quick_guest, tmp_path) as qtest:
        decoders = Decoders(qtest)
        for base in (WINDOW, WINDOW + 2**28, WINDOW):
            decoders.commit(0, base, 2**28)
            qtest.ask(f"writeq {base + 64:#x} {base | 1:#x}")
            assert qtest.read(base + 64) == base | 1
            decoders.uncommit(0)
        decoders.commit(0, WINDOW, 2**28)
        assert qtest.read(WINDOW + 64) == WINDOW | 1, "the bytes are the device's, not the window's"
    assert (tmp_path / "stderr").read_text() == ""
