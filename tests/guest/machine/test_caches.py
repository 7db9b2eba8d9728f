# SPDX-License-Identifier: BSD-3-Clause
"""A guest and its libc see the caches that the model times, at full size and scaled."""

from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.bare_rig import words
from rigs.guest.guest_rig import run, said
from testbed.guest.session import Session
from testbed.manifest import profiles
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.parameters import CpuProfile
from testbed.manifest.scale import scale_cpu

pytestmark = pytest.mark.guest

LOADER = "/lib64/ld-linux-x86-64.so.2"
READ = """
for cache in /sys/devices/system/cpu/cpu0/cache/index*; do
    cat $cache/level $cache/type $cache/size $cache/ways_of_associativity $cache/number_of_sets \\
        $cache/coherency_line_size $cache/shared_cpu_list | tr '\\n' ' '
    echo
done
"""


def scaled(guest: GuestConfig, scale: int) -> GuestConfig:
    cpu = profiles.load_cpu("xeon-6230-class", {}, Path("test"))
    return replace(guest, cpu=scale_cpu(cpu, scale))


def caches(cpu: CpuProfile) -> list[tuple[str, int, int]]:
    """Return level and type, bytes and ways of each visible cache; the L1I, which is not timed, is like the L1D."""
    return [
        ("1 Data", cpu.l1d_size, cpu.l1d_ways),
        ("1 Instruction", cpu.l1d_size, cpu.l1d_ways),
        ("2 Unified", cpu.l2_size, cpu.l2_ways),
        ("3 Unified", cpu.llc_size, cpu.llc_ways),
    ]


@pytest.mark.parametrize("scale", [1, 64])
def test_sysfs_and_libc_follow_the_profile_and_the_scale(
    session: Session, quick_guest: GuestConfig, scale: int
) -> None:
    guest = scaled(quick_guest, scale)
    told = said(run(session, guest, f"{READ}{LOADER} --list-diagnostics | grep cache_size="))
    for kind, size, ways in caches(guest.cpu):
        assert f"{kind} {size >> 10}K {ways} {size // ways // 64} 64 0 \n" in told, told
    for name, size in (
        ("level1_dcache_size", guest.cpu.l1d_size),
        ("level2_cache_size", guest.cpu.l2_size),
        ("level3_cache_size", guest.cpu.llc_size),
        ("data_cache_size", guest.cpu.l1d_size),
    ):
        assert f".{name}={size:#x}\n" in told, told


@pytest.mark.parametrize("scale", [1, 64])
def test_the_older_leaves_agree(session: Session, quick_guest: GuestConfig, tmp_path: Path, scale: int) -> None:
    guest = scaled(quick_guest, scale)
    ask = "    mov ${leaf:#x}, %eax\n    cpuid\n    mov %{register}, %eax\n    tell"
    asked = [ask.format(leaf=leaf, register=r) for leaf, r in ((0x80000005, "ecx"), (0x80000006, "ecx"), (2, "edx"))]
    l1d, l2, descriptors = words(session, guest, tmp_path, "\n".join(asked))
    assert (l1d >> 24, l1d >> 16 & 0xFF, l1d & 0xFF) == (guest.cpu.l1d_size >> 10, guest.cpu.l1d_ways, 64)
    assert (l2 >> 16, l2 >> 12 & 0xF, l2 & 0xFF) == (guest.cpu.l2_size >> 10, 9, 64), "ways: see leaf 8000001D"
    assert descriptors == 0, "leaf 2 is Intel's"


def test_a_size_that_an_older_leaf_cannot_tell(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    """For a size below 1 KiB, the leaf reports 0 KiB and the right number of ways."""
    small = replace(quick_guest, cpu=replace(quick_guest.cpu, l1d_size=64 * 9, l1d_ways=9, l2_size=64 * 16, l2_ways=1))
    (l1d,) = words(session, small, tmp_path, "    mov $0x80000005, %eax\n    cpuid\n    mov %ecx, %eax\n    tell")
    assert (l1d >> 24, l1d >> 16 & 0xFF, l1d & 0xFF) == (0, 9, 64)
