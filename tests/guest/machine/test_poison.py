# SPDX-License-Identifier: BSD-3-Clause
"""Poison in a guest: loads get SIGBUS or EFAULT, never old bytes; full-line writes heal it (docs/howto/poison.md)."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.guest_rig import DRIVERS, RIG_PROGRAMS, said, static_programs
from testbed.guest.executor import GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

PROGRAM = RIG_PROGRAMS / "poison_cases.c"
BEGIN = f"""{DRIVERS}
mount -t debugfs none /sys/kernel/debug; mount -t tracefs none /sys/kernel/tracing
device=/sys/kernel/debug/cxl/mem0
file=/pmem/file
inject() {{ for line; do ./poison_cases inject $file $line > /dev/null; done; }}
clear() {{ ./poison_cases dpa $file $1 > $device/clear_poison; }}
meets() {{ echo "$1 $2: $(./poison_cases "$1" $file "$2")"; }}
"""
MAKE = "head -c 65536 /dev/zero | tr '\\0' x > /pmem/file; sync\n"
MEETINGS = """
echo 1 > /sys/kernel/tracing/events/cxl/cxl_general_media/enable
inject 4096 8256 12288 16384 20544 24576
meets store 4096; sync; meets load 4096; meets load 4160  # of no other line of that page
meets load 8256; meets read 8256
meets read 12288; meets read 12352
meets stream 16384; meets load 16384
meets stream-most 24576; sync; meets load 24576
clear 20544; meets load 20544
meets load 0
echo timed: $(roi-run ./poison_cases load /pmem/file 0) $(roi-run ./poison_cases load /pmem/file 4096)
echo 0x10000000 > $device/inject_poison; dd if=/dev/pmem0 bs=64K skip=4063 count=3 of=/dev/null 2>&1 | grep error
cxl list -L -m mem0 | grep -c '"source":"Injected"'
grep -c "type='ECC'\\|Host Read" /sys/kernel/tracing/trace
grep -o "dpa=[0-9a-f]*" /sys/kernel/tracing/trace | sort -u | wc -l
meets load-while-injected 28672
umount /pmem; ndctl destroy-namespace -f namespace0.0 2> /dev/null
ndctl create-namespace --mode=devdax --align=4096 --map=mem > /dev/null; file=/dev/dax0.0
for i in $(seq 50); do test -e $file || sleep 0.1; done
inject 4096; meets load 4096; meets add 4096; meets stream 4096
"""
MET = """store 4096: stored
load 4096: signal 7 code 4 at 4096, 1 << 12 bytes
load 4160: loaded 120
load 8256: signal 7 code 4 at 8192, 1 << 12 bytes
read 8256: read -1 Bad address
read 12288: read -1 Bad address
read 12352: read 64 bytes
stream 16384: streamed, loaded 5
load 16384: loaded 5
stream-most 24576: streamed
load 24576: signal 7 code 4 at 24576, 1 << 12 bytes
load 20544: loaded 0
load 0: loaded 120
timed: loaded 120 signal 7 code 4 at 4096, 1 << 12 bytes
dd: error reading '/dev/pmem0': Input/output error
5
5
5
load-while-injected 28672: signal 7 code 4 at 28672, 1 << 12 bytes
load 4096: signal 7 code 4 at 4096, 1 << 12 bytes
add 4096: signal 7 code 4 at 4096, 1 << 12 bytes
stream 4096: streamed, loaded 5
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    include = f"-I{REPO / 'guest-image/tools/include'}"
    folder = tmp_path_factory.mktemp("programs")
    return static_programs(folder, {"poison_cases": [PROGRAM]}, include)["poison_cases"]


def run(session: Session, guest: GuestConfig, script: str, program: Path, media: Path | None = None) -> str:
    job = script_job(BEGIN + script, {program.name: program})
    return said(drive(session.executor.run(GuestSpec(guest, job, media_folder=media))))


def test_who_loads_poison_is_told_and_what_is_written_whole_is_healed(
    session: Session, quick_guest: GuestConfig, program: Path
) -> None:
    guest = replace(quick_guest, cpu=replace(quick_guest.cpu, cores=2), machine_checks=True)
    assert run(session, guest, MAKE + MEETINGS, program) == MET


def test_without_machine_checks_poison_is_only_told_of(
    copying: Session, quick_guest: GuestConfig, program: Path
) -> None:
    script = MAKE + "inject 4096; meets load 4096; cxl list -L -m mem0 | grep -c Injected\n"
    assert run(copying, quick_guest, script, program) == "load 4096: loaded 120\n1\n"


def test_poison_outlives_the_power_and_what_healed_it_is_lost_with_its_bytes(
    session: Session, quick_guest: GuestConfig, program: Path, tmp_path: Path
) -> None:
    device = replace(quick_guest.device, persist_domain="none")
    guest = replace(quick_guest, machine_checks=True, device=device)
    cut = "inject 4096 8192 12288; meets stream 8192; sync\n"
    job = script_job(BEGIN + MAKE + cut + "./poison_cases stream-and-cut /pmem/file 12288\n", {program.name: program})
    outcome = drive(session.executor.run(GuestSpec(guest, job, media_folder=tmp_path)))
    assert outcome.outcome == "power-cut", outcome
    again = "cxl list -L -m mem0 | grep -c Injected; meets load 8192; meets load 4096; meets load 12288\n"
    healed = "clear 4096; meets store 4096; sync; meets load 4096\n"
    assert run(session, guest, again, program, tmp_path) == (
        "2\nload 8192: loaded 5\n"
        "load 4096: signal 7 code 4 at 4096, 1 << 12 bytes\n"
        "load 12288: signal 7 code 4 at 12288, 1 << 12 bytes\n"
    )
    assert run(session, guest, healed, program, tmp_path) == "store 4096: stored\nload 4096: loaded 8\n"


# Each engine makes a store, which is closed or killed in the middle of its commits. Then a line of its files is
# poisoned. The kernel must not write back a page with detected poison, and no other file gets its blocks.
STORES = """
echo 0 > /proc/sys/vm/dirty_writeback_centisecs
store() { exec kv --engine $1 --records 40 --buckets 4 --operations $2 --file $3 --acknowledge /commits $4; }
commits() { od -A n -t d8 -N 8 /commits 2> /dev/null || echo 0; }
opens() { # ENGINE OPERATIONS FILE LINE
    number=$((number + 1)); pool=/pmem/$number file=/pmem/$number$3
    rm -f /commits
    (store $1 $2 $pool) > /dev/null 2>&1 & writer=$!
    if [ $2 -gt 1000 ]; then while [ $(commits) -lt 9 ]; do sleep 0.01; done; kill -9 $writer; fi
    wait $writer 2> /dev/null || :
    sync $pool*
    inject $4
    status=0
    (store $1 $2 $pool --verify) > said 2> /dev/null || status=$?
    echo "$1 $2 $3 $4: status $status$(sed 's/.*"problem":/ /' said)"
}
opens snapshot 30 "" 4096; opens snapshot 30 .snapshot-log 0; opens snapshot 30 .snapshot-log 64
opens snapshot 1000000 .snapshot-log 8192
opens msync-4k 30 "" 4096
opens pmdk 30 "" 0; opens pmdk 30 "" 4096
"""
OPENED = """snapshot 30  4096: status 1 "cannot map /pmem/1: Bad address"}
snapshot 30 .snapshot-log 0: status 135
snapshot 30 .snapshot-log 64: status 0 ""}
snapshot 1000000 .snapshot-log 8192: status 135
msync-4k 30  4096: status 135
pmdk 30  0: status 1 "cannot open /pmem/6: read 3: Bad address: Bad address"}
pmdk 30  4096: status 135
"""


def test_a_store_whose_line_is_lost_ends_in_a_sentence_or_a_signal(
    copying: Session, quick_guest: GuestConfig, program: Path
) -> None:
    """Poison in a line that no program reads has no effect, and the engines verify each line that they read."""
    assert run(copying, replace(quick_guest, machine_checks=True), STORES, program) == OPENED


WORN = """echo 1 > /sys/kernel/tracing/events/cxl/cxl_general_media/enable
head -c 8388608 /dev/zero | tr '\\0' x > /pmem/file; sync
./poison_cases sweep $file 0
lost=$(cxl list -L -m mem0 | grep -c '"source":"Internal"')
echo "$lost ranges, $(grep -c "ECC.*Internal Media Management" /sys/kernel/tracing/trace) events"
"""
AGAIN = "cxl list -L -m mem0 | grep -c Internal; ./poison_cases sweep $file 0\n"


def test_a_worn_flash_loses_pages_by_itself_and_who_loads_them_is_told(
    session: Session, quick_guest: GuestConfig, program: Path, tmp_path: Path
) -> None:
    """One in 100 of 2048 pages evicted from the device cache is unreadable; no page has wrong bytes, then or later."""
    flash = {"flash_ftl": "page", "flash_block_pages": 64, "flash_erase_ps": 10**9, "flash_endurance_cycles": 10}
    errors = {
        "flash_worn_cycles": 20,
        "flash_read_errors": 5 * 10**9,
        "flash_read_errors_seed": 3,
    }  # seed 3 fails no page of ext4's metadata
    device = replace(quick_guest.device, capacity=2**28, cache_size=2**20, **flash, **errors)  # type: ignore[arg-type]
    guest = replace(quick_guest, machine_checks=True, device=device)
    job = script_job(BEGIN + WORN, {program.name: program})
    outcome = drive(session.executor.run(GuestSpec(guest, job, media_folder=tmp_path)))
    text = said(outcome)
    signals, wrong, ranges, events = map(int, re.findall(r"\d+", text)[1:])
    assert 5 < signals < 60
    assert wrong == 0
    assert min(ranges, events) >= signals
    assert outcome.rois[0]["errors"] == {"flash-read-failures": signals, "lines-lost": 64 * signals}
    more, _, again, wrong = map(int, re.findall(r"\d+", run(session, guest, AGAIN, program, tmp_path)))
    assert more >= ranges and again >= signals and wrong == 0
