# SPDX-License-Identifier: BSD-3-Clause
"""The device's registers over QEMU's test interface: no guest software runs."""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rigs.guest.guest_rig import Paused
from testbed.guest.qemu_line import ONE_DEVICE
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig

ROOT_PORT, ENDPOINT = (12, 0), (13, 0)  # bus and slot, as firmware would set them up
COMPONENT_REGISTERS, DEVICE_REGISTERS = 0xE0000000, 0xE0100000


class Clock:
    """Lets virtual time pass on an idle CPU, in jumps from one of the machine's timers to the next."""

    FIRMWARE_BYTES = 65536
    HALTS = b"\xf4\xeb\xfd"  # hlt in a loop

    def __init__(self, connection: socket.socket) -> None:
        self.stream = connection.makefile("rwb", buffering=0)
        self.stream.readline()  # the greeting
        self.ask("qmp_capabilities")

    @classmethod
    def firmware(cls, folder: Path) -> list[str]:
        path = folder / "halts.bin"
        path.write_bytes(cls.HALTS.rjust(cls.FIRMWARE_BYTES - 16 + len(cls.HALTS), b"\xff").ljust(cls.FIRMWARE_BYTES))
        return ["-bios", str(path)]

    def ask(self, command: str) -> None:
        self.stream.write(json.dumps({"execute": command}).encode() + b"\n")
        answer: dict[str, object] = {}
        while "return" not in answer:  # events may come first
            line = self.stream.readline()
            assert line, f"{command}: QEMU is gone"
            answer = json.loads(line)
            assert "error" not in answer, answer

    def go(self) -> None:
        self.ask("cont")

    def stop(self) -> None:
        self.ask("stop")


class QTest:
    """QEMU's test protocol: port and memory accesses, a line each."""

    def __init__(self, connection: socket.socket, clock: Clock) -> None:
        self.stream = connection.makefile("rwb", buffering=0)
        self.clock = clock

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

    def reset_device(self) -> None:
        """Reset the device by its link, as the kernel does on request, and map its registers to the same addresses."""
        bridge_control = 1 << 16
        self.config_write(ROOT_PORT, 0x3C, 0x40 * bridge_control)
        self.config_write(ROOT_PORT, 0x3C, 0)
        self.map_registers()

    def map_registers(self) -> None:
        self.config_write(ROOT_PORT, 0x18, 0x000D0D0C)  # its buses
        self.config_write(ROOT_PORT, 0x20, 0xE0F0E000)  # its memory
        self.config_write(ROOT_PORT, 0x04, 0x0006)
        for register, value in ((0x10, COMPONENT_REGISTERS), (0x14, 0), (0x18, DEVICE_REGISTERS), (0x1C, 0)):
            self.config_write(ENDPOINT, register, value)
        self.config_write(ENDPOINT, 0x04, 0x0006)


@contextmanager
def registers(session: Session, guest: GuestConfig, folder: Path) -> Iterator[QTest]:
    """Start a machine with mapped device registers; QEMU's messages go to `folder`/stderr. QEMU must not end."""
    line = [*Paused(session, guest, folder, ONE_DEVICE).line, *Clock.firmware(folder)]
    pairs = {name: socket.socketpair() for name in ("qtest", "qmp")}
    for name, (_, theirs) in pairs.items():
        line += ["-chardev", f"socket,id={name},fd={theirs.fileno()}"]
    line += ["-qtest", "chardev:qtest", "-qtest-log", "none", "-mon", "chardev=qmp,mode=control"]
    fds = [theirs.fileno() for _, theirs in pairs.values()]
    with (folder / "stderr").open("wb") as stderr, ExitStack() as open_sockets:
        for ours, theirs in pairs.values():
            open_sockets.enter_context(ours)
            open_sockets.enter_context(theirs)
        qemu = subprocess.Popen(line, pass_fds=fds, stdin=subprocess.DEVNULL, stderr=stderr)
        for _, theirs in pairs.values():
            theirs.close()
        try:
            qtest = QTest(pairs["qtest"][0], Clock(pairs["qmp"][0]))
            qtest.map_registers()
            yield qtest
            assert qemu.poll() is None, "QEMU has ended"
        finally:
            qemu.kill()
            qemu.wait(20)
