# SPDX-License-Identifier: BSD-3-Clause
"""Systematic mutants of the kernel modules tbfs and fams: a test detects each one, or a list says why none can.

One build of a module contains every mutant, and a parameter of the module selects one (tests/mutants/module.py). Guests
judge the mutants: first with steps of exactly known effects (tests/rigs/programs/stress/*_steps.c), then, for tbfs,
with threads on four CPUs. The gate judges a sample:

    SAMPLE=100 pytest tests/guest/modules/test_module_mutants.py -s     all of them
    SITES=names.c pytest tests/guest/modules/test_module_mutants.py -s  only sites with this text in their key

SEED (default: the content of the sources) chooses SAMPLE sites of each module (default: 2).
"""

import os
import random
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mutants.__main__ import equivalents
from mutants.judge import NO_MUTANT, Judge, Verdict, verdicts
from mutants.module import BuiltModule, build_module
from mutants.sites import Site
from mutants.subjects import MODULES
from rigs.guest.guest_rig import RIG_PROGRAMS, static_programs
from rigs.guest.tbfs_rig import TOOL, compiled
from rigs.guest.vcpus_rig import with_cpus
from testbed.guest.session import Session
from testbed.manifest import bases, parse
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.scale import guest_config
from testbed.paths import CRASH_TESTS, REPO

pytestmark = pytest.mark.guest

INCLUDES = (f"-I{REPO / 'guest-image/tools/include'}", f"-I{REPO / 'guest-image/modules/fams/include'}")
LOAD = 'insmod /job/mutated.ko mutant={number} || {{ echo "mutant {number} is not loaded"; exit 1; }}\n'

TBFS_BEGIN = """PATH=$PATH:/job; umount /pmem
truncate -s 768K /tmp/small; truncate -s 8M /tmp/image
tbfs make /tmp/small && tbfs make /tmp/image || exit 1
"""
TBFS_STEPS = f"""
dd if=/tmp/small of=/dev/pmem0 bs=64k status=none; {LOAD}
tbfs_steps /dev/pmem0 /pmem {{mark}}; echo "part: $?"
umount /pmem 2> /dev/null; tbfs check /dev/pmem0; echo "part: $?"
rmmod tbfs
"""
TBFS_THREADS = f"""
dd if=/tmp/image of=/dev/pmem0 bs=1M status=none; {LOAD}
for data in inplace cow; do
    mount -t tbfs -o data=$data /dev/pmem0 /pmem && timeout 60 tbfs_stress run /pmem 1 150; echo "part: $?"
    umount /pmem && tbfs check /dev/pmem0 && mount -t tbfs /dev/pmem0 /pmem && tbfs_stress verify /pmem && umount /pmem
    echo "part: $?"; umount -l /pmem 2> /dev/null
done
rmmod tbfs
"""
FAMS_BEGIN = "PATH=$PATH:/job; halve --mode=fsdax --map=mem > /dev/null || exit 1; echo > /job/data\n"
# Runs with both policies: fams applies a commit to the data before the call returns (0 ms), or later.
FAMS_STEPS = f"""
{LOAD}
fams_steps /dev/pmem0.1; echo "part: $?"
for apply_ms in 0 10000; do
    echo $apply_ms > /sys/module/fams/parameters/apply_ms
    fams_calls run /dev/pmem0.1 > /tmp/said; status=$?; [ $status = 0 ] || cat /tmp/said; echo "part: $status"
done
rmmod fams
"""


@pytest.fixture
def barrier_guest() -> GuestConfig:
    """Return a guest with memory on which a store is durable only after a flush, a fence and a barrier."""
    path = bases.find("pmep")
    return guest_config(parse.load(path))


def tbfs_programs(folder: Path, built: BuiltModule) -> dict[str, Path]:
    sources = {name: [RIG_PROGRAMS / f"stress/{name}.c"] for name in ("tbfs_steps", "tbfs_stress")}
    programs = compiled(folder, {"tbfs": TOOL}) | static_programs(folder, sources, "-pthread", *INCLUDES)
    return programs | {"mutated.ko": built.file}


def fams_programs(folder: Path, built: BuiltModule) -> dict[str, Path]:
    sources = {"fams_steps": [RIG_PROGRAMS / "stress/fams_steps.c"], "fams_calls": [RIG_PROGRAMS / "fams_calls.c"]}
    programs = static_programs(folder, sources, "-pthread", *INCLUDES)
    return programs | {"mutated.ko": built.file, "halve": CRASH_TESTS / "tools/halve"}


def chosen(built: BuiltModule) -> list[Site]:
    if text := os.environ.get("SITES"):
        return [site for site in built.sites if text in site.key]
    seed = int(os.environ.get("SEED", zlib.crc32(built.file.name.encode())))
    count = min(int(os.environ.get("SAMPLE", "2")), len(built.sites))
    return random.Random(seed).sample(built.sites, count)


def by_all(
    session: Session, judges: list[Judge], sites: list[Site], programs: Mapping[str, Path], folder: Path
) -> Iterator[Verdict]:
    """Pass each judge the mutants that earlier judges missed; each judge also checks the unchanged module."""
    left = sites
    for judge in judges:
        candidates, left = left, []
        for verdict in verdicts(session, judge, [NO_MUTANT, *candidates], programs, folder) if candidates else ():
            if verdict.site is NO_MUTANT:
                assert not verdict.how, f"{judge.name}, without a mutant: {verdict.how}"
            elif verdict.how:
                yield verdict
            else:
                left.append(verdict.site)
    yield from (Verdict(site, "") for site in left)


def expect_found(
    session: Session, subject: str, built: BuiltModule, judges: list[Judge], programs: Mapping[str, Path], folder: Path
) -> None:
    begin, listed, sites = time.monotonic(), equivalents(MODULES[subject]), chosen(built)
    missed, alive = list[str](), list[str]()
    assert sites, f"no site of {subject} has the text {os.environ.get('SITES')!r}"
    assert not (gone := set(listed) - {site.key for site in built.sites}), f"{subject}.toml lists {gone}: no such site"
    for verdict in by_all(session, judges, sites, programs, folder):
        site = verdict.site
        print(f"{verdict.how or 'nothing complains'}: {site.file}:{site.line}: {site.key}", flush=True)
        if (site.key in listed) == bool(verdict.how):
            (alive if verdict.how else missed).append(site.key)
    equivalent = sum(site.key in listed for site in sites)
    print(
        f"{subject}: {len(sites)} of {len(built.sites)} sites, {len(sites) - equivalent - len(missed)} caught, "
        f"{equivalent} equivalent, {len(missed)} missed, {time.monotonic() - begin:.0f} s"
    )
    assert not missed, f"nothing finds these, and {subject}.toml does not list them: {missed}"
    assert not alive, f"{subject}.toml lists these as equivalent, and they were found: {alive}"


def test_mutants_of_tbfs_are_found(
    session: Session, quick_guest: GuestConfig, barrier_guest: GuestConfig, tmp_path: Path
) -> None:
    built = build_module(MODULES["tbfs-module"])
    steps = with_cpus(replace(barrier_guest, timeout_s=1200), 2)
    threads = with_cpus(replace(quick_guest, timeout_s=1200), 4)
    judges = [
        Judge("steps", steps, TBFS_BEGIN, TBFS_STEPS, ("0",) * 2, is_recorded=True),
        Judge("threads", threads, TBFS_BEGIN, TBFS_THREADS, ("0",) * 4, limit_s=180),
    ]
    expect_found(session, "tbfs-module", built, judges, tbfs_programs(tmp_path, built), tmp_path)


def test_mutants_of_fams_are_found(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    built = build_module(MODULES["fams-module"])
    judge = Judge("steps", with_cpus(quick_guest, 2), FAMS_BEGIN, FAMS_STEPS, ("0",) * 3)
    expect_found(session, "fams-module", built, [judge], fams_programs(tmp_path, built), tmp_path)
