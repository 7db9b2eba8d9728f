# SPDX-License-Identifier: BSD-3-Clause
"""Quantities with units are parsed here and nowhere else; inside, times are ps and sizes are bytes."""

import re
from decimal import Decimal, InvalidOperation

TIME_PS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12, "min": 60 * 10**12}
SIZE_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
BANDWIDTH = {"B/s": 1, "MB/s": 10**6, "GB/s": 10**9}
ENERGY_UJ = {"uJ": 1, "mJ": 10**3, "J": 10**6}
ENERGY_NJ = {"nJ": 1, "uJ": 10**3, "mJ": 10**6}
COUNT = {"": 1}

COUNT_MAX = 10**9  # from there on a count is shown as a power of ten
GROUPED_MIN = 10**5  # from there on its digits are in groups

_QUANTITY = re.compile(r"\s*(-?[0-9][0-9_]*(?:\.[0-9]+)?)\s*([A-Za-z/]*)\s*")


def parse(text: str | int | float, units: dict[str, int]) -> int:
    """`text` ("14.3us", "2 MiB") as an integer in the base unit of `units`. Raises ValueError with a sentence."""
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
    """A time for people: three significant figures and a unit that fits."""
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
