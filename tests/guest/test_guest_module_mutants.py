# SPDX-License-Identifier: BSD-3-Clause
"""Systematic mutants of the module of tbfs: threads on several CPUs judge them, several mutants in each guest.

The module has every mutant in it, and its parameter chooses one (tests/mutants/module.py). By hand:

    SAMPLE=20 SEED=7 pytest -m by_hand tests/guest/test_guest_module_mutants.py -s

SAMPLE (default 8) sites are chosen by SEED (default: 1); SITES=TEXT judges those whose key contains the text.
"""

import os
import random
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from guest_rig import COMPLAINTS, static_programs
from tbfs_rig import RIGS, TOOL, compiled
from vcpus_rig import with_cpus

from mutants.module import build_module
from mutants.sites import Site
from mutants.subjects import MODULES
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.manifest import GuestConfig
from testbed.paths import REPO
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = [pytest.mark.guest, pytest.mark.by_hand]

CPUS, BATCH, ROUNDS = 4, 8, 150
BEGIN = (
    "PATH=$PATH:/job; dmesg -c > /dev/null; umount /pmem; truncate -s 8M /tmp/image; tbfs make /tmp/image || exit 1\n"
)
# A line of the log of the kernel that a mutant has caused stands before the line that ends its run.
RUN = """
dd if=/tmp/image of=/dev/pmem0 bs=1M status=none
insmod /job/mutated.ko mutant={number} || {{ echo "mutant {number} is not loaded"; exit 1; }}
for data in inplace cow; do
    mount -t tbfs -o data=$data /dev/pmem0 /pmem && timeout 60 tbfs_stress run /pmem 1 {rounds}; status=$?
    umount /pmem && tbfs check /dev/pmem0 && mount -t tbfs /dev/pmem0 /pmem && tbfs_stress verify /pmem && umount /pmem
    echo "part {number}: $status then $?"
    umount -l /pmem 2>/dev/null
done
rmmod tbfs
"""
END = 'dmesg -c; echo "end {number}"\n'


@dataclass
class Verdict:
    site: Site
    how: str  # "" for a mutant that nothing complains of


def programs_in(folder: Path, module: Path) -> dict[str, Path]:
    flags = ("-pthread", f"-I{REPO / 'guest-image/programs/include'}")
    programs = static_programs(folder, {"tbfs_stress": [RIGS / "stress/tbfs_stress.c"]}, *flags)
    return compiled(folder, {"tbfs": TOOL}) | programs | {"mutated.ko": module}


def judged(said: str, number: int) -> str | None:
    """How a run ended: None, if the guest was lost before."""
    begin, found, _rest = said.partition(f"end {number}\n")
    if not found:
        return None
    text = begin.rpartition("end ")[2]
    statuses = re.findall(rf"^part {number}: (\d+ then \d+)$", text, re.M)
    if complaint := re.search(COMPLAINTS, text):
        return complaint[0]
    return "" if statuses == ["0 then 0"] * 2 else f"status {', '.join(statuses)}"


def verdicts(session: Session, guest: GuestConfig, sites: list[Site], programs: dict[str, Path]) -> Iterator[Verdict]:
    left = list(sites)
    while left:
        batch = left[:BATCH]
        script = BEGIN
        for site in batch:
            script += RUN.format(number=site.number, rounds=ROUNDS) + END.format(number=site.number)
        outcome: GuestOutcome = drive(
            session.executor.run(GuestSpec(with_cpus(guest, CPUS), script_job(script, programs)))
        )
        said = outcome.stdout.decode(errors="replace")
        assert "is not loaded" not in said, said
        for site in batch:
            how = judged(said, site.number)
            left.pop(0)
            yield Verdict(site, "the guest is lost" if how is None else how)
            if how is None:
                break


def chosen(sites: list[Site]) -> list[Site]:
    if text := os.environ.get("SITES"):
        return [site for site in sites if text in site.key]
    count = min(int(os.environ.get("SAMPLE", "8")), len(sites))
    return random.Random(int(os.environ.get("SEED", "1"))).sample(sites, count)


def test_each_mutant_of_a_sample_is_found(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    begin, built = time.monotonic(), build_module(MODULES["tbfs-module"])
    programs = programs_in(tmp_path, built.file)
    guest = replace(quick_guest, timeout_s=1800)
    (sound,) = verdicts(session, guest, [Site("no mutant", "", "", 0, [])], programs)
    assert sound.how == "", sound.how
    missed = []
    for verdict in verdicts(session, guest, chosen(built.sites), programs):
        print(f"{verdict.how or 'missed'}: {verdict.site.file}:{verdict.site.line}: {verdict.site.key}", flush=True)
        if not verdict.how:
            missed.append(verdict.site.key)
    print(f"{len(built.sites)} sites, {len(missed)} missed, {time.monotonic() - begin:.0f} s")
    assert not missed
