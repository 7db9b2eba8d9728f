# SPDX-License-Identifier: BSD-3-Clause
"""The ratio of data, device cache and LLC, which a scaled study preserves. Every plot shows it."""

from testbed import units
from testbed.results.results import Result

# Program -> the field that counts the stored items, and the bytes of an item that a look-up may touch.
STORED = {
    "kv": ("records", 44),
    "shared-kv": ("records", 44),
    "list": ("nodes", 16),
    "btree": ("keys", 38),
    "kyoto": ("records", 48),
    "kyoto-server": ("records", 48),
    "stl-map": ("records", 48),
    "pages": ("data_pages", 4096),
}


def text(result: Result) -> str:
    """Format the scale, and data : device cache : LLC."""
    machine = result.data["identity"]["machine"]
    sizes = [_about(machine["device"]["cache_size"]), _about(machine["cpu"]["llc_size"])]
    data = data_bytes(result)
    shown = ["data : device cache : LLC =", " : ".join([_about(data), *sizes])] if data else []
    return ", ".join(
        [f"scale 1/{result.data['scale']}", " ".join(shown) or "device cache : LLC = " + " : ".join(sizes)]
    )


def data_bytes(result: Result) -> int | None:
    """Return the bytes of live data of a run; None if its program is not in STORED."""
    for row in result.rows:
        field, bytes_each = STORED.get(row.get("program", ""), ("", 0))
        if field in row:
            return int(row[field]) * bytes_each
    return None


def _about(size_bytes: float) -> str:
    """Format a size with three digits, in a unit that fits."""
    for unit in ("GiB", "MiB", "KiB"):
        if size_bytes >= units.SIZE_BYTES[unit]:
            return f"{size_bytes / units.SIZE_BYTES[unit]:.3g} {unit}"
    return f"{size_bytes:.0f} B"
