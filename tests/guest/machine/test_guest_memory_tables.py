# SPDX-License-Identifier: BSD-3-Clause
"""Linux's view of a machine's memory tables: `accessN` of each node, tiers, weights and moved pages."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_guest_topology import MANIFEST, run

from rigs.guest import linux_memory_rig
from rigs.guest.linux_memory_rig import LOCAL, Speed
from testbed.guest.executor import GuestSpec
from testbed.guest.memory_tables import cdat
from testbed.guest.session import Session
from testbed.manifest import bases
from testbed.paths import PROFILES
from testbed.program import own_kernel
from testbed.program.job_archive import script_job
from testbed.replay import verdicts
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

# Prints one JSON object for each node: all numbers of both classes of access, and its tier.
LOOK = r"""
cd /sys/devices/virtual/memory_tiering
for node in /sys/devices/system/node/node*; do
    n=${node#*/node/node}
    printf '{"tier": %s' "$(grep -lxE "$n|.*,$n|$n,.*" memory_tier*/nodelist | sed 's/[^0-9]//g')"
    for access in 0 1; do
        for what in read_latency write_latency read_bandwidth write_bandwidth; do
            printf ', "%s %s": %s' "$access" "$what" "$(<"$node/access$access/initiators/$what")"
        done
    done
    echo '}'
done
"""
NUMBERS = ("read_latency", "write_latency", "read_bandwidth", "write_bandwidth")
NAMES = sorted(path.stem for path in (PROFILES / "devices").glob("*.toml"))


def nodes(session: Session, path: Path) -> list[tuple[int, Speed]]:
    """Return tier and speed of each node; the speed is the same for both classes, as all CPUs are on one node."""
    seen = [json.loads(line) for line in run(session, path, LOOK).stdout.decode().splitlines()]
    speeds = [tuple(tuple(node[f"{access} {what}"] for what in NUMBERS) for access in (0, 1)) for node in seen]
    assert all(local == cpu for local, cpu in speeds)
    return [(node["tier"], speed) for node, (speed, _) in zip(seen, speeds, strict=True)]


def by_linux(path: Path) -> list[Speed]:
    """Return the expected nodes of a machine by its devices' tables: local memory, then each region."""
    guest = verdicts.machine_of(path)
    assert guest.topology and guest.hmat
    regions = [[cdat(guest.devices[n]) for n in region.devices] for region in guest.topology.regions]
    return [LOCAL, *map(linux_memory_rig.node, regions)]


def check(session: Session, path: Path) -> list[tuple[int, Speed]]:
    expected = by_linux(path)
    found = nodes(session, path)
    assert found == [(linux_memory_rig.tier(speed), speed) for speed in expected]
    return found


def machine(path: Path, *profiles: str) -> Path:
    devices = "".join(f'[[device]]\nprofile = "{name}"\n' for name in profiles)
    regions = "".join(f'[[region]]\ndevices = [{n}]\nuse = "system-ram"\n' for n in range(len(profiles)))
    path.write_text(MANIFEST.format(name="machine") + devices + regions)
    return path


def test_dram_expander_and_ssd_are_three_tiers(session: Session) -> None:
    """On the shipped machine with volatile partitions, speeds and tiers follow from the profiles."""
    local, expander, ssd = check(session, bases.find("tiering"))
    assert local[0] == 4 < expander[0] < ssd[0]


@pytest.mark.by_hand
def test_linux_ranks_every_profile_by_its_numbers(session: Session, tmp_path: Path) -> None:
    """Put all profiles into one machine, as persistent memory."""
    for name, found in zip(["local", *NAMES], check(session, machine(tmp_path / "all.toml", *NAMES)), strict=True):
        print(name, *found)


INTERLEAVED = """
[[device]]
profile = "cxl-dram"
override = { capacity = "64GiB", volatile_size = "64GiB" }
bridge = 0
[[device]]
profile = "cxl-dram"
override = { capacity = "64GiB", volatile_size = "64GiB", controller_latency = "90ns" }
bridge = 1
[[device]]
profile = "snapshot-paper-mss"
bridge = 1
[[region]]
devices = [0, 1]
partition = "ram"
[[region]]
devices = [2]
use = "system-ram"
"""


@pytest.mark.by_hand
def test_interleaved_volatile_memory_is_as_slow_as_its_slowest(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "interleaved.toml"
    two_cpus = MANIFEST.format(name="machine").replace("[guest]", "[guest]\ncpus = 2")
    path.write_text(two_cpus + INTERLEAVED)
    _, (_, both), _ = check(session, path)
    (_, slow) = nodes(session, machine(tmp_path / "one.toml", "cxl-dram"))[1]
    assert both[0] == slow[0] + 50 and both[2] == 2 * slow[2]


@pytest.mark.by_hand
def test_a_newer_kernel_weights_by_bandwidth(session: Session, tmp_path: Path) -> None:
    """Debian's newest kernel for Debian 13 sets weights; the image's kernel leaves all weights at 1."""
    subprocess.run([sys.executable, "-m", "testbed", "kernel", "get", tmp_path / "kernels"], check=True)
    newest = own_kernel.read(tmp_path / "kernels/newest/vmlinuz", None, "ext4-dax")
    path = machine(tmp_path / "all.toml", *NAMES)
    look = script_job("cat /sys/kernel/mm/mempolicy/weighted_interleave/node*")
    guest = verdicts.machine_of(path)
    outcomes = [drive(session.executor.run(GuestSpec(one, look))) for one in (guest, replace(guest, kernel=newest))]
    plain, weighted = ([int(weight) for weight in outcome.stdout.split()] for outcome in outcomes)
    assert plain == [1] * (1 + len(NAMES))
    assert weighted == linux_memory_rig.weights(by_linux(path))


@pytest.mark.by_hand
def test_pages_in_use_come_up_and_others_go_down(tmp_path: Path) -> None:
    """Run both points of the shipped study, in about two minutes."""
    table = tmp_path / "table.json"
    command = [sys.executable, "-m", "testbed", "run", "tiering", "--json", str(table)]
    subprocess.run(command, check=True)
    without, balanced = json.loads(table.read_text())
    assert without["rows"][0]["pages_promoted"] == 0 < balanced["rows"][0]["pages_promoted"]
    assert without["rows"][0]["pages_demoted"] > 0
    took = [data["rois"][0]["end-ps"] - data["rois"][0]["begin-ps"] for data in (without, balanced)]
    assert took[1] < took[0]
