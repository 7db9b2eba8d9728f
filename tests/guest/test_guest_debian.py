# SPDX-License-Identifier: BSD-3-Clause
"""Programs of Debian in a guest, with their data on the device: the manifests that ship, small."""

from pathlib import Path

import pytest

from analysis import records
from testbed.guest.session import Session
from testbed.manifest import bases, manifest
from testbed.results.results import Result
from testbed.run.runner import run_with_bar

SCALE = 1024

pytestmark = pytest.mark.guest


def run(session: Session, name: str, point: dict[str, str], root: Path) -> tuple[Result, records.Records]:
    path = bases.find(name)
    chosen = [run for run in manifest.runs(path, SCALE) if point.items() <= run.point.items()]
    result = run_with_bar(chosen, session, root)[0]
    return result, records.of_results([result], manifest.load(path).results.pattern)


def test_redis_gives_the_same_bytes_twice(session: Session, tmp_path: Path) -> None:
    """A server, its clients and its log on one virtual CPU: the same schedule, the same requests, the same times."""
    point = {"cache_size": "1GiB"}
    (one, found), (two, _) = (run(session, "redis", point, tmp_path / name) for name in ("1", "2"))
    assert one.path.name == two.path.name
    assert one.path.read_bytes() == two.path.read_bytes()
    assert [record["test"] for record in found.all] == ["SET", "GET"]
    assert one.counters["cxl-writes"] > 625  # each SET is in the log before it is answered


def test_sqlite_updates_its_database_on_the_device(session: Session, tmp_path: Path) -> None:
    result, found = run(session, "sqlite", {"work": "updates-rollback", "cache_size": "1GiB"}, tmp_path)
    assert "delete" in result.data["stdout"].splitlines()
    assert result.counters["cxl-writes"] > 125
    assert int(found.all[0]["time"]) > 0
