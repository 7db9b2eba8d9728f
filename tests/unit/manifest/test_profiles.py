# SPDX-License-Identifier: BSD-3-Clause
"""Values and keys of profiles, their scaling, and the rejection of bad values."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from testbed.manifest import closed_forms, parameters, profiles
from testbed.manifest.guest_config import FullSize, GuestConfig
from testbed.manifest.parameters import CpuProfile, DeviceProfile, Profile
from testbed.manifest.scale import BLOCKS_OF_A_PLANE, scale_cpu, scale_device, scaled
from testbed.paths import PROFILES
from testbed.replay import verdicts
from testbed.replay.replayer import open_replayer

ORIGIN = Path("m.toml")
MODELS: tuple[type[Profile], ...] = (CpuProfile, DeviceProfile)


def test_keys_of_one_profile_are_all_different() -> None:
    for model in MODELS:
        keys = [parameters.key_of(f.name) for f in parameters.parameters(model)]
        assert len(set(keys)) == len(keys)


def test_only_what_differs_from_the_initial_value_is_on_the_command_line() -> None:
    device = replace(profiles.load_device("snapshot-paper-mss", {}, ORIGIN), cache_ways=0, cache_policy="s3-fifo")
    line = parameters.properties(device)
    assert ",cache-policy=s3-fifo" in line
    assert ",flash-read-ps=" in line
    assert "cache-ways" not in line
    assert ",flash-suspend=on" in parameters.properties(replace(device, flash_suspend=True))
    assert "capacity" not in line


@pytest.mark.parametrize(
    ("field", "value", "unit", "parsed"),
    [
        ("gpf_energy_uj", 2, "mJ", 2000),
        ("gpf_line_nj", 1.5, "uJ", 1500),
        ("flash_suspend_ps", 5, "us", 5_000_000),
        ("flash_suspend", True, "", True),
        ("cache_policy", "2q", "", "2q"),
        ("link_flit_bytes", 68, "", 68),
        ("insn_ps", "5000/21", "ps", Fraction(5000, 21)),
    ],
)
def test_values_parse(field: str, value: object, unit: str, parsed: object) -> None:
    assert parameters.parse_value(field, value, unit) == parsed


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("cache_policy", "mru", "'mru' is not one of lru, fifo"),
        ("cache_policy", 2, "'2' is not one of lru, fifo"),
        ("flash_suspend", 1, "'1' is not true or false"),
        ("flash_suspend_ps", True, "'true' is not a number"),
        ("gpf_line_nj", "1 ns", "is not a number and one of nJ"),
        ("insn_ps", "1/0", "is not a number or fraction"),
    ],
)
def test_bad_values_are_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parameters.parse_value(field, value)


def test_scale_divides_logs_energy_and_partitions_but_no_time() -> None:
    device = profiles.load_device("snapshot-paper-mss", {}, ORIGIN)
    device = replace(device, write_log_size=64 << 20, gpf_energy_uj=6400, volatile_size=4 << 30, gpf_line_nj=7)
    scaled = scale_device(device, 64)
    assert (scaled.write_log_size, scaled.gpf_energy_uj, scaled.gpf_line_nj) == (1 << 20, 100, 7)
    assert scaled.volatile_size == 256 << 20
    assert scaled.capacity == 512 << 20


def test_scale_keeps_blocks_enough_and_the_erase_time_of_a_page() -> None:
    device = profiles.load_device("tlc-nand", {}, ORIGIN)
    scaled = scale_device(device, 4096)
    pages = scaled.capacity // scaled.cache_page_size // (8 * 8)
    assert pages // scaled.flash_block_pages >= BLOCKS_OF_A_PLANE
    per_page = device.flash_erase_ps / device.flash_block_pages
    assert scaled.flash_erase_ps / scaled.flash_block_pages == pytest.approx(per_page)
    assert scale_device(device, 1) == device


def machine(device: str) -> FullSize:
    cpu, own = profiles.load_cpu("xeon-6230-class", {}, ORIGIN), profiles.load_device(device, {}, ORIGIN)
    return FullSize(GuestConfig(cpu=cpu, device=own, memory_bytes=2**30, boot_insn_ps=8000, timeout_s=60.0))


@pytest.mark.parametrize(
    ("device", "hit_ns", "source"),
    [
        ("cmm-h", 800, "Cylon FAST 2026, less one instruction"),
        ("dram", 95 + 64 / 140.8, "the CPU's own DRAM, whose lines pass its channels and then the link's place"),
        ("snapshot-paper-mss", 139.3, "remote-socket DRAM, Cylon FAST 2026 artefact"),
        ("optane-dcpmm", 305 - (829 - 397) / 2.2, "LATTester 2019, LENS, MICRO 2020"),
        ("pmep", 300, "PMFS, EuroSys 2014, remembered"),
        ("cxl-dram", 23.81 + 100 + 40 + 70.735 + 64 / 26.88 + 85 / 21.108 + 17 / 32, "the sum of its parts"),
        ("ull-nand", 23.81 + 100 + 40 + 70.735 + 64 / 26.88 + 85 / 32 + 17 / 32, "the sum of its parts"),
    ],
)
def test_hit_latencies_follow_from_the_profiles(device: str, hit_ns: float, source: str) -> None:
    assert float(closed_forms.hit_ps(machine(device))) / 1000 == pytest.approx(hit_ns, abs=0.3), source


@pytest.mark.parametrize(
    ("device", "flash_ns"),
    [("optane-dcpmm", (829 - 397) / 2.2), ("ull-nand", 3000 + 4096 / 1.2), ("tlc-nand", 40000 + 4096 / 1.2)],
)
def test_a_miss_adds_the_array_read_and_its_transfer(device: str, flash_ns: float) -> None:
    guest = machine(device)
    assert float(closed_forms.miss_ps(guest) - closed_forms.hit_ps(guest)) / 1000 == pytest.approx(flash_ns, abs=0.01)


@pytest.mark.parametrize("path", sorted((PROFILES / "devices").glob("*.toml")), ids=lambda p: p.stem)
def test_every_device_is_possible_at_any_scale(path: Path) -> None:
    machines = [scaled(machine(path.stem), scale) for scale in (1, 64, 4096)]
    devices = [one.device for one in machines]
    possible = [
        m for m, d in zip(machines, devices, strict=True) if not d.flash_channels or d.cache_size >= d.cache_page_size
    ]
    assert machines[0] in possible
    assert set(verdicts.faults(possible, open_replayer()).values()) == {""}


def test_an_expander_needs_no_cache() -> None:
    guest = machine("snapshot-paper-mss")
    expander = replace(guest, device=replace(guest.device, flash_channels=0, cache_size=0))
    assert list(verdicts.faults([expander], open_replayer()).values()) == [""]


@pytest.mark.parametrize(("key", "value"), [("llc_size", 0), ("llc_ways", 0), ("l2_size", 0), ("l2_ways", 0)])
def test_scaling_takes_what_the_model_will_refuse(key: str, value: int) -> None:
    cpu = profiles.load_cpu("xeon-6230-class", {key: str(value) + ("B" if "size" in key else "")}, ORIGIN)
    assert scale_cpu(cpu, 64).llc_size > 0
