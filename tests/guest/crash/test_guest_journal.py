# SPDX-License-Identifier: BSD-3-Clause
"""Journals of guests: recording changes nothing, no store is missing, and power cuts leave states of the journal."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rigs.guest.guest_rig import RIG_PROGRAMS, changed_lines
from rigs.guest.vcpus_rig import with_cpus
from testbed.crash import journal
from testbed.crash.journal import LINE_BYTES, Journal, Kind
from testbed.crash.lines import Place
from testbed.crash.states import Bounds, Domain, Subsets, is_ordering, media_image, place_of
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.program.job_archive import Job, script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

PROGRAM = RIG_PROGRAMS / "journal_guest.c"
KV = "kv --records 100 --operations 100 --buckets 2 --file /pmem/kv.pool --seed 1 --workload A --engine"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("journal") / "steps"
    doorbell = REPO / "guest-image/tools/include"
    command: list[str | Path] = [
        "cc",
        "-O2",
        "-msse4",
        "-mcx16",
        "-mclflushopt",
        "-static",
        f"-I{doorbell}",
        "-o",
        path,
        PROGRAM,
    ]
    subprocess.run(command, check=True)
    return path.read_bytes()


@pytest.fixture(scope="module")
def small_guest(quick_guest: GuestConfig) -> GuestConfig:
    return replace(quick_guest, device=replace(quick_guest.device, capacity=2**28))


@pytest.fixture(scope="module")
def prepared(session: Session, small_guest: GuestConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of media with a file system."""
    home = Path(tmp_path_factory.mktemp("prepared"))
    outcome = drive(session.executor.run(GuestSpec(small_guest, script_job("sync"), media_folder=home)))
    assert outcome.outcome == "ok", outcome.console[-500:]
    return home


class Runs:
    """Runs of guests that all start with the same media."""

    def __init__(self, session: Session, guest: GuestConfig, prepared: Path, home: Path) -> None:
        self.session, self.guest, self.prepared, self.home = session, guest, prepared, home

    def run(self, job: Job, recorded: bool = True, **guest: Any) -> GuestOutcome:
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        for name in ("media.raw", "lsa.raw"):
            subprocess.run(["cp", "--sparse=always", self.prepared / name, self.home / name], check=True)
        spec = GuestSpec(replace(self.guest, **guest), job, media_folder=self.home)
        return drive(self.session.executor.run(replace(spec, journal=self.path if recorded else None)))

    @property
    def path(self) -> Path:
        return self.home / "run.journal"

    @property
    def media(self) -> Path:
        return self.home / "media.raw"


@pytest.fixture
def runs(session: Session, small_guest: GuestConfig, prepared: Path, tmp_path: Path) -> Runs:
    return Runs(session, small_guest, prepared, tmp_path / "run")


def steps(program: bytes, timed: str, cut_after: int = 0) -> Job:
    return replace(script_job(f"/job/steps /pmem/file {timed} {cut_after}"), executables={"steps": program})


def facts(outcome: GuestOutcome) -> dict[str, Any]:
    assert outcome.outcome == "ok", f"{outcome.stderr!r} {outcome.error} {outcome.console[-500:]} {outcome.qemu}"
    return {name: value for name, value in vars(outcome).items() if name != "host_seconds"}


@pytest.mark.parametrize("cpus", [1, 2])
def test_recording_changes_no_result(runs: Runs, program: bytes, small_guest: GuestConfig, cpus: int) -> None:
    """Recording changes no byte, nanosecond or count, and repeated recordings give the same journal."""
    cpu = with_cpus(small_guest, cpus).cpu
    pin = f"taskset -c {cpus - 1}"
    job = script_job(f"{pin} /job/steps /pmem/file timed 0; {KV} volatile; date +%s.%N; sha256sum /pmem/file")
    job = replace(job, executables={"steps": program})
    alone, media = facts(runs.run(job, recorded=False, cpu=cpu)), runs.media.read_bytes()
    assert len(alone["rois"]) == 2
    recorded = facts(runs.run(job, cpu=cpu))
    assert recorded == alone
    assert runs.media.read_bytes() == media
    first = runs.path.read_bytes()
    runs.run(job, cpu=cpu)
    assert runs.path.read_bytes() == first
    assert {record.core for record in journal.parse(first).records} >= {0, cpus - 1}


@pytest.mark.parametrize("timed", ["timed", "untimed"])
def test_the_stores_of_a_journal_are_all_that_changed_the_media(runs: Runs, program: bytes, timed: str) -> None:
    facts(runs.run(steps(program, timed)))
    found = journal.read(runs.path)
    before, after = (media_image(found, [home / "media.raw"]) for home in (runs.prepared, runs.home))
    lines: dict[Place, bytearray] = {}
    for record in found.records:
        if record.kind in (Kind.STORE, Kind.NT_STORE):
            line = lines.setdefault(place_of(record), bytearray(before(place_of(record))))
            at = record.dpa % LINE_BYTES
            line[at : at + len(record.data)] = record.data
    assert len(lines) > 1000
    assert [place for place, line in lines.items() if after(place) != line] == []
    changed = changed_lines(runs.prepared / "media.raw", runs.media)
    assert changed.keys() - lines.keys() == set()
    of_user = [r for r in found.records if r.kind == Kind.STORE and 0 < r.pc < 2**47]
    assert len({r.pc for r in of_user}) > 20 and len({r.process for r in of_user}) < len({r.pc for r in of_user})
    assert sum(r.data == (99).to_bytes(8, "little") for r in of_user) == 1, "each store of a loop"


EVERY = Bounds(exhaustive=2**4096)  # all possible contents of each line


def walked(found: Journal, before: Path) -> tuple[Subsets, dict[Place, bytes], dict[Place, bytes]]:
    """Return, at the power cut, the tracker of durable lines, the model's write-backs, and the newest contents."""
    image = media_image(found, [before])
    tracker = Subsets(Domain.of(found), image)
    written: dict[Place, bytes] = {}
    for index, record in enumerate(found.records):
        if is_ordering(record):
            tracker.passed()
        if record.kind == Kind.WRITE_BACK:
            written[place_of(record)] = tracker.newest(place_of(record))
        if record.kind in (Kind.STORE, Kind.NT_STORE):
            written.setdefault(place_of(record), image(place_of(record)))
        tracker.apply(index, record)
    return tracker, written, {place: tracker.newest(place) for place in written}


@pytest.mark.parametrize(
    ("step", "timed"), [(1, "timed"), (4, "timed"), (5, "timed"), (9, "timed"), (10, "timed"), (7, "untimed")]
)
def test_a_power_cut_leaves_what_the_journal_says(runs: Runs, program: bytes, step: int, timed: str) -> None:
    """The media equal the model's write-backs to the byte, and are a state of the journal with all durable lines."""
    outcome = runs.run(steps(program, timed, step))
    assert outcome.outcome == "power-cut" and outcome.last_mark == step, outcome.console[-500:]
    found = journal.read(runs.path)
    assert found.records[-2].kind == Kind.POWER_CUT
    tracker, written, newest = walked(found, runs.prepared / "media.raw")
    left = media_image(found, [runs.media])
    assert {place: left(place) for place in written} == written
    choices = {line.place: line.contents for line in tracker.open_lines(EVERY)}
    for place in written:
        assert left(place) in choices.get(place, (tracker.base().line(place),)), place
    unsure = {place for place in tracker.unsure() if newest[place] != left(place)}
    assert unsure, "some store is lost"
