# SPDX-License-Identifier: BSD-3-Clause
"""Machines with several devices: the manifests' regions, as Linux sets them up."""

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import bases
from testbed.program.job_archive import script_job
from testbed.replay import verdicts
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

ROUND = """
head -c 3000000 /dev/urandom > /tmp/made; md5sum < /tmp/made
for folder in {folders}; do
    cp /tmp/made $folder/copy; sync $folder/copy; roi-run md5sum $folder/copy | cut -d ' ' -f 1
done
"""
LISTED = "for what in -M '-R -T'; do cxl list $what | tr -d '\\n'; echo; done\n"
MANIFEST = """
name = "{name}"
summary = "a machine for tests"
scale = 64
[guest]
memory = "1GiB"
[cpu]
profile = "xeon-6230-class"
[workload]
command = "true"
"""


def run(session: Session, manifest: Path, script: str, home: Path | None = None) -> GuestOutcome:
    """Run a shell script on the machine of a manifest."""
    job = script_job(f"set -e\n{script}")
    outcome = drive(session.executor.run(GuestSpec(verdicts.machine_of(manifest), job, media_folder=home)))
    errors = outcome.stderr.decode() + outcome.error + outcome.console[-800:]
    assert outcome.outcome == "ok" and "not timed" not in outcome.qemu, f"{outcome.outcome}: {errors} {outcome.qemu}"
    return outcome


def serials(region: dict[str, Any], memdevs: list[dict[str, Any]]) -> list[int]:
    """Return the serial numbers of a region's devices, in the order of interleaving."""
    of = {one["memdev"]: one["serial"] for one in memdevs}
    return [of[one["memdev"]] for one in sorted(region["mappings"], key=lambda one: int(one["position"]))]


def reads(outcome: GuestOutcome) -> list[list[int]]:
    """Return the number of lines read from each device, by region of interest."""
    return [[device["cxl-reads"] for device in roi["devices"]] for roi in outcome.rois]


def test_four_devices_over_two_bridges_beside_one_alone(session: Session) -> None:
    """In the shipped manifest, each way is the device of the same number, and each folder has its own devices."""
    look = "findmnt -no TARGET,SOURCE -t ext4\n" + LISTED
    outcome = run(session, bases.find("four-and-one"), ROUND.format(folders="/pmem /alone") + look)
    *sums, pmem, alone, devices, regions = outcome.stdout.decode().splitlines()
    assert len(sums) == 3 and sums[0].split()[0] == sums[1] == sums[2]
    assert (pmem.split(), alone.split()) == (["/pmem", "/dev/pmem0"], ["/alone", "/dev/pmem1"])
    memdevs, (four, one) = json.loads(devices), sorted(json.loads(regions), key=lambda region: str(region["region"]))
    assert (four["interleave_ways"], four["interleave_granularity"]) == (4, 4096)
    assert (serials(four, memdevs), serials(one, memdevs)) == ([1, 2, 3, 4], [5])
    interleaved, single = reads(outcome)
    assert min(interleaved[:4]) > 0.9 * max(interleaved[:4]) > 10_000
    assert interleaved[4] < 100 and max(single[:4]) < 100 and single[4] > 3_000_000 // 64 * 0.9


@pytest.mark.by_hand
@pytest.mark.parametrize(
    ("bridges", "granularity"),
    [
        ((0, 0), "16KiB"),
        ((0, 1, 2), "16KiB"),
        ((0, 1, 0, 1), "8KiB"),
        ((2, 4, 7) * 2, "16KiB"),
        ((0,) * 8, "256B"),
        ((0, 1) * 4, "4KiB"),
        ((3, 2, 1, 0) * 2, "4KiB"),
        ((0, 1), "8KiB"),
        ((0, 1, 2, 3), "4KiB"),
        (tuple(range(6)), "8KiB"),
        (tuple(range(8)), "2KiB"),
    ],
)
def test_what_can_be_interleaved_is(
    session: Session, tmp_path: Path, bridges: tuple[int, ...], granularity: str
) -> None:
    """Test geometries that a manifest may state, most at their coarsest, with a second boot on the same media."""
    devices = "".join(f'[[device]]\nprofile = "snapshot-paper-mss"\nbridge = {bridge}\n' for bridge in bridges)
    region = f'[[region]]\ndevices = {list(range(len(bridges)))}\ngranularity = "{granularity}"\n'
    path = tmp_path / "machine.toml"
    path.write_text(MANIFEST.format(name="machine") + devices + region)
    first = run(session, path, ROUND.format(folders="/pmem") + LISTED, tmp_path)
    made, seen, memdevs, regions = first.stdout.decode().splitlines()
    assert serials(json.loads(regions)[0], json.loads(memdevs)) == list(range(1, len(bridges) + 1))
    again = run(session, path, "roi-run md5sum /pmem/copy", tmp_path)
    assert made.split()[0] == seen == again.stdout.decode().split()[0]
    for outcome in (first, again):
        counts = reads(outcome)[-1]
        assert min(counts) > 0.8 * max(counts) > 3_000_000 // 64 * 0.7 / len(bridges)


EVERY_USE = """
[[device]]
profile = "cxl-dram"
override = { capacity = "64GiB", volatile_size = "32GiB" }
[[device]]
profile = "snapshot-paper-mss"
override = { capacity = "64GiB", volatile_size = "32GiB" }
[[device]]
profile = "snapshot-paper-mss"
[[device]]
profile = "optane-dcpmm"
override = { capacity = "32GiB" }
[[region]]
devices = [0]
use = "system-ram"
[[region]]
devices = [1]
use = "devdax"
[[region]]
devices = [2]
use = "sector"
mount = "/log"
[[region]]
devices = [3]
use = "raw"
[[region]]
devices = [0]
partition = "ram"
[[region]]
devices = [1]
partition = "ram"
use = "devdax"
"""


@pytest.mark.by_hand
def test_every_use_of_a_region(session: Session, tmp_path: Path) -> None:
    """Regions 0 and 1 are volatile memory. A file in the sector region survives a boot."""
    path = tmp_path / "machine.toml"
    path.write_text(MANIFEST.format(name="machine") + EVERY_USE)
    look = """
ls /dev/pmem* /dev/dax*
findmnt -no TARGET,SOURCE,OPTIONS -t ext4
for node in 1 3; do numactl --membind=$node bash -c 'x=$(head -c 3000000 /dev/zero | tr "\\0" x); echo ${#x}'; done
"""
    first = run(session, path, f"{look}echo kept > /log/file", tmp_path).stdout.decode().splitlines()
    again = run(session, path, f"{look}cat /log/file", tmp_path).stdout.decode().splitlines()
    assert first == again[:-1] and again[-1] == "kept"
    nodes = [f"/dev/{name}" for name in ("dax0.0", "dax1.0", "dax2.0", "dax3.0", "pmem4s", "pmem5")]
    assert first[:6] == nodes
    assert first[6].split()[:2] == ["/log", "/dev/pmem4s"] and "dax=never" in first[6]
    assert first[7:] == ["3000000"] * 2


@pytest.mark.by_hand
def test_media_of_other_regions_are_named_as_the_reason(session: Session, tmp_path: Path) -> None:
    path = bases.find("four-and-one")
    run(session, path, "true", tmp_path)
    regions = {"region": {"0": {"devices": [0, 1]}, "1": {"devices": [2, 3]}}}
    spec = GuestSpec(verdicts.machine_of(path, regions), script_job("true"), media_folder=tmp_path)
    outcome = drive(session.executor.run(spec))
    assert outcome.outcome == "lost"
    assert "the media have the labels of other regions, so there is no pmem0; take a new media folder" in outcome.error
