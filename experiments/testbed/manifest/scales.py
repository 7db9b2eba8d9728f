# SPDX-License-Identifier: BSD-3-Clause
"""Scales: the divisor of each study in `quick`, `standard` and `full`, from experiments/scales.toml."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..errors import TestbedError
from ..paths import EXPERIMENTS
from ..validation import Strict, check, load_toml

SCALES = EXPERIMENTS / "scales.toml"
Divisor = Annotated[int, Field(ge=1)]


class Divisors(Strict):
    """The divisors of one manifest: a study at 1/N has N times less data, device cache, LLC and L2."""

    quick: Divisor
    standard: Divisor
    full: Divisor


NAMES = tuple(Divisors.model_fields)


def load(path: Path = SCALES) -> dict[str, Divisors]:
    """Name of a manifest -> its divisors."""
    return {name: check(Divisors, {} | _table(name, row, path), path) for name, row in load_toml(path).items()}


def _table(name: str, row: object, path: Path) -> dict[str, object]:
    if not isinstance(row, dict):
        raise TestbedError(f"{path}: key '{name}' must be a table: {name} = {{ {' = N, '.join(NAMES)} = N }}")
    return row


def divisor(asked: str | None, manifest: str, path: Path = SCALES) -> int | None:
    """The divisor of `--scale ASKED` for a manifest: from the file, or a number; None, its own scale, if not given."""
    if asked is None:
        return None
    if asked in NAMES:
        stated = load(path)
        if manifest not in stated:
            raise TestbedError(f"{path} has no divisors for '{manifest}'; add a line, or give a number: --scale 64")
        return int(getattr(stated[manifest], asked))
    number = asked.removeprefix("1/")
    if not number.isascii() or not number.isdecimal() or not 1 <= int(number) <= 1_000_000:
        raise TestbedError(f"--scale '{asked}' is none of {', '.join(NAMES)}, nor a number from 1 to 1,000,000 (1/N)")
    return int(number)
