# SPDX-License-Identifier: BSD-3-Clause
"""Profiles against the model's table of parameters, their scaling, and what is refused."""

import re
from dataclasses import MISSING, replace
from fractions import Fraction
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.manifest import parameters, profiles
from testbed.manifest.manifest import GuestConfig
from testbed.manifest.parameters import CHOICES, CpuProfile, DeviceProfile, Profile
from testbed.paths import REPO
from testbed.studies import latency

ORIGIN = Path("m.toml")
PARAMS_C = REPO / "qemu-patches" / "model" / "config" / "params.c"
TABLES: dict[str, type[Profile]] = {"cpu_params": CpuProfile, "device_params": DeviceProfile}
UNITS = {"TIME": "TIME_PS", "SIZE": "SIZE_BYTES", "BANDWIDTH": "BANDWIDTH", "COUNT": "COUNT"}


def table(name: str) -> dict[str, tuple[str, str, str]]:
    """Parameter -> (type, name of its choices, initial value) as params.c states them."""
    text = PARAMS_C.read_text().partition(f" {name}[] = {{")[2].partition("\n};")[0]
    rows = re.findall(r'P\((\w+), [\w.]+, "([\w-]+)", \w+, (\w+), (\w+), "', text)
    return {row[1].replace("-", "_"): (row[0], row[2], row[3]) for row in rows}


def model_names() -> dict[str, str]:
    """The field of the model's configuration -> the parameter."""
    rows = re.findall(r'P\(\w+, ([\w.]+), "([\w-]+)"', PARAMS_C.read_text())
    return {field: name.replace("-", "_") for field, name in rows}


def choices_c(name: str) -> tuple[str, ...]:
    text = PARAMS_C.read_text().partition(f" {name}[] = {{")[2].partition("}")[0]
    return tuple(re.findall(r'"([\w-]+)"', text))


def initial(kind: str, choices: str, text: str) -> object:
    if kind == "CHOICE":
        # The enumerations and the names are in the same order; MEM_POLICY_S3_FIFO and "s3-fifo" end alike.
        return next(n for n in choices_c(choices) if text.endswith("_" + n.replace("-", "_").upper()))
    return text == "true" if kind == "BOOL" else int(text)


@pytest.mark.parametrize("name", TABLES)
def test_the_fields_are_the_parameters_of_the_model(name: str) -> None:
    assert {f.name for f in parameters.parameters(TABLES[name])} == set(table(name))


@pytest.mark.parametrize("name", TABLES)
def test_defaults_choices_and_units_are_those_of_the_model(name: str) -> None:
    wrong = []
    for field in parameters.parameters(TABLES[name]):
        kind, choices, text = table(name)[field.name]
        if field.default is not MISSING and field.default != initial(kind, choices, text):
            wrong.append(f"{field.name}: default {field.default!r}, the model has {text}")
        if kind == "CHOICE" and CHOICES.get(field.name) != choices_c(choices):
            wrong.append(f"{field.name}: choices")
        if (kind == "BOOL") != (field.name in parameters.BOOLEANS) or (kind == "CHOICE") != (field.name in CHOICES):
            wrong.append(f"{field.name}: type")
        if kind in UNITS and parameters.units_of(field.name) is not getattr(profiles.units, UNITS[kind]):
            wrong.append(f"{field.name}: unit")
    assert wrong == []


def documented_defaults() -> dict[str, str]:
    """The model's field -> its default, as the tables of docs/model.md have it."""
    found = {}
    tables = (REPO / "docs" / "model.md").read_text().split("| parameter | unit | default |")[1:]
    for row in (line for text in tables for line in text.partition("\n\n")[0].splitlines()[2:]):
        names, defaults = re.findall(r"`([\w.]+)`", row.split("|")[1]), row.split("|")[3].strip().split(", ")
        found |= zip(names, defaults if len(defaults) > 1 else defaults * len(names), strict=True)
    return found


def test_the_document_of_the_model_states_every_parameter_and_its_default() -> None:
    shown = {}
    for name, model in TABLES.items():
        for field in parameters.parameters(model):
            kind, choices, text = table(name)[field.name]
            value = "-" if field.default is MISSING else initial(kind, choices, text)
            shown[field.name] = ("off", "on")[value] if isinstance(value, bool) else str(value)
    assert documented_defaults() == {field: shown[name] for field, name in model_names().items()}


def test_the_reader_of_params_c_reads_all_of_it() -> None:
    """As many rows as there are lines with a parameter, so that no row escapes the comparison."""
    assert len(table("cpu_params")) + len(table("device_params")) == PARAMS_C.read_text().count("\n    P(")


def test_keys_of_one_profile_are_all_different() -> None:
    for model in TABLES.values():
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"link_flit_bytes": 64}, r"'link_flit_bytes' \(64\) is not 68 or 256"),
        ({"flash_read_ps": 0}, r"'flash_read' \(0\) is 0"),
        ({"cache_write_miss": "log"}, r"'write_log_size' \(0 B\) is too small"),
        ({"flash_ftl": "page"}, r"'flash_erase' \(0\) is 0, but flash_ftl"),
        ({"cache_ways": 7}, r"'cache_ways' \(7\) does not divide the number of pages"),
        ({"volatile_size": 1 << 20}, r"'volatile_size' \(1 MiB\) is not a multiple of 256 MiB"),
        ({"volatile_size": 1 << 40}, r"'volatile_size' \(1 TiB\) exceeds capacity"),
    ],
)
def test_impossible_devices_are_refused(change: dict[str, object], message: str) -> None:
    device = profiles.load_device("snapshot-paper-mss", {}, ORIGIN)
    profiles.check_device(device, ORIGIN)
    with pytest.raises(TestbedError, match=message):
        profiles.check_device(replace(device, **change), ORIGIN)


@pytest.mark.parametrize("key", ["dram_bandwidth", "wc_buffers"])
def test_impossible_cpus_are_refused(key: str) -> None:
    cpu = profiles.scale_cpu(profiles.load_cpu("xeon-6230-class", {}, ORIGIN), 64)
    profiles.check_cpu(cpu, ORIGIN)
    with pytest.raises(TestbedError, match=f"'{key}' is 0"):
        profiles.check_cpu(replace(cpu, **{key: 0}), ORIGIN)
    for change in ({"prefetch_degree": 0}, {"prefetch_degree": 21}, {"prefetch_distance": 65}):
        with pytest.raises(TestbedError, match=r"'prefetch_degree' \(\d+\) must be at least 1 and at most"):
            profiles.check_cpu(replace(cpu, **change), ORIGIN)
    with pytest.raises(TestbedError, match=r"'llc_size' \(\d+ B\) is not a whole number of sets of 11 lines"):
        profiles.check_cpu(replace(cpu, llc_size=cpu.llc_size + 64), ORIGIN)


def test_an_expander_needs_no_cache() -> None:
    device = replace(profiles.load_device("snapshot-paper-mss", {}, ORIGIN), flash_channels=0, cache_size=0)
    profiles.check_device(device, ORIGIN)


def test_scale_divides_logs_energy_and_partitions_but_no_time() -> None:
    device = profiles.load_device("snapshot-paper-mss", {}, ORIGIN)
    device = replace(device, write_log_size=64 << 20, gpf_energy_uj=6400, volatile_size=4 << 30, gpf_line_nj=7)
    scaled = profiles.scale_device(device, 64)
    assert (scaled.write_log_size, scaled.gpf_energy_uj, scaled.gpf_line_nj) == (1 << 20, 100, 7)
    assert scaled.volatile_size == 256 << 20
    assert scaled.capacity == 512 << 20


def test_scale_keeps_blocks_enough_and_the_erase_time_of_a_page() -> None:
    device = profiles.load_device("tlc-nand", {}, ORIGIN)
    scaled = profiles.scale_device(device, 4096)
    pages = scaled.capacity // scaled.cache_page_size // (8 * 8)
    assert pages // scaled.flash_block_pages >= profiles.BLOCKS_OF_A_PLANE
    per_page = device.flash_erase_ps / device.flash_block_pages
    assert scaled.flash_erase_ps / scaled.flash_block_pages == pytest.approx(per_page)
    assert profiles.scale_device(device, 1) == device


def machine(device: str) -> GuestConfig:
    cpu = profiles.load_cpu("xeon-6230-class", {}, ORIGIN)
    return GuestConfig(cpu, profiles.load_device(device, {}, ORIGIN), 2**30, 8000, 60.0)


@pytest.mark.parametrize(
    ("device", "hit_ns", "source"),
    [
        ("cmm-h", 800, "Cylon FAST 2026, less one instruction"),
        ("dram", 95 + 64 / 140.8, "the CPU's own DRAM, whose lines pass its channels and then the link's place"),
        ("snapshot-paper-mss", 139.3, "remote-socket DRAM, Cylon FAST 2026 artefact"),
        ("optane-dcpmm", 305 - (829 - 397) / 2.2, "LATTester 2019, LENS, MICRO 2020"),
        ("cxl-dram", 23.81 + 100 + 40 + 70.735 + 64 / 26.88 + 85 / 21.108 + 17 / 32, "the sum of its parts"),
        ("ull-nand", 23.81 + 100 + 40 + 70.735 + 64 / 26.88 + 85 / 32 + 17 / 32, "the sum of its parts"),
    ],
)
def test_hit_latencies_follow_from_the_profiles(device: str, hit_ns: float, source: str) -> None:
    assert float(latency.hit_ps(machine(device))) / 1000 == pytest.approx(hit_ns, abs=0.3), source


@pytest.mark.parametrize(
    ("device", "flash_ns"),
    [("optane-dcpmm", (829 - 397) / 2.2), ("ull-nand", 3000 + 4096 / 1.2), ("tlc-nand", 40000 + 4096 / 1.2)],
)
def test_a_miss_adds_the_array_read_and_its_transfer(device: str, flash_ns: float) -> None:
    guest = machine(device)
    assert float(latency.miss_ps(guest) - latency.hit_ps(guest)) / 1000 == pytest.approx(flash_ns, abs=0.01)


@pytest.mark.parametrize("path", sorted((profiles.PROFILES / "devices").glob("*.toml")), ids=lambda p: p.stem)
def test_every_device_is_possible_at_any_scale(path: Path) -> None:
    device = profiles.load_device(path.stem, {}, ORIGIN)
    for scale in (1, 64, 4096):
        scaled = profiles.scale_device(device, scale)
        if not scaled.flash_channels or scaled.cache_size >= scaled.cache_page_size:
            profiles.check_device(scaled, ORIGIN)
