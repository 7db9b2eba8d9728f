# SPDX-License-Identifier: BSD-3-Clause
"""Memory speeds that a machine reports to its kernel: bytes of CDATs, QEMU's options for the HMAT, and conditions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_topology import VOLATILE, devices, machine, machine_option, region, words

from rigs.guest import cdat_rig, linux_memory_rig
from testbed.guest import memory_tables
from testbed.guest.memory_tables import cdat
from testbed.guest.qemu_line import devices_of
from testbed.manifest import parse, profiles, resolve
from testbed.manifest.parameters import DeviceProfile
from testbed.paths import EXPERIMENTS, PROFILES, REPO
from testbed.results import results

PROFILE_NAMES = sorted(path.stem for path in (PROFILES / "devices").glob("*.toml"))
AS_MEMORY = 'use = "system-ram"'


def profile(name: str, **changes: Any) -> DeviceProfile:
    return replace(profiles.load_device(name, {}, Path("m.toml")), **changes)


# ---- CDAT ----


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_every_profile_has_a_table_as_specified(name: str) -> None:
    device = profile(name)
    (only,) = cdat_rig.read(cdat(device))
    assert (only.base, only.size, only.non_volatile, only.listed_as) == (0, device.capacity, True, 2)
    assert set(only.memory) == {"read_ps", "write_ps", "read_mb_s", "write_mb_s"}
    assert bool(only.cache) == bool(device.flash_channels)
    assert only.cache_bytes == (device.cache_size if device.flash_channels else 0)


def test_an_expander_tells_of_link_controller_and_dram() -> None:
    """A read takes 217.674 ns.

    The link takes 100, one and five slots of 17 bytes 0.531 and 4.027, the controller 40, the DRAM 70.735 and 2.381.
    In a stream each line to the host takes half a header slot less.
    """
    (only,) = cdat_rig.read(cdat(profile("cxl-dram")))
    assert only.memory["read_ps"] == pytest.approx(217_674, abs=4)
    assert only.memory["write_ps"] == pytest.approx(100_000 + 2_656 + 805 + 40_000 + 70_735 + 2_381, abs=4)
    assert only.memory["read_mb_s"] == round(21_108 * 64 / 76.5)
    assert only.memory["write_mb_s"] == round(32_000 * 64 / 85)


def test_flash_is_the_memory_and_device_dram_its_cache() -> None:
    """The Snapshot paper's device: a miss takes 13.87 us more than a hit, in which seven channels read a page each."""
    (only,) = cdat_rig.read(cdat(profile("snapshot-paper-mss")))
    hit_ps = 2 * 22_150 + 1_026 + 70_164
    assert only.cache["read_ps"] == only.cache["write_ps"] == pytest.approx(hit_ps, abs=2)
    assert only.memory["read_ps"] == only.memory["write_ps"] == pytest.approx(hit_ps + 13_870_000, rel=1e-4)
    assert only.cache["read_mb_s"] == only.cache["write_mb_s"] == 62_400
    assert only.memory["read_mb_s"] == round(7 * 4096 / 13.87)
    assert only.memory["write_mb_s"] == round(7 * 4096 / (13.87 + 10))
    assert only.cache_attributes == 4096 << 16 | 1 << 12 | 2 << 8 | 1 << 4 | 1


def test_a_write_queue_answers_after_the_link() -> None:
    (only,) = cdat_rig.read(cdat(profile("optane-dcpmm")))
    assert only.memory["write_ps"] == only.cache["write_ps"] == 2 * 19_950
    assert only.memory["read_ps"] > 200_000


def test_a_write_of_an_absent_page_waits_only_if_that_is_fetched() -> None:
    """Without a fetch, programs of whole pages need no read either."""
    (only,) = cdat_rig.read(cdat(profile("snapshot-paper-mss", cache_write_miss="no-fetch")))
    assert only.memory["write_ps"] == only.cache["write_ps"]
    assert only.memory["write_mb_s"] == round(7 * 4096 / 10)


def test_partitions_are_ranges_of_their_own() -> None:
    volatile, persistent = cdat_rig.read(cdat(profile("cxl-dram", volatile_size=32 * 2**30)))
    assert (volatile.base, volatile.size, volatile.non_volatile, volatile.listed_as) == (0, 32 * 2**30, False, 0)
    assert (persistent.base, persistent.size, persistent.non_volatile) == (32 * 2**30, 64 * 2**30, True)
    assert volatile.memory == persistent.memory
    (all_of_it,) = cdat_rig.read(cdat(profile("cxl-dram", volatile_size=96 * 2**30)))
    assert not all_of_it.non_volatile


def test_what_has_no_room_is_the_nearest_that_has() -> None:
    """A latency above Linux's limit, pages of 2 MiB, and a stream of less than 1 MB/s."""
    slow = profile("snapshot-paper-mss", flash_read_ps=10**12, cache_page_size=2 * 2**20, flash_channels=1)
    (only,) = cdat_rig.read(cdat(slow))
    assert only.memory["read_ps"] == 2**32 - 2**17
    assert only.cache_attributes >> 16 == 0
    (slower,) = cdat_rig.read(cdat(replace(slow, cache_page_size=4096)))
    assert slower.memory["read_mb_s"] == 1


def test_a_wrong_byte_is_seen() -> None:
    table = bytearray(cdat(profile("cxl-dram")))
    table[-1] ^= 1
    with pytest.raises(AssertionError, match="checksum"):
        cdat_rig.read(bytes(table))


# ---- Linux's reading of the tables ----


def row(name: str) -> str:
    """A row of the page's table: the CDAT's numbers, then Linux's numbers for a machine with this device alone."""
    speed, node = memory_tables.of_media(profile(name)), linux_memory_rig.node([cdat(profile(name))])
    ns = [f"{float(ps) / 1e3:.1f}" for ps in (speed.read_ps, speed.write_ps)]
    gb_s = [f"{float(bandwidth) / 1e9:.3f}" for bandwidth in (speed.read_bandwidth, speed.write_bandwidth)]
    weights = ":".join(map(str, linux_memory_rig.weights([linux_memory_rig.LOCAL, node])))
    return " | ".join(map(str, [f"| `{name}`", *ns, *gb_s, *node, linux_memory_rig.tier(node), f"{weights} |"]))


def test_the_page_has_every_profile_as_linux_has_it() -> None:
    _, _, section = (REPO / "docs/explanation/tiers.md").read_text().partition("<!-- profiles -->\n")
    assert section.partition("<!-- end")[0].splitlines()[2:] == [row(name) for name in PROFILE_NAMES]


# ---- HMAT ----


def numa(line: list[str]) -> list[str]:
    return [line[n + 1] for n, word in enumerate(line) if word == "-numa"]


def test_ports_have_the_first_domains_and_local_memory_the_last(small_manifest: Path) -> None:
    """Two devices share the first bridge, so its port has the bandwidth of both links."""
    text = devices(0, 0, profile="cxl-dram", more='override = { capacity = "32GiB" }\n') + devices(3)
    text += region([0, 1], AS_MEMORY) + region([2], AS_MEMORY) + "[guest]\ncpus = 4\n"
    line = words(machine(small_manifest, text))
    ports = [word for word in line if word.startswith("acpi-generic-port")]
    assert ports == [
        "acpi-generic-port,id=port0,pci-bus=cxl.1,node=0",
        "acpi-generic-port,id=port1,pci-bus=cxl.4,node=1",
    ]
    nodes, told = numa(line)[:3], numa(line)[3:]
    assert nodes == ["node,nodeid=0", "node,nodeid=1", "node,nodeid=2,memdev=local,cpus=0-3,initiator=2"]
    assert all(one.startswith("hmat-lb,initiator=2,target=") for one in told)
    assert [one.split("data-type=")[1] for one in told] == [
        *("read-latency,latency=24", "read-latency,latency=24", "read-latency,latency=95"),
        *("read-bandwidth,bandwidth=42216M", "read-bandwidth,bandwidth=62400M", "read-bandwidth,bandwidth=140800M"),
        *("write-latency,latency=24", "write-latency,latency=24", "write-latency,latency=24"),
        *("write-bandwidth,bandwidth=64000M", "write-bandwidth,bandwidth=62400M", "write-bandwidth,bandwidth=140800M"),
    ]
    assert ",hmat=on" in machine_option(machine(small_manifest, text))


def test_bandwidths_are_in_units_in_which_qemu_has_room_for_all(small_manifest: Path) -> None:
    """The unit is a power of two, such that the largest bandwidth is at most 65534 units."""
    fast = 'override = { capacity = "32GiB", link_read_bandwidth = "21.111GB/s" }\n'
    line = words(machine(small_manifest, devices(0, profile="cxl-dram", more=fast) + region([0], AS_MEMORY)))
    read = [int(one.rpartition("=")[2][:-1]) for one in numa(line) if "read-bandwidth" in one]
    assert read == [21_112, 140_800] and {mb_s % 4 for mb_s in read} == {0}


# ---- Machines that report ----


def test_a_machine_with_memory_among_its_regions_tells(small_manifest: Path) -> None:
    told = machine(small_manifest, devices(0, 1) + region([1], AS_MEMORY))
    assert told.hmat
    tables = [word.partition(",cdat=")[2].split(",")[0] for word in words(told) if word.startswith("cxl-ssd")]
    assert tables == ["/cdat0", "/cdat1"]
    assert not machine(small_manifest, devices(0) + region([0], AS_MEMORY) + "[guest]\nhmat = false\n").hmat
    assert not machine(small_manifest, devices(0, 1)).hmat
    assert machine(small_manifest, devices(0) + "[guest]\nhmat = true\n").hmat


def test_the_machine_of_init_is_what_it_was(small_manifest: Path) -> None:
    """A single device with a volatile partition gets no tables, because results of shipped manifests depend on that."""
    guest = machine(small_manifest, devices(0, more=VOLATILE))
    assert not guest.hmat and guest.topology is None
    assert numa(words(guest)) == ["node,memdev=local"] and ",hmat" not in machine_option(guest)


def test_all_that_is_told_is_in_the_identity(small_manifest: Path) -> None:
    text = devices(0) + region([0], AS_MEMORY)
    one = machine(small_manifest, text)
    silent = machine(small_manifest, text + "[guest]\nhmat = false\n")
    identity, without = (results.machine_identity(guest, {}) for guest in (one, silent))
    tables = identity.pop("memory_tables")
    assert identity == without
    assert tables == memory_tables.identity(one.cpu, devices_of(one))
    slower = replace(one, device=replace(one.device, flash_read_ps=one.device.flash_read_ps + 10**6))
    assert memory_tables.identity(slower.cpu, devices_of(slower))["cdat"] != tables["cdat"]


TIERING = {"hotness", "tiering"}  # manifests about tiers of memory


def test_no_other_manifest_that_ships_tells() -> None:
    shipped = sorted(path for path in (EXPERIMENTS / "manifests").rglob("*.toml") if path.stem != "own-kernel")
    telling = {path.stem for path in shipped if resolve.full_size(*_first(path)).hmat}
    assert telling <= TIERING


def _first(path: Path) -> tuple[parse.Manifest, parse.Point]:
    loaded = parse.load(path)
    return loaded, loaded.first_point
