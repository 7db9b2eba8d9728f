# SPDX-License-Identifier: BSD-3-Clause
"""snapshot-lib in a guest and in its native explorers: the same operations can leave the same recovered states."""

import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from testbed.crash.campaign import Campaign
from testbed.crash.judging import Finding, Judging
from testbed.crash.plan import BoundsSection, CrashSection, Plan, Programs
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

BUILT = REPO / "build/native/snapshot-lib/tests/explore"  # built by tests/native.sh
FILE = "/pmem/data"

Contents = dict[int, set[str]]  # by mark: the digests of recovered contents


def built(name: str, protocol: str) -> Path:
    """Return the path of a native program. Checkpoints (protocol epoch) have separate programs."""
    return BUILT / (f"{name}-epochs" if protocol == "epoch" else name)


def natively(protocol: str, story: str, bug: str, folder: Path) -> Contents:
    command: list[str | Path] = [
        built("explore_steps", protocol),
        folder / "native",
        protocol,
        story,
        *filter(None, [bug]),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    found: Contents = defaultdict(set)
    for line in done.stdout.splitlines():
        mark, content = line.split(" ", 1)
        found[int(mark)].add(content)
    return found


def plan(protocol: str, story: str, bug: str, bounds: BoundsSection = BoundsSection()) -> Plan:
    crash = CrashSection(
        setup=f"steps make {FILE} {protocol}; sync",
        workload=f"steps run {FILE} {protocol} {story} {bug}",
        check=f"steps check {FILE} {protocol} {story} $CRASH_MARK {bug}",
        bounds=bounds,
    )
    return Plan(name="steps", summary="", crash=crash)


def in_guests(asked: Plan, session: Session, guest: GuestConfig, protocol: str) -> tuple[Judging, list[Finding]]:
    program = built("steps", protocol)
    programs = Programs({}, {"steps": program.read_bytes()}, (program,))
    campaign = Campaign(asked, Path("steps.toml"), guest, programs, session)

    async def run() -> tuple[Judging, list[Finding]]:
        async with campaign.guests() as guests:
            judging = campaign.judging(await campaign.record(guests))
            return judging, await judging.findings(lambda *_: None)

    return drive(run())


def contents(findings: list[Finding]) -> Contents:
    found: Contents = defaultdict(set)
    for finding in findings:
        assert finding.state.point.mark is not None
        found[finding.state.point.mark].add(finding.detail.text.strip())
    return found


@pytest.mark.parametrize(
    "protocol",
    ["redo", *(pytest.param(name, marks=pytest.mark.by_hand) for name in ("line", "undo", "undo-nv", "epoch"))],
)
def test_the_recovered_states_are_those_of_the_native_explorer(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, protocol: str
) -> None:
    """Two commits have two states each; a rollback and a close have one.

    A log line of eight non-temporal stores can have 256 contents. A point with such a line is judged in part.
    """
    judging, findings = in_guests(plan(protocol, "few", ""), session, quick_guest, protocol)
    assert judging.counts.points_in_part <= 1
    found = contents(findings)
    print(f"{protocol}: {judging.counts.combinations} combinations, {len(findings)} states")
    assert found.pop(4) == found[3]  # behind the last mark, where the native explorer cuts no power
    assert found == natively(protocol, "few", "", tmp_path)
    assert {mark: len(states) for mark, states in found.items()} == {0: 2, 1: 2, 2: 1, 3: 1}


SHOWN = {  # by story: bugs of the native explorer that one process without threads shows
    ("line", "few"): "NO_LOG_FLUSH NO_LOG_FENCE NO_COMMIT_FENCE NO_CHECKSUM NO_DATA_HASH",
    ("undo", "few"): "NO_LOG_FLUSH NO_LOG_FENCE NO_DATA_FENCE NO_COMMIT_FENCE NO_CHECKSUM UNDO_FORWARDS",
    ("undo-nv", "few"): "NO_DATA_FENCE",
    ("redo", "few"): "NO_LOG_FLUSH NO_COMMIT_FENCE NO_CHECKSUM APPLY_BEFORE_FENCE REPLAY_BACKWARDS REPLAY_ONE",
    ("redo", "many"): "THREE_SETS NO_PUBLISH_FENCE",
    ("redo", "blocks"): "NO_COUNT",
    ("epoch", "few"): "NO_CHECKSUM NO_REPLAY_FENCE REPLAY_EARLY REPLAY_ONE REPLAY_BACKWARDS",
}
NONE_WHEN_COMPILED = {("undo", "NO_LOG_FENCE"), ("epoch", "NO_REPLAY_FENCE")}  # docs/results/crash-bugs.md says why


@pytest.mark.by_hand
@pytest.mark.parametrize(
    ("protocol", "story", "bug"),
    [(protocol, story, bug) for (protocol, story), bugs in SHOWN.items() for bug in bugs.split()],
)
def test_a_bug_that_the_native_explorer_shows_is_found(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, protocol: str, story: str, bug: str
) -> None:
    sound, spoilt = (natively(protocol, story, name, tmp_path) for name in ("", bug))
    assert any(spoilt[mark] - sound[mark] for mark in spoilt)
    judging, findings = in_guests(plan(protocol, story, bug), session, quick_guest, protocol)
    bad = sorted((len(found.state.lost), found.state.point.mark or 0) for found in findings if found.violates())
    found, counts = contents(findings), judging.counts
    print(
        f"{protocol} {story} {bug}: {len(bad)} of {len(findings)} states, the least {bad[:1]} (lines lost, mark); "
        f"{counts.tried} of {counts.combinations} combinations at {counts.points} points; contents "
        f"{ {mark: len(found[mark] & spoilt[mark]) for mark in found} } of { {m: len(spoilt[m]) for m in spoilt} }"
    )
    assert bool(bad) == ((protocol, bug) not in NONE_WHEN_COMPILED)
