# SPDX-License-Identifier: BSD-3-Clause
"""The only parser of quantities with units; all other code holds times in ps and sizes in bytes."""

import re
from decimal import Decimal, InvalidOperation

TIME_PS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12, "min": 60 * 10**12}
SIZE_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
BANDWIDTH = {"B/s": 1, "MB/s": 10**6, "GB/s": 10**9}
ENERGY_UJ = {"uJ": 1, "mJ": 10**3, "J": 10**6}
ENERGY_NJ = {"nJ": 1, "uJ": 10**3, "mJ": 10**6}
COUNT = {"": 1}

COUNT_MAX = 10**9  # counts from here on are shown in scientific notation
GROUPED_MIN = 10**5  # counts from here on have grouped digits

_QUANTITY = re.compile(r"\s*(-?[0-9][0-9_]*(?:\.[0-9]+)?)\s*([A-Za-z/]*)\s*")


def parse(text: str | int | float, units: dict[str, int]) -> int:
    """`text` ("14.3us", "2 MiB") as an integer in the base unit of `units`. Raises ValueError with the reason."""
    match = _QUANTITY.fullmatch(str(text))
    example = f"a number and one of {', '.join(units)}" if "" not in units else "a number without a unit"
    if not match or match[2] not in units:
        raise ValueError(f"'{text}' is not {example}")
    try:
        value = Decimal(match[1].replace("_", "")) * units[match[2]]
    except InvalidOperation as error:
        raise ValueError(f"'{text}' is not {example}") from error
    if value < 0:
        raise ValueError(f"'{text}' is negative; it must be 0 or more")
    if value != int(value):
        raise ValueError(f"'{text}' is not a whole number of {next(iter(units)) or 'items'}")
    return int(value)


def show_time(value_ps: float) -> str:
    """A time for people: up to four significant figures and a fitting unit."""
    for unit in ("s", "ms", "us", "ns"):
        if value_ps >= TIME_PS[unit]:
            return f"{value_ps / TIME_PS[unit]:.4g} {unit}"
    return f"{value_ps:.4g} ps"


SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def show_count(count: int) -> str:
    """A count for people: a large one in scientific notation, with a superscript."""
    if count < COUNT_MAX:
        return f"{count:,}" if count >= GROUPED_MIN else str(count)
    digits, power = f"{Decimal(count):.1e}".split("e+")
    return f"{digits} \N{MULTIPLICATION SIGN} 10{power.translate(SUPERSCRIPTS)}"


def show_size(value_bytes: int) -> str:
    """A size for people, in the largest unit that divides it."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if value_bytes and value_bytes % SIZE_BYTES[unit] == 0:
            return f"{value_bytes // SIZE_BYTES[unit]} {unit}"
    return f"{value_bytes} B"
