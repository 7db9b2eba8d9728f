# SPDX-License-Identifier: BSD-3-Clause
"""Archives of a guest's root that are separate components: one for each workload, and one for tbfs.

The image is the same with and without them. A guest has the archives that its job's script or its manifest names.
"""

from collections.abc import Mapping
from pathlib import Path

from ..build import components
from ..manifest.guest_config import GuestConfig
from ..program.job_archive import Job
from . import file_systems


def workloads(guest: GuestConfig, job: Job | None) -> tuple[str, ...]:
    """The names of the workloads with programs in this guest."""
    return tuple(sorted({*guest.workloads, *(job.all_workloads if job else ())}))


def of(guest: GuestConfig, job: Job | None, there: Mapping[str, Path] = {}) -> tuple[Path, ...]:
    """The archives beside the image in this guest's root. An archive not named in `there` is built if needed."""
    names = (*workloads(guest, job), *file_systems.components(guest))
    return tuple(there[name] if name in there else components.own_archive(name) for name in names)


def identity(workloads: tuple[str, ...], keys: Mapping[str, str] = {}) -> dict[str, str]:
    """Workload -> hash of its sources and tools; hashes in `keys` are not computed again."""
    return {name: keys[name] if name in keys else components.own_archive_key(name) for name in workloads}
