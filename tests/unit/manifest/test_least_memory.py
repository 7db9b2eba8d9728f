# SPDX-License-Identifier: BSD-3-Clause
"""A guest with too little memory for its root is rejected before it boots, with the least sufficient memory."""

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.guest.capacity import check_holds, least_memory_mib
from testbed.guest.cpio import CpioWriter
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import Job

MIB = 2**20


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive of one file of 16 MiB and a thousand small files, each of which takes a page of memory."""
    path = tmp_path / "packages.cpio"
    with path.open("wb") as file:
        writer = CpioWriter(file)
        writer.add_file("large", bytes(16 * MIB))
        for n in range(1000):
            writer.add_file(f"small/{n}", b"x")
        writer.close()
    return path


def test_the_least_memory_is_the_archives_twice_what_is_in_them_and_the_kernel(archive: Path) -> None:
    unpacked = 16 * MIB + 1000 * 4096
    bytes_of = archive.stat().st_size + 2 * unpacked + 45 * MIB
    assert least_memory_mib([archive], None) == -(-bytes_of * 64 // 63 // MIB) == 103
    job = Job("true", {"data": bytes(4 * MIB)}, {"program": bytes(4 * MIB)})
    assert least_memory_mib([archive], job) == -(-(bytes_of + 16 * MIB) * 64 // 63 // MIB)


def test_a_guest_too_small_is_refused_with_the_least_that_could_do(guest: GuestConfig, archive: Path) -> None:
    check_holds(replace(guest, memory_bytes=103 * MIB), [archive], None)
    with pytest.raises(
        TestbedError, match=r"guest\.memory is 102 MiB, too little for .*; it must be at least 103MiB"
    ) as no:
        check_holds(replace(guest, memory_bytes=102 * MIB), [archive], None)
    assert no.value.exit_status == 2
