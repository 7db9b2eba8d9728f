# SPDX-License-Identifier: BSD-3-Clause
"""The published values: analysis/reference/*.csv, whose first lines say what each holds and where it is from."""

import csv
from functools import cache
from pathlib import Path

REFERENCE = Path(__file__).parent / "reference"
SETUPS = {"snapshot-paper-mss": "mss", "optane-dcpmm": "pm"}  # device profile -> the study's name of its machine


@cache
def table(name: str) -> tuple[dict[str, str], ...]:
    """The rows of reference/NAME.csv; none if nothing was published."""
    path = REFERENCE / f"{name}.csv"
    if not path.exists():
        return ()
    return tuple(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))


def of_device(study: str, device: str) -> tuple[dict[str, str], ...]:
    """The rows of a study on a device of that profile; none if it was not made there."""
    return table(f"{study}-{SETUPS[device]}") if device in SETUPS else ()
