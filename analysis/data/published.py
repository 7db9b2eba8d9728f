# SPDX-License-Identifier: BSD-3-Clause
"""The published values in analysis/reference/*.csv. The first lines of each file state its content and source."""

import csv
from functools import cache
from pathlib import Path

REFERENCE = Path(__file__).parents[1] / "reference"
SETUPS = {"snapshot-paper-mss": "mss", "optane-dcpmm": "pm"}  # device profile -> the study's name of its machine


@cache
def table(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of reference/NAME.csv; empty if nothing was published."""
    path = REFERENCE / f"{name}.csv"
    if not path.exists():
        return ()
    return tuple(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))


def of_device(study: str, device: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a study on a device of that profile; empty if the study was not made on it."""
    return table(f"{study}-{SETUPS[device]}") if device in SETUPS else ()
