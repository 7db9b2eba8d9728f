# SPDX-License-Identifier: BSD-3-Clause
"""Types that several tables of manifests share: values with units, names of file systems, a profile."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from .. import units
from ..file_systems import table
from ..validation import Strict

Bytes = Annotated[int, BeforeValidator(lambda v: units.parse(v, units.SIZE_BYTES))]
Picoseconds = Annotated[int, BeforeValidator(lambda v: units.parse(v, units.TIME_PS))]
FileSystem = Annotated[str, AfterValidator(table.known)]  # the name of a known file system


class ProfileSection(Strict):
    """A profile and its overrides. The profile's name and text values may contain {names} of axes of the matrix."""

    profile: str
    override: dict[str, str | int | float | bool] = {}
