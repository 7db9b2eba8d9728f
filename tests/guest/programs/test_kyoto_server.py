# SPDX-License-Identifier: BSD-3-Clause
"""kyoto-server in a guest: each mode answers from a file on the device, and a kill loses no acknowledged request."""

import pytest

from testbed.guest.executor import GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

ENGINES = ("none", "sync", "wal", "fams-uffd", "snapshot")
ALL = f"""set -e
for engine in {" ".join(ENGINES)}; do
    kyoto-server --engine $engine --db hash --records 300 --requests 50 --clients 3 --file /pmem/$engine
done
for engine in sync wal fams-uffd snapshot; do
    kyoto-server --engine $engine --db tree --records 300 --requests 50 --kill-after 20 --file /pmem/killed-$engine
done
"""


def test_each_mode_answers_and_keeps_what_it_answered(session: Session, quick_guest: GuestConfig) -> None:
    outcome = drive(session.executor.run(GuestSpec(quick_guest, script_job(ALL, {}))))
    assert outcome.outcome == "ok", outcome.stdout.decode() + outcome.stderr.decode() + outcome.error
    timed = [(row["engine"], row["operation"]) for row in outcome.rows if "response_ns" in row]
    assert timed == [(engine, name) for engine in ENGINES for name in ("insert", "replace", "delete")]
    killed = [row for row in outcome.rows if row["program"] == "kyoto-server-killed"]
    assert [(row["acknowledged"], row["verified"]) for row in killed] == [(20, True)] * 4
