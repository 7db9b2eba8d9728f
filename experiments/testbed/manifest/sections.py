# SPDX-License-Identifier: BSD-3-Clause
"""What several tables of manifests have in common: values with units, names of file systems, a profile."""

from typing import Annotated, Literal

from pydantic import BeforeValidator

from .. import units
from ..validation import Strict

Bytes = Annotated[int, BeforeValidator(lambda v: units.parse(v, units.SIZE_BYTES))]
Picoseconds = Annotated[int, BeforeValidator(lambda v: units.parse(v, units.TIME_PS))]
FileSystem = Literal[
    "ext4-dax", "ext4-journal", "ext4-ordered", "ext4-smalljournal", "xfs-dax", "xfs-exchange", "tbfs"
]  # fmt: skip


class ProfileSection(Strict):
    """{names} of axes of the matrix may stand in the profile's name and in an override's value."""

    profile: str
    override: dict[str, str | int | float | bool] = {}
