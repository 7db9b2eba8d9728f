# SPDX-License-Identifier: BSD-3-Clause
"""The device's registers over QEMU's test interface: no guest software runs."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from guest_rig import Paused

from testbed.manifest import GuestConfig
from testbed.qemu_line import ONE_DEVICE
from testbed.session import Session

ROOT_PORT, ENDPOINT = (12, 0), (13, 0)  # bus and slot: what firmware would have set up
COMPONENT_REGISTERS, DEVICE_REGISTERS = 0xE0000000, 0xE0100000


class QTest:
    """QEMU's test protocol: port and memory accesses, a line each."""

    def __init__(self, connection: socket.socket) -> None:
        self.stream = connection.makefile("rwb", buffering=0)

    def ask(self, command: str) -> str:
        self.stream.write(command.encode() + b"\n")
        answer = self.stream.readline().decode().strip()
        assert answer.startswith("OK"), f"{command}: {answer or 'QEMU is gone'}"
        return answer[3:]

    def config_write(self, function: tuple[int, int], register: int, value: int) -> None:
        self.ask(f"outl 0xcf8 {0x80000000 | function[0] << 16 | function[1] << 11 | register:#x}")
        self.ask(f"outl 0xcfc {value:#x}")

    def config_read(self, function: tuple[int, int], register: int) -> int:
        self.ask(f"outl 0xcf8 {0x80000000 | function[0] << 16 | function[1] << 11 | register:#x}")
        return int(self.ask("inl 0xcfc"), 16)

    def read(self, address: int) -> int:
        return int(self.ask(f"readq {address:#x}"), 16)

    def map_registers(self) -> None:
        self.config_write(ROOT_PORT, 0x18, 0x000D0D0C)  # its buses
        self.config_write(ROOT_PORT, 0x20, 0xE0F0E000)  # its memory
        self.config_write(ROOT_PORT, 0x04, 0x0006)
        for register, value in ((0x10, COMPONENT_REGISTERS), (0x14, 0), (0x18, DEVICE_REGISTERS), (0x1C, 0)):
            self.config_write(ENDPOINT, register, value)
        self.config_write(ENDPOINT, 0x04, 0x0006)


@contextmanager
def registers(session: Session, guest: GuestConfig, folder: Path) -> Iterator[QTest]:
    """A machine whose device's registers are mapped; what QEMU says goes to `folder`/stderr. It must not end."""
    line = Paused(session, guest, folder, ONE_DEVICE).line
    ours, theirs = socket.socketpair()
    test = ["-chardev", f"socket,id=qtest,fd={theirs.fileno()}", "-qtest", "chardev:qtest", "-qtest-log", "none"]
    with ours, theirs, (folder / "stderr").open("wb") as stderr:
        qemu = subprocess.Popen([*line, *test], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stderr=stderr)
        theirs.close()
        try:
            qtest = QTest(ours)
            qtest.map_registers()
            yield qtest
            assert qemu.poll() is None, "QEMU has ended"
        finally:
            qemu.kill()
            qemu.wait(20)
