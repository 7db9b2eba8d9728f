# SPDX-License-Identifier: BSD-3-Clause
"""The profiles of a CPU and of a device: the properties of `-object cpu-timing` and `-device cxl-ssd`, and some others.

model_parameters.py is generated from the model's rows; a field is the name of a parameter there with underscores.
Every profile must state the fields without a default.
"""

from dataclasses import Field, dataclass, fields
from fractions import Fraction
from typing import Any

from .. import units
from .model_parameters import CHOICES, FIELDS, KEYS, TYPES, CpuParameters, DeviceParameters

LINE_BYTES = 64
EXTENT_BYTES = 256 * 2**20  # the unit of CXL decoders
INSN_TERM_MAX = 2**32 - 1  # limit of `-icount insn-ps` for numerator and denominator
FRACTION_CHARACTERS_MAX = 40


@dataclass(frozen=True, kw_only=True)
class CpuProfile(CpuParameters):
    """One socket and its local memory; in a machine, `cores` is the number of the guest's CPUs.

    `insn_ps` may be a fraction; it goes to `-icount`.
    """

    name: str
    insn_ps: Fraction


@dataclass(frozen=True, kw_only=True)
class DeviceProfile(DeviceParameters):
    """The device under test. `capacity` is the size of its media; with `flash_channels` 0 it is a memory expander."""

    name: str
    capacity: int


Profile = CpuProfile | DeviceProfile

# Fields that are no properties of QEMU's object but go elsewhere on the command line.
ELSEWHERE = ("name", "insn_ps", "capacity")


# Types, keys and names of the fields that the model does not know.
OTHER_TYPES = {"insn_ps": "time", "capacity": "size"}
OTHER_KEYS = {"insn_ps": "insn"}
OTHER_FIELDS = {"capacity_bytes": "capacity"}
ENERGY = {"_uj": units.ENERGY_UJ, "_nj": units.ENERGY_NJ}
UNITS = {"time": units.TIME_PS, "size": units.SIZE_BYTES, "bandwidth": units.BANDWIDTH}


def type_of(field: str) -> str:
    """The type of a field, one of the model's types of parameters."""
    return (TYPES | OTHER_TYPES)[field]


def key_of(field: str) -> str:
    """The name a profile file uses: the field without the unit that its value carries."""
    return (KEYS | OTHER_KEYS).get(field, field)


def field_of(said: str) -> str:
    """The field for a name of the model, as "l2.latency_ps", or for a property of QEMU, as "flash-channels"."""
    return (FIELDS | OTHER_FIELDS).get(said, said.replace("-", "_"))


def units_of(field: str) -> dict[str, int]:
    """The units in which a number of this field may be stated."""
    kind = type_of(field)
    return ENERGY[field[-3:]] if kind == "energy" else UNITS.get(kind, units.COUNT)


def parse_value(field: str, value: Any, unit: str = "") -> Any:
    """The value of one profile field in its base unit. Raises ValueError with a message for the user."""
    if type_of(field) == "bool":
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
    """Parse "5000/21", "250ps" or "5000/21ps", the only time that may be a fraction of picoseconds."""
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


def show_value(field: str, value: Any) -> str:
    """A value for people, with its unit if it is a size or a time."""
    kind = type_of(field)
    if kind == "bool":
        return ("off", "on")[value]
    return {"size": units.show_size, "time": units.show_time}.get(kind, str)(value)


def parameters(profile: type[Profile]) -> list[Field[Any]]:
    """The fields that are properties of QEMU's object, in the order of the class."""
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
    """The assignments in the form of QEMU's command line, each after a comma."""
    return "".join(f",{word}" for word in assignments(profile))
