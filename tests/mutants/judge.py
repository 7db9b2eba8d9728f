# SPDX-License-Identifier: BSD-3-Clause
"""Guests that judge mutants of a kernel module, several in each guest."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mutants.sites import Site
from rigs.guest.guest_rig import COMPLAINTS
from testbed.crash import journal as journals
from testbed.crash.journal import LINE_BYTES, Kind, Record
from testbed.crash.states import Domain
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

NO_MUTANT = Site("no mutant", "", "", 0, [])  # its number chooses no mutant
MARKS = 1000  # for each mutant: the first begins, the others are acknowledgements
BATCH = 8


@dataclass(frozen=True)
class Judge:
    """A script for each mutant, with `{number}` and `{mark}`, that prints `part: STATUS` for each of its parts."""

    name: str
    guest: GuestConfig
    begin: str  # script that runs once in each guest
    script: str
    statuses: tuple[str, ...]  # of the parts without a mutant
    limit_s: int = 60  # of the guest's time, for each mutant
    is_recorded: bool = False  # in a journal, and no line may be lost at a mark


@dataclass(frozen=True)
class Verdict:
    site: Site
    how: str  # "" for a mutant without a complaint


def one_script(judge: Judge, site: Site, mark: int) -> str:
    """The script prints a mutant's kernel log before the line that ends the mutant's run.

    A task that waits for a lock in the kernel cannot be killed: the guest crashes when its time is over.
    """
    watch = f"(sleep {judge.limit_s} && echo c > /proc/sysrq-trigger) & watch=$!"
    script = judge.script.format(number=site.number, mark=mark)
    return f'dmesg -c > /dev/null; echo "begin {mark}"; {watch}\n{script}\nkill $watch; dmesg -c; echo "end {mark}"\n'


def judged(judge: Judge, said: str, mark: int) -> str:
    begun = said.partition(f"begin {mark}\n")[2]
    text, is_over, _ = begun.partition(f"end {mark}\n")
    if not is_over:
        return "the guest is lost"
    if complaint := re.search(rf"({COMPLAINTS}).*", text):
        return complaint[0]
    if re.findall(r"^part: (.*)$", text, re.M) == list(judge.statuses):
        return ""
    return (re.sub(r"(?m)^(part: .*|\[.*)\n", "", text).strip().partition("\n")[0] or "another status") + " (a test)"


class Waiting:
    """The lines that a power cut can lose, without their contents: Subsets needs a hundred times as long."""

    def __init__(self, is_protected: bool) -> None:
        self._is_protected = is_protected  # lines that the device has accepted are durable
        self._dirty: set[int] = set()
        self._sent: dict[int, set[int]] = {}  # by core: lines flushed or stored past the caches, until its fence
        self._accepted: set[int] = set()

    def apply(self, record: Record) -> None:
        line = record.dpa // LINE_BYTES
        if record.kind == Kind.STORE:
            self._dirty.add(line)
        elif record.kind == Kind.NT_STORE:
            self._sent.setdefault(record.core, set()).add(line)
        elif record.kind == Kind.FLUSH and line in self._dirty:
            self._dirty.remove(line)
            self._sent.setdefault(record.core, set()).add(line)
        elif record.kind == Kind.FENCE:
            self._accept(self._sent.pop(record.core, set()))
        elif record.kind == Kind.WBINVD:
            self._accept(self._dirty | self._sent.pop(record.core, set()))
            self._dirty = set()
        elif record.kind == Kind.BARRIER:
            self._accepted = set()

    def _accept(self, lines: set[int]) -> None:
        if not self._is_protected:
            self._accepted |= lines

    def count(self) -> int:
        return len(self._dirty.union(self._accepted, *self._sent.values()))


def losses(path: Path) -> dict[int, str]:
    """For each mutant, by its first mark: how many lines a power cut can lose after an acknowledged step."""
    found, lost = journals.read(path), dict[int, str]()
    is_protected = Domain.of(found).cache_protected
    waiting, marks = Waiting(is_protected), found.records.of_kind(Kind.MARK)
    for record in map(found.records.__getitem__, range(marks[0] if marks else 0, len(found.records))):
        step = record.value % MARKS
        if record.kind == Kind.MARK and step == 0:
            waiting = Waiting(is_protected)
        elif record.kind == Kind.MARK and (count := waiting.count()):
            lost.setdefault(record.value - step, f"{count} lines can be lost after step {step}")
        else:
            waiting.apply(record)
    return lost


def run_batch(
    session: Session, judge: Judge, batch: list[Site], programs: Mapping[str, Path], folder: Path
) -> list[Verdict]:
    """The verdicts up to the first mutant that ends the guest."""
    marks = [MARKS * number for number in range(1, len(batch) + 1)]
    script = judge.begin + "".join(one_script(judge, site, mark) for site, mark in zip(batch, marks, strict=True))
    journal = folder / "journal" if judge.is_recorded else None
    outcome: GuestOutcome = drive(
        session.executor.run(GuestSpec(judge.guest, script_job(script, programs), journal=journal, streamed=True))
    )
    said = outcome.stdout.decode(errors="replace")
    assert "begin 1000\n" in said, said + outcome.stderr.decode() + outcome.console[-2000:]
    assert "is not loaded" not in said, said
    found = []
    for site, mark in zip(batch, marks, strict=True):
        found.append(Verdict(site, judged(judge, said, mark)))
        if found[-1].how == "the guest is lost":
            break
    lost = losses(journal) if journal else {}
    return [Verdict(v.site, v.how or lost.get(mark, "")) for v, mark in zip(found, marks, strict=False)]


def verdicts(
    session: Session, judge: Judge, sites: list[Site], programs: Mapping[str, Path], folder: Path
) -> Iterator[Verdict]:
    left = list(sites)
    while left:
        found = run_batch(session, judge, left[:BATCH], programs, folder)
        left = left[len(found) :]
        yield from found
