# SPDX-License-Identifier: BSD-3-Clause
"""The digest that a worker compares with its client's before it runs a guest."""

from dataclasses import replace

import pytest

from testbed.guest.executor import GuestSpec
from testbed.manifest.guest_config import GuestConfig
from testbed.program import packages
from testbed.program.job_archive import Job
from testbed.run.errand import Errand

KEYS = {"qemu": "q"}


def test_who_would_run_another_guest_has_another_digest(
    quick_guest: GuestConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest depends on machine, components and the unpacking of packages, but not on the job, which is sent."""
    errand = Errand("one", "one.toml", GuestSpec(quick_guest, Job("true", packages=("a=1",))))
    other = replace(errand, spec=GuestSpec(quick_guest, Job("false", packages=("a=1",))))
    machine = replace(errand, spec=replace(errand.spec, guest=replace(quick_guest, memory_bytes=2**31)))
    assert errand.digest(KEYS) == other.digest(KEYS)
    assert len({errand.digest(KEYS), machine.digest(KEYS), errand.digest({"qemu": "r"})}) == 3
    before = errand.digest(KEYS)
    monkeypatch.setattr(packages, "hash_inputs", lambda _: "other scripts")
    assert errand.digest(KEYS) != before
