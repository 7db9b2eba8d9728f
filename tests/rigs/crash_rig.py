# SPDX-License-Identifier: BSD-3-Clause
"""What the played guests of a crash test are asked for: a guest of its own, or a copy that judges a state."""

import struct

from testbed.guest.executor import GuestSpec


def script_of(spec: GuestSpec) -> str:
    """What it runs; of a copy, what all copies do."""
    assert spec.job
    return spec.copy_of.rehearsal.executables["judge"].decode() if spec.copy_of else spec.job.script


def mark_of(spec: GuestSpec) -> int:
    """The last mark that a state had passed."""
    assert spec.job and spec.copy_of
    name, mark = spec.job.script.split()
    assert name == "judge"
    return int(mark)


def content_of(spec: GuestSpec) -> bytes:
    """The media that it starts on."""
    assert spec.media_folder
    content = bytearray((spec.media_folder / "media.raw").read_bytes())
    for device, dpa, line in struct.iter_unpack("<QQ64s", spec.copy_of.lines if spec.copy_of else b""):
        assert device == 0
        content[dpa : dpa + 64] = line
    return bytes(content)


def reads_of(*lines: int) -> bytes:
    """As a copy tells which it has read."""
    return b"".join(struct.pack("<QQ", 0, dpa) for dpa in lines)
