# SPDX-License-Identifier: BSD-3-Clause
"""The costs that `testbed bench --crash` computes from the times of its guests."""

import pytest

from testbed.errors import RunFailed
from testbed.guest.executor import GuestOutcome
from testbed.studies.crash_cost import CHECK, COPY, MOUNT, RECOVER, Cost, Judged, timed


def test_a_part_takes_what_it_adds_for_the_same_state() -> None:
    """The host was busy during the second state, so its copies all took twice as long."""
    times_s = {COPY: [0.1, 0.2, 0.1], MOUNT: [0.3, 0.6, 0.3], RECOVER: [0.4, 0.8, 0.5], CHECK: [0.8, 1.6, 0.9]}
    found = Cost(times_s, [9.0, 8.1, 9.9], [Judged("lazily", 3, 40, 1, 2.0)]).as_data()
    assert found["parts_s"] == {COPY: 0.1, MOUNT: 0.2, RECOVER: 0.2, CHECK: 0.4}
    assert (found["copy_s"], found["boot_s"], found["boot_ratio"]) == (0.9, 9.0, 10.0)
    assert found["judged"] == [{"way": "lazily", "copies": 3, "images": 40, "violations": 1, "seconds": 2.0}]


def test_a_violation_has_a_time_and_a_guest_that_did_not_start_has_none() -> None:
    assert timed(GuestOutcome("failed", 1, console="booted", host_seconds=0.5)) == 0.5
    with pytest.raises(RunFailed, match="a guest did not start: no room"):
        timed(GuestOutcome("lost", None, error="no room"))
