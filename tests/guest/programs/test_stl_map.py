# SPDX-License-Identifier: BSD-3-Clause
"""stl-map in a guest: each store keeps its records over a reopen and over a kill."""

import pytest

from testbed.guest.executor import GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

ENGINES = ("fams-uffd", "snapshot", "kyoto", "sqlite", "leveldb")
ALL = f"""set -e
for engine in {" ".join(ENGINES)}; do
    stl-map --engine $engine --records 100 --requests 30 --file /pmem/$engine
    stl-map --engine $engine --records 50 --kill --file /pmem/killed-$engine
done
"""


def test_each_store_keeps_what_was_put_there(session: Session, quick_guest: GuestConfig) -> None:
    outcome = drive(session.executor.run(GuestSpec(quick_guest, script_job(ALL, {}))))
    assert outcome.outcome == "ok", outcome.stdout.decode() + outcome.stderr.decode() + outcome.error
    rows = [(row["engine"], row.get("operation", "kill")) for row in outcome.rows]
    assert rows == [(engine, name) for engine in ENGINES for name in ("insert", "replace", "delete", "kill")]
