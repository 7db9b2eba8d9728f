# SPDX-License-Identifier: BSD-3-Clause
"""Crash tests in guests: they find the seeded bugs of the example and name the lost store, also with lazy choice.

The tests of the documents' commands show that the sound program has no violation.
"""

import mmap
import os
from dataclasses import replace
from pathlib import Path

import pytest

from rigs.cluster.cluster_rig import open_cluster
from rigs.guest.guest_rig import crash
from testbed.crash import findings, shipped
from testbed.crash import plan as plans
from testbed.crash.campaign import Campaign
from testbed.crash.guests import Guests, places, settled
from testbed.crash.journal import LINE_BYTES
from testbed.crash.judging import Finding
from testbed.crash.lines import Place
from testbed.crash.plan import CrashSection, Plan, Programs
from testbed.guest import boots
from testbed.guest.executor import GuestOutcome
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import CRASH_TESTS
from testbed.run.runner import drive

pytestmark = pytest.mark.guest


def test_a_seeded_bug_is_found_with_its_store(tmp_path: Path) -> None:
    status, said, report = crash("records-no-fence", tmp_path)
    assert status == 1
    assert report["counts"]["points_in_part"] == 0 and f"{report['counts']['states']} states" in said
    least = min(report["violations"], key=lambda violation: len(violation["lost"]))
    assert len(least["lost"]) == 1 and len(least["stores"]) == 1, least
    assert least["stores"][0].startswith("write_record (records.c:"), least
    assert least["said"] == "record 0 of 1 is not whole", least
    assert "write_record" in said and "(records.c:" in said  # a narrow table breaks the line between them


@pytest.mark.by_hand
def test_a_cluster_has_the_report_of_this_host(tmp_path: Path) -> None:
    """Use two workers; each makes the media that the test starts with."""
    folders = [tmp_path / name for name in ("here", "there")]
    for folder in folders:
        folder.mkdir()
    _, _, here = crash("records-no-fence", folders[0])
    with open_cluster(tmp_path) as cluster:
        for host in ("127.0.0.2", "127.0.0.3"):
            cluster.add(host, 1)
            cluster.wait_for(host)
        _, _, there = crash("records-no-fence", folders[1], "--scheduler", cluster.address)
    assert here["violations"] and there == here


@pytest.mark.by_hand
@pytest.mark.parametrize("name", sorted(findings.load()))
def test_a_ready_made_test_finds_what_is_recorded(tmp_path: Path, name: str) -> None:
    test, *options = name.split()
    status, _, report = crash(test, tmp_path, *options)
    counts = [report["counts"][key] for key in ("states", "points", "points_in_part")]
    recorded = findings.load()[name]
    assert counts == [recorded.states, recorded.points, recorded.points_in_part]
    assert len(report["violations"]) == recorded.violations
    assert status == (1 if recorded.violations else 0)


def test_a_tbfs_of_the_guest_is_recorded_and_judged(tmp_path: Path) -> None:
    """Each copy mounts the tbfs of its state, which holds the data that were written and synchronised."""
    manifest = tmp_path / "tbfs.toml"
    manifest.write_text("""
        name = "tbfs"
        summary = "A file of a tbfs at /pmem"
        file_system = "tbfs"
        [crash]
        setup = "mkdir /pmem/folder; sync"
        workload = "roi mark 0; echo one > /pmem/folder/one; sync; roi mark 1"
        check = "test -d /pmem/folder; test $CRASH_MARK -lt 1 || grep -q one /pmem/folder/one"
        bounds = { exhaustive = 4, subsets = 0, samples = 1 }
    """)
    status, said, report = crash(manifest, tmp_path)
    assert status == 0, said
    assert report["counts"]["states"] > 3 and report["violations"] == []


def test_a_guest_that_panics_in_recovery_is_a_violation_with_its_console(tmp_path: Path) -> None:
    """Judge the states of a program without its fence; the kernel crashes on damaged ones."""
    manifest = tmp_path / "panic.toml"
    manifest.write_text(f"""
        name = "panic"
        summary = "A recovery that crashes the kernel"
        [crash]
        sources = ["{os.path.relpath(CRASH_TESTS, tmp_path)}/examples/records.c"]
        setup = "records make /pmem/records; sync"
        workload = "records append /pmem/records no-fence"
        recover = "records check /pmem/records $CRASH_MARK || echo c >/proc/sysrq-trigger"
        check = "true"
        """)
    status, _, report = crash(manifest, tmp_path)
    assert (status, report["counts"]["points_in_part"]) == (1, 0)
    found = [(violation["mark"], violation["outcome"]) for violation in report["violations"]]
    assert found == [(0, "panic"), (1, "panic")]
    assert all("Kernel panic" in violation["said"] for violation in report["violations"])
    assert all("sysrq_handle_crash" in violation["text"] for violation in report["violations"])


@pytest.mark.by_hand
def test_lazy_choice_finds_what_judging_every_state_finds(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """From one recording of a program without its flush, lazy choice finds the least violations with fewer copies."""
    origin = shipped.find("records-no-flush")
    plan = plans.load(origin)
    campaign = Campaign(plan, origin, quick_guest, plans.programs(plan, origin, tmp_path), session, jobs=1)

    async def both() -> list[list[Finding]]:
        async with campaign.guests() as guests:
            recorded = await campaign.record(guests)
            judgings = [replace(campaign, every=every).judging(recorded) for every in (False, True)]
            return [await judging.findings(lambda *_: None) for judging in judgings]

    lazy, every = drive(both())
    assert 0 < sum(found.violates() for found in lazy) < sum(found.violates() for found in every)
    assert len(lazy) < len(every)
    least = [(found.state.point.mark, found.state.lost.keys()) for found in lazy if found.violates()]
    for found in every:
        covered = any(mark == found.state.point.mark and lost <= found.state.lost.keys() for mark, lost in least)
        assert covered or not found.violates(), found.state.lost
    verdicts = {found.key: found.detail for found in every}
    for found in lazy:
        assert verdicts[found.state.point.mark, found.state.digest] == found.detail


def found(media: Path, content: bytes) -> int:
    """Return the offset of the content's only occurrence."""
    with media.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        at = image.find(content)
        assert at >= 0 and image.find(content, at + 1) < 0
        return at


def test_a_copy_has_the_lines_that_it_is_given_and_tells_which_it_reads(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """A copy does not report lines that it stored before, and changes neither later copies nor the files."""
    make = "for name in a b c; do head -c 4096 /dev/zero | tr '\\000' $name > /pmem/$name; done; sync"
    check = "tr -d b </pmem/b | wc -c; head -c 4096 /dev/zero >/pmem/c; tr -d c </pmem/c | wc -c"
    plan = Plan(name="lines", summary="", crash=CrashSection(workload="", check=check))

    async def judged() -> list[GuestOutcome]:
        async with boots.shared(session.qemu, 1) as executor:
            guests = Guests(plan, quick_guest, Programs({}, {}, ()), executor, tmp_path)
            assert (await guests.run(make, tmp_path)).outcome == "ok"
            line = Place(0, found(tmp_path / "media.raw", b"b" * 4096) + LINE_BYTES)
            outcomes = [await guests.judge(tmp_path, lines, 0) for lines in ({}, {line: b"x" * LINE_BYTES}, {})]
            assert guests.region.is_there
            info_block = min(settled(outcomes[0]))
            same = {info_block: (tmp_path / "media.raw").read_bytes()[info_block.dpa :][:LINE_BYTES]}
            outcomes.append(await guests.judge(tmp_path, same, 0))
            assert not guests.region.is_there  # the region could depend on that line
            return outcomes

    outcomes = drive(judged())
    assert [(o.outcome, o.stderr) for o in outcomes] == [
        ("ok", said) for said in (b"0\n4096\n", b"64\n4096\n", b"0\n4096\n", b"0\n4096\n")
    ]
    assert outcomes[0].reads == outcomes[2].reads
    read = [set(places(outcome.reads)) for outcome in outcomes]
    assert read[3] - read[0] == settled(outcomes[0])  # each copy reads all other lines
    told = list(places(outcomes[1].reads))
    assert len(told) == len(set(told)) and {place.device for place in told} == {0}
    of = {name: found(tmp_path / "media.raw", name.encode() * 4096) for name in "abc"}
    count = {name: sum(of[name] <= place.dpa < of[name] + 4096 for place in told) for name in "abc"}
    assert count == {"a": 0, "b": 64, "c": 0}
