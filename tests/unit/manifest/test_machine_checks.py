# SPDX-License-Identifier: BSD-3-Clause
"""CPU features that only some guests have, machine checks and direct stores, and their part in the identity."""

from pathlib import Path

import pytest

from testbed.guest.qemu_line import DIRECT_STORES, MACHINE_CHECKS, cpu_model
from testbed.manifest import parse
from testbed.manifest.scale import guest_config
from testbed.results import results


def test_a_cpu_says_what_a_kernel_needs_or_explicitly_not() -> None:
    ordinary, surviving, stock = cpu_model(), cpu_model(machine_checks=True), cpu_model(timed=False)
    for feature in MACHINE_CHECKS:
        assert f",-{feature}" in ordinary and f",-{feature}" in stock and feature not in surviving
    for feature in DIRECT_STORES:
        assert f",-{feature}" in ordinary and f",-{feature}" in surviving and f",-{feature}" in stock
        assert feature not in cpu_model(direct_stores=True)
    assert "topoext" in ordinary and "topoext" in surviving and "topoext" not in stock


@pytest.mark.parametrize("switch", ["machine_checks", "direct_stores"])
def test_it_is_in_the_identity_of_those_who_have_it(small_manifest: Path, switch: str) -> None:
    without = guest_config(parse.load(small_manifest))
    small_manifest.write_text(small_manifest.read_text() + f"[guest]\n{switch} = true\n")
    having = guest_config(parse.load(small_manifest))
    identity, plain = (results.machine_identity(guest, {}) for guest in (having, without))
    assert identity.pop(switch) == cpu_model(**{switch: True})
    assert identity == plain
