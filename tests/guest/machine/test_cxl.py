# SPDX-License-Identifier: BSD-3-Clause
"""Stock Linux tools on the device: partitions, file systems, memory of a NUMA node, interleaving and health."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.guest_rig import BY_HAND, EXT4, MOUNT, NAMESPACE, SETTLE, region, run, said
from testbed.guest.executor import GuestSpec
from testbed.guest.qemu_line import Layout, PowerCut
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest


def both_partitions(guest: GuestConfig) -> GuestConfig:
    device = replace(guest.device, capacity=2**30, volatile_size=2**29)
    return replace(guest, device=device)


def test_programs_and_their_page_tables_live_on_the_volatile_partition(
    session: Session, quick_guest: GuestConfig
) -> None:
    """The partition is memory of a separate node, beside a persistent region of the same device."""
    outcome = run(
        session,
        both_partitions(quick_guest),
        region("ram", "mem0") + "daxctl reconfigure-device --mode=system-ram --no-movable dax0.0 > /dev/null\n"
        "cxl create-region -m -d decoder0.0 -t pmem mem0\n"
        'numactl --membind=1 bash -c \'x=$(head -c 3000000 /dev/zero | tr "\\0" x); echo length ${#x}; '
        "cat /sys/devices/system/node/node1/meminfo; roi-run md5sum /usr/bin/bash'\n"
        "cxl list -R\n",
    )
    text = said(outcome)
    assert "length 3000000" in text
    assert '"type":"ram"' in text and '"type":"pmem"' in text
    page_tables = re.search(r"Node 1 PageTables: +(\d+) kB", text)
    anonymous = re.search(r"Node 1 AnonPages: +(\d+) kB", text)
    assert page_tables and int(page_tables[1]) > 0
    assert anonymous and int(anonymous[1]) > 3000
    assert outcome.rois[-1]["counters"]["cxl-reads"] > 1000


def test_xfs_and_devdax(copying: Session, quick_guest: GuestConfig) -> None:
    outcome = run(
        copying,
        quick_guest,
        region("pmem", "mem0")
        + NAMESPACE
        + "mkfs.xfs -q -m reflink=1 /dev/pmem0\n"
        + MOUNT
        + "findmnt -no OPTIONS /pmem\n"
        "head -c 10000000 /dev/urandom > /pmem/a; cp --reflink=always /pmem/a /pmem/b; roi-run md5sum /pmem/a /pmem/b\n"
        "umount /pmem; ndctl destroy-namespace -f namespace0.0 2> /dev/null\n"
        "ndctl create-namespace --mode=devdax --map=mem; daxctl list\n",
    )
    text = said(outcome)
    assert "dax=always" in text
    assert '"chardev":"dax0.0"' in text and '"mode":"devdax"' in text
    assert outcome.rois[-1]["counters"]["cxl-reads"] > 10**7 // 64


@pytest.mark.parametrize(
    ("ways", "granularity", "part"),
    [pytest.param(2, 256, "", marks=pytest.mark.by_hand), (2, 16384, "-s 512M"), (3, 256, "")],
    ids=["2 ways", "half of 2 devices", "3 ways"],
)
def test_an_interleaved_region_keeps_its_content(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, ways: int, granularity: int, part: str
) -> None:
    """Content survives an orderly power-off and, if flushed, a power cut; each time all devices serve the reads.

    Three ways need three host bridges, since one interleaves over powers of two only.
    """
    bridges, window_bytes = (3, 3 * 2**30) if ways == 3 else (1, Layout.window_bytes)
    layout = Layout(devices=ways, bridges=bridges, window_bytes=window_bytes, kernel="testbed.nopmem")
    # Linux numbers the devices as it finds them; their order in the region follows their serial numbers.
    devices = f"$(for n in $(seq {ways}); do grep -lx 0x$n /sys/bus/cxl/devices/mem*/serial | cut -d/ -f6; done)"
    create = region("pmem", f"-w {ways} -g {granularity} {part} {devices}")
    fill = "head -c 20000000 /dev/urandom > /pmem/a; md5sum < /pmem/a; umount /pmem\n"
    write = "sync; cp /pmem/a /pmem/b; sync; md5sum < /pmem/b; while :; do cp /pmem/a /pmem/c; rm /pmem/c; done\n"
    check = "cat /pmem/a | md5sum; cat /pmem/b | md5sum; roi-run md5sum /pmem/a; cxl list -M | grep -c memdev\n"
    first = said(run(session, quick_guest, create + NAMESPACE + EXT4 + fill, layout=layout, media_folder=tmp_path))
    cut = PowerCut(at_event=2_000_000)
    lost = run(session, quick_guest, create + MOUNT + write, layout=layout, media_folder=tmp_path, cut=cut)
    assert lost.outcome == "power-cut", lost.stderr.decode() + lost.console[-500:]
    assert lost.power_cut is not None and lost.power_cut["event"] == 2_000_000
    outcome = run(session, quick_guest, create + MOUNT + check, layout=layout, media_folder=tmp_path)
    last = said(outcome).splitlines()
    assert [line.split()[0] for line in last[:3]] == [first.split()[0]] * 3
    assert last[3] == str(ways)
    roi = outcome.rois[-1]
    assert roi["counters"]["cxl-reads"] > 10**7 // 64
    assert len(roi["devices"]) == ways
    for name in roi["devices"][0]:
        counts = [device[name] for device in roi["devices"]]
        assert sum(counts) == roi["counters"][name], name
        if name == "cxl-reads":
            assert min(counts) > 0.9 * max(counts), "in turn, so evenly"


@pytest.mark.parametrize("devices", [1, 2], ids=["1 device", "2 ways"])
def test_a_region_that_is_destroyed_and_made_again_keeps_its_content(
    session: Session, quick_guest: GuestConfig, devices: int
) -> None:
    """Linux resets the decoders one by one, and commits them again."""
    which = "mem0" if devices == 1 else "-w 2 -g 256 mem0 mem1"
    outcome = run(
        session,
        quick_guest,
        region("pmem", which) + "head -c 9000000 /dev/urandom > made; ndctl create-namespace --mode=raw > /dev/null\n"
        "dd if=made of=/dev/pmem0 bs=1M oflag=direct 2> /dev/null; sync\n"
        "ndctl disable-namespace all 2> /dev/null; cxl destroy-region -f region0; cxl list -R | grep -c region || :\n"
        + region("pmem", which)
        + SETTLE.format(path="/dev/pmem*")
        + "md5sum < made; head -c 9000000 /dev/pmem* | md5sum\n",
        layout=replace(BY_HAND, devices=devices),
    )
    regions, made, found = said(outcome).split("\n")[:3]
    assert (regions, found) == ("0", made)


def test_the_tools_list_and_watch_without_complaint(copying: Session, quick_guest: GuestConfig) -> None:
    outcome = run(
        copying,
        quick_guest,
        region("pmem", "mem0") + NAMESPACE + "exec 2>&1\n"
        "for list in 'cxl list -vvv' 'cxl list -H' 'cxl list -A' 'ndctl list -vvv' 'daxctl list'; do\n"
        '    $list > out; echo "$list" ended with $?; grep -iE "error|fail|warn" out | grep -v errors.:0 || :\n'
        "done\n"
        "dmesg --level=err,warn | grep -iE 'cxl|nd_|dax' || :\n",
    )
    lines = [line for line in said(outcome).splitlines() if "_prog_warn_" not in line and "mem_err" not in line]
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["0"] * 5, lines


def test_poison_and_the_event_of_a_dirty_shutdown_reach_linux(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """Linux reports both in the kernel's trace events and in the log of `cxl monitor`."""
    guest = replace(quick_guest, device=replace(quick_guest.device, cache_power_loss_protected=False))
    write = region("pmem", "mem0") + NAMESPACE + "while :; do head -c 30000000 /dev/urandom > /dev/pmem0; sync; done\n"
    run(session, guest, write, cut=PowerCut(at_event=400_000), media_folder=tmp_path)
    script = """
mount -t tracefs none /sys/kernel/tracing; mount -t debugfs none /sys/kernel/debug
modprobe -a cxl_acpi cxl_mem cxl_pmem
echo 1 > /sys/kernel/tracing/events/cxl/enable
cxl monitor -l /run/monitor.log & sleep 2
modprobe cxl_pci; sleep 2
grep -o 'cxl_memory_module.*' /sys/kernel/tracing/trace
for change in inject clear; do
    echo 0x1000 > /sys/kernel/debug/cxl/mem0/${change}_poison
    echo $change ended with $?; cxl list -L -m mem0
done
sleep 2
kill -0 $! && kill $!
echo monitor; cat /run/monitor.log
"""
    job = script_job(script)
    outcome = drive(session.executor.run(GuestSpec(guest, job, media_folder=tmp_path, layout=BY_HAND)))
    event, injected, cleared, log = re.split("(?:inject|clear) ended with 0|monitor\n", said(outcome))
    assert "log=Warning" in event and "dirty_shutdown_cnt=1" in event
    assert '"offset":4096' in injected and '"source":"Injected"' in injected
    assert "media_errors" not in cleared
    watched = [json.loads(line) for line in log.splitlines()]
    assert {(row["system"], row["memdev"], row["serial"]) for row in watched} == {("cxl", "mem0", 1)}
    shutdowns = [row["dirty_shutdown_cnt"] for row in watched if row["event"] == "cxl_memory_module"]
    assert shutdowns == [1]
    poison = [(row["dpa"], row["dpa_length"]) for row in watched if row["event"] == "cxl_poison"]
    assert set(poison) == {(4096, 64)} and len(poison) == 3, "injected, listed, cleared"
    assert outcome.stderr == b""
