# SPDX-License-Identifier: BSD-3-Clause
"""Mount options of tbfs (docs/reference/tbfs.md): options that its module would reject are rejected before a boot."""

WORDS = {
    "data": ("inplace", "cow", "hybrid"),
    "metadata": ("undo", "log"),
    "atomic": ("off", "8", "16", "64"),
    "barrier": ("on", "off"),
    "wprotect": ("on", "off"),
    "log_block": ("512", "1024", "2048", "4096"),
    "log_align": ("8", "64"),
    "gc_read": ("off",),
    "read": ("reverse", "forward"),
    "multi": ("call", "page"),
    "gc_low": ("off",),
}
NUMBERS = {  # option -> largest number; the smallest is 1
    "hybrid_max": 4095,
    "gc_read": 2**63 - 1,
    "gc_low": 100,
    "gc_high": 100,
    "gc_idle_us": 2**32 - 1,
}
NAMES = tuple(dict.fromkeys((*WORDS, *NUMBERS)))
OF_MERGING = ("gc_high", "gc_idle_us")  # options of merging in the background, which gc_low turns on
OF_LOGS = (
    "log_block",
    "log_align",
    "hybrid_max",
    "gc_read",
    "read",
    "multi",
    "gc_low",
    *OF_MERGING,
)  # options of data=hybrid alone


LINE_STORES = {"atomic=64": "atomic=16"}  # option that needs a CPU with MOVDIR64B -> its replacement


def checked(text: str) -> str:
    """The options of a text in the format of `mount -o`, in a fixed order. ValueError: the module would reject them."""
    found: dict[str, str] = {}
    for stated in filter(None, text.split(",")):
        name, _, value = (part.strip() for part in stated.partition("="))
        if name not in NAMES:
            raise ValueError(f"'{stated}' is no option of tbfs; there are {', '.join(f'{one}=' for one in NAMES)}")
        if name in found:
            raise ValueError(f"{name}= stands there twice; leave one out")
        if value not in WORDS.get(name, ()) and not _is_number(name, value):
            raise ValueError(f"{name}={value} is none; write {_choice(name)}")
        found[name] = value
    for name in OF_LOGS:
        if name in found and found.get("data") != "hybrid":
            raise ValueError(f"{name}= is of logs of pages; write data=hybrid beside it, or leave it out")
    low, high = found.get("gc_low", "off"), found.get("gc_high", "100")
    for name in OF_MERGING:
        if name in found and low == "off":
            raise ValueError(
                f"{name}= is of merging in the background; write gc_low=1 to 100 beside it, or leave it out"
            )
    if low != "off" and int(high) < int(low):
        raise ValueError(f"gc_high={high} is less than gc_low={low}; write one that is as large or larger")
    return ",".join(f"{name}={found[name]}" for name in NAMES if name in found)


def _is_number(name: str, value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) < 20 and 1 <= int(value) <= NUMBERS.get(name, 0)


def _choice(name: str) -> str:
    """The values of an option, for messages."""
    numbers = [f"1 to {NUMBERS[name]}"] if name in NUMBERS else []
    *others, last = (*numbers, *WORDS.get(name, ()))
    return f"{name}={', '.join(others)} or {last}" if others else f"{name}={last}"
