# SPDX-License-Identifier: BSD-3-Clause
"""The parameters of a CPU and of a device: what `-object cpu-timing` and `-device cxl-ssd` take.

They mirror the tables of qemu-patches/model/config/params.c, which is their home: a field here is the name there with
underscores, and a default here is the initial value there. tests/unit/test_profiles.py compares the two. A field
without a default is one that every profile must state.
"""

from dataclasses import Field, dataclass, fields
from fractions import Fraction
from typing import Any

from .. import units

INSN_TERM_MAX = 2**32 - 1  # of `-icount insn-ps`, above and below the line
FRACTION_CHARACTERS_MAX = 40

# Names of the values of each parameter that is a choice.
CHOICES: dict[str, tuple[str, ...]] = {
    "overlap": ("none", "streams", "all"),
    "cache_policy": ("lru", "fifo", "clock", "2q", "s3-fifo", "random"),
    "cache_write": ("back", "through"),
    "cache_write_miss": ("fetch", "no-fetch", "log"),
    "cache_prefetch": ("none", "next", "stride"),
    "flash_ftl": ("none", "page"),
    "flash_gc": ("greedy", "cost-benefit"),
    "persist_domain": ("none", "adr", "eadr", "gpf"),
    "cut_lines": ("lost", "kept", "seeded"),
}


@dataclass(frozen=True)
class CpuProfile:
    """One core and its local memory. `insn_ps` may be a fraction; it goes to `-icount`."""

    name: str
    insn_ps: Fraction
    l1d_size: int
    l1d_ways: int
    l2_size: int
    l2_ways: int
    l2_latency_ps: int
    llc_size: int
    llc_ways: int
    llc_latency_ps: int
    dram_latency_ps: int
    dram_bandwidth: int
    wc_buffers: int
    fill_buffers: int = 10
    store_buffer: int = 56
    overlap: str = "none"
    overlap_window_ps: int = 0
    prefetch_streams: int = 0
    prefetch_distance: int = 20
    prefetch_degree: int = 2
    prefetch_buffers: int = 16
    l2_requests: int = 16
    clwb_keeps_line: bool = True
    pause_ps: int = 0
    cpuid_ps: int = 0
    rdmsr_ps: int = 0
    wrmsr_ps: int = 0
    mov_cr_ps: int = 0
    mov_cr3_ps: int = 0
    mov_dr_ps: int = 0
    invlpg_ps: int = 0
    load_table_ps: int = 0
    iret_ps: int = 0
    rdtsc_ps: int = 0
    wbinvd_ps: int = 0


@dataclass(frozen=True)
class DeviceProfile:
    """The device under test. `capacity` is the size of its media; `flash_channels` 0 is a memory expander."""

    name: str
    capacity: int
    link_latency_ps: int
    link_read_bandwidth: int
    link_write_bandwidth: int
    controller_latency_ps: int
    cache_latency_ps: int
    flash_channels: int
    volatile_size: int = 0
    link_flit_bytes: int = 0
    link_multi_header: bool = True
    write_queue: int = 0
    controller_interval_ps: int = 0
    cache_size: int = 0
    cache_page_size: int = 4096
    cache_ways: int = 0
    cache_tag_ps: int = 0
    cache_refresh_ps: int = 0
    cache_refresh_interval_ps: int = 0
    cache_refresh_groups: int = 1
    cache_bandwidth: int = 0
    cache_policy: str = "lru"
    cache_seed: int = 1
    cache_write: str = "back"
    cache_write_miss: str = "fetch"
    write_log_size: int = 0
    cache_mshrs: int = 0
    cache_prefetch: str = "none"
    cache_prefetch_pages: int = 1
    cache_power_loss_protected: bool = True
    flash_dies: int = 1
    flash_planes: int = 1
    flash_read_ps: int = 0
    flash_program_ps: int = 0
    flash_erase_ps: int = 0
    flash_channel_bandwidth: int = 0
    flash_suspend: bool = False
    flash_suspend_ps: int = 0
    flash_ftl: str = "none"
    flash_block_pages: int = 256
    flash_over_provisioning_permille: int = 70
    flash_gc: str = "greedy"
    flash_gc_free_blocks: int = 2
    flash_endurance_cycles: int = 0
    persist_domain: str = "adr"
    gpf_energy_uj: int = 0
    gpf_line_nj: int = 0
    gpf_page_nj: int = 0
    cut_lines: str = "lost"
    cut_seed: int = 1
    wbarrier_latency_ps: int = 0


Profile = CpuProfile | DeviceProfile

# What is not a property of QEMU's object: it goes elsewhere on the command line.
ELSEWHERE = ("name", "insn_ps", "capacity")


def unit_suffix(field: str) -> str:
    """The unit at the end of a field's name, as a profile file and an override leave it out."""
    return next((suffix for suffix in ("_ps", "_uj", "_nj") if field.endswith(suffix)), "")


def key_of(field: str) -> str:
    """The name a profile file uses: the field without the unit that its value carries.

    `flash_suspend_ps` keeps its suffix, because `flash_suspend` is another parameter.
    """
    return field if field == "flash_suspend_ps" else field.removesuffix(unit_suffix(field))


def units_of(field: str) -> dict[str, int]:
    """The units in which a number of this field may be stated."""
    if suffix := unit_suffix(field):
        return {"_ps": units.TIME_PS, "_uj": units.ENERGY_UJ, "_nj": units.ENERGY_NJ}[suffix]
    if field.endswith("_bandwidth"):
        return units.BANDWIDTH
    return units.SIZE_BYTES if field == "capacity" or field.endswith("_size") else units.COUNT


def parse_value(field: str, value: Any, unit: str = "") -> Any:
    """The value of one profile field in its base unit. Raises ValueError with a sentence."""
    if field in BOOLEANS:
        if not isinstance(value, bool):
            raise ValueError(f"'{value}' is not true or false")
        return value
    if field in CHOICES:
        if value not in CHOICES[field] or unit:
            raise ValueError(f"'{value}{unit}' is not one of {', '.join(CHOICES[field])}")
        return value
    if isinstance(value, bool):
        raise ValueError(f"'{str(value).lower()}' is not a number")
    if field == "insn_ps":
        return _parse_fraction_ps(f"{value}{unit}")
    return units.parse(f"{value}{unit}", units_of(field))


def _parse_fraction_ps(text: str) -> Fraction:
    """One of "5000/21", "250ps" or "5000/21ps": the one value whose picoseconds need not be whole."""
    number = text.removesuffix("ps")
    try:
        if len(number) > FRACTION_CHARACTERS_MAX or "e" in number.lower():  # 1e999999999 would take all memory
            raise ValueError
        fraction = Fraction(number)
    except (ValueError, ZeroDivisionError) as error:
        raise ValueError(f"'{text}' is not a number or fraction of ps") from error
    if fraction <= 0:
        raise ValueError(f"'{text}' is not a positive time")
    if max(fraction.numerator, fraction.denominator) > INSN_TERM_MAX:
        raise ValueError(f"'{text}' is no fraction of whole numbers below 2^32")
    return fraction


def parameters(profile: type[Profile]) -> list[Field[Any]]:
    """The fields that are properties of QEMU's object, in order."""
    return [field for field in fields(profile) if field.name not in ELSEWHERE]


def assignments(profile: Profile) -> list[str]:
    """`name=value` for each parameter that is not at its initial value."""
    words = []
    for field in parameters(type(profile)):
        value = getattr(profile, field.name)
        if value != field.default:
            shown = ("off", "on")[value] if isinstance(value, bool) else value
            words.append(f"{field.name.replace('_', '-')}={shown}")
    return words


def properties(profile: Profile) -> str:
    """The same as QEMU takes them, each after a comma."""
    return "".join(f",{word}" for word in assignments(profile))


BOOLEANS = {
    field.name for cls in (CpuProfile, DeviceProfile) for field in fields(cls) if isinstance(field.default, bool)
}
