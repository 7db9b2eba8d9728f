# SPDX-License-Identifier: BSD-3-Clause
"""What stock Linux tools make of the device: partitions, file systems, memory of a NUMA node, interleaving, health."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.executor import GuestOutcome, GuestSpec
from testbed.job import script_job
from testbed.manifest import GuestConfig
from testbed.qemu_line import Layout, PowerCut
from testbed.runner import drive
from testbed.session import Session

pytestmark = pytest.mark.guest

DRIVERS = "set -e\nmodprobe -a cxl_acpi cxl_pci cxl_mem cxl_pmem nd_pmem dax_cxl device_dax kmem\n"
BY_HAND = Layout(kernel="testbed.nopmem memhp_default_state=offline")
REGION = "cxl create-region -m -d decoder0.0 -t {kind} {options} > /dev/null\n"
SETTLE = "for i in $(seq 50); do test -e {path} || sleep 0.1; done\n"
NAMESPACE = "ndctl create-namespace --mode=fsdax --map=mem > /dev/null\n" + SETTLE.format(path="/dev/pmem0")
MOUNT = SETTLE.format(path="/dev/pmem0") + "mkdir -p /pmem; mount -o dax=always /dev/pmem0 /pmem\n"
EXT4 = "mke2fs -q -t ext4 -b 4096 -O ^metadata_csum /dev/pmem0\n" + MOUNT


def region(kind: str, options: str) -> str:
    """Make a region and wait until what stands on it is there."""
    path = {"pmem": "/sys/bus/nd/devices/region0", "ram": "/sys/bus/dax/devices/dax0.0"}[kind]
    return REGION.format(kind=kind, options=options) + SETTLE.format(path=path)


def run(session: Session, guest: GuestConfig, script: str, **more: object) -> GuestOutcome:
    spec = GuestSpec(guest, script_job(DRIVERS + script), layout=BY_HAND)
    return drive(session.executor.run(replace(spec, **more)))  # type: ignore[arg-type]


def said(outcome: GuestOutcome) -> str:
    errors = outcome.stderr.decode()
    assert outcome.outcome == "ok", f"{outcome.outcome}: {errors} {outcome.error} {outcome.console[-500:]}"
    return outcome.stdout.decode()


def both_partitions(guest: GuestConfig) -> GuestConfig:
    device = replace(guest.device, capacity=2**30, volatile_size=2**29)
    return replace(guest, device=device)


def test_programs_and_their_page_tables_live_on_the_volatile_partition(
    session: Session, quick_guest: GuestConfig
) -> None:
    """As memory of a node of its own, beside a persistent region of the same device."""
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


def test_xfs_and_devdax(session: Session, quick_guest: GuestConfig) -> None:
    outcome = run(
        session,
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


@pytest.mark.parametrize("granularity", [256, 16384])
def test_an_interleaved_region_keeps_its_content(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, granularity: int
) -> None:
    """Over an orderly power-off and, what had been flushed, over a power cut; seen through two devices each time."""
    two = Layout(devices=2, kernel="testbed.nopmem")
    both = region("pmem", f"-w 2 -g {granularity} mem0 mem1")
    fill = "head -c 20000000 /dev/urandom > /pmem/a; md5sum < /pmem/a; umount /pmem\n"
    write = "sync; cp /pmem/a /pmem/b; sync; md5sum < /pmem/b; while :; do cp /pmem/a /pmem/c; rm /pmem/c; done\n"
    check = "cat /pmem/a | md5sum; cat /pmem/b | md5sum; roi-run md5sum /pmem/a; cxl list -M | grep -c memdev\n"
    first = said(run(session, quick_guest, both + NAMESPACE + EXT4 + fill, layout=two, media_folder=tmp_path))
    cut = PowerCut(at_event=2_000_000)
    lost = run(session, quick_guest, both + MOUNT + write, layout=two, media_folder=tmp_path, cut=cut)
    assert lost.outcome == "power-cut"
    assert lost.power_cut is not None and lost.power_cut["event"] == 2_000_000
    outcome = run(session, quick_guest, both + MOUNT + check, layout=two, media_folder=tmp_path)
    last = said(outcome).splitlines()
    assert [line.split()[0] for line in last[:3]] == [first.split()[0]] * 3
    assert last[3] == "2"
    assert outcome.rois[-1]["counters"]["cxl-reads"] > 10**7 // 64


def test_the_tools_list_and_watch_without_complaint(session: Session, quick_guest: GuestConfig) -> None:
    outcome = run(
        session,
        quick_guest,
        region("pmem", "mem0") + NAMESPACE + "exec 2>&1\n"
        "for list in 'cxl list -vvv' 'cxl list -H' 'cxl list -A' 'ndctl list -vvv' 'daxctl list'; do\n"
        '    $list > out; echo "$list" ended with $?; grep -iE "error|fail|warn" out | grep -v errors.:0 || :\n'
        "done\n"
        "dmesg --level=err,warn | grep -iE 'cxl|nd_|dax' || :\n",
    )
    lines = [line for line in said(outcome).splitlines() if "_prog_warn_" not in line and "mem_err" not in line]
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["0"] * 5, lines


def test_a_dirty_shutdown_is_counted_and_an_orderly_one_is_not(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """A device cache that does not survive a power cut loses what it had accepted; one that does loses nothing."""
    write = (
        region("pmem", "mem0") + NAMESPACE + EXT4 + "while :; do head -c 1000000 /dev/urandom > /pmem/a; sync; done\n"
    )
    cut = PowerCut(at_event=6_000_000)  # what comes before are the zeros of a new file system
    for protected, counted in ((True, 0), (False, 1)):
        device = replace(quick_guest.device, cache_power_loss_protected=protected)
        guest = replace(quick_guest, device=device)
        home = tmp_path / str(protected)
        home.mkdir()
        lost = run(session, guest, write, cut=cut, media_folder=home)
        assert lost.power_cut is not None, lost.console[-500:]
        assert protected or lost.power_cut["lines-lost"] > 0
        assert lost.power_cut["dirty-shutdown"] == (not protected)
        for _ in range(2):
            health = said(run(session, guest, "cxl list -m mem0 -H\n", media_folder=home))
            assert f'"dirty_shutdowns":{counted}' in health


def test_poison_and_the_event_of_a_dirty_shutdown_reach_linux(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """`cxl monitor` runs beside them without complaint; its own output it keeps until the log is long."""
    guest = replace(quick_guest, device=replace(quick_guest.device, cache_power_loss_protected=False))
    write = region("pmem", "mem0") + NAMESPACE + "while :; do head -c 30000000 /dev/urandom > /dev/pmem0; sync; done\n"
    run(session, guest, write, cut=PowerCut(at_event=400_000), media_folder=tmp_path)
    script = """
mount -t tracefs none /sys/kernel/tracing; mount -t debugfs none /sys/kernel/debug
modprobe -a cxl_acpi cxl_mem cxl_pmem
echo 1 > /sys/kernel/tracing/events/cxl/enable
cxl monitor -l standard & sleep 2
modprobe cxl_pci; sleep 2
grep -o 'cxl_memory_module.*' /sys/kernel/tracing/trace
kill -0 $! && kill $!
for change in inject clear; do
    echo 0x1000 > /sys/kernel/debug/cxl/mem0/${change}_poison
    echo $change ended with $?; cxl list -L -m mem0
done
"""
    job = script_job(script)
    outcome = drive(session.executor.run(GuestSpec(guest, job, media_folder=tmp_path, layout=BY_HAND)))
    event, injected, cleared = re.split("(?:inject|clear) ended with 0", said(outcome))
    assert "log=Warning" in event and "dirty_shutdown_cnt=1" in event
    assert '"offset":4096' in injected and '"source":"Injected"' in injected
    assert "media_errors" not in cleared
    assert outcome.stderr == b""
