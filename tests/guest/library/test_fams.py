# SPDX-License-Identifier: BSD-3-Clause
"""Failure-atomic msync() without a compiler pass, in a guest: commits of pages, power cuts, and exchanges by XFS."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rigs.guest.guest_rig import RIG_PROGRAMS, said
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.sections import FileSystem
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = [pytest.mark.guest, pytest.mark.by_hand]

FAMS = ("fams-uffd", "fams-mprotect")
EXCHANGE = ("fams-exchange",)
# By engine: the counter of written bytes, the bytes per page, and the fences per commit. A page in the log is 64 lines
# and a header for ten of them. The kernel issues the fences of an exchange.
COSTS = dict.fromkeys(FAMS, ("log_bytes", 64 * 64 + 7 * 64, 1)) | dict.fromkeys(EXCHANGE, ("data_bytes", 4096, 0))
SIZE = "--workload G --records 1000 --buckets 2 --seed 1 --file /pmem/$engine"
WORK = """
unset TESTBED_RESULT
cd /run
for engine in snapshot {engines}; do kv-$engine --engine $engine {size} --operations 100 > /dev/console; done
rm /pmem/*
"""
# The programs run until the power cut.
CUT = """
for engine in {engines}; do
    kv-$engine --engine $engine {size} --operations 1000000 --acknowledge $engine > /dev/null &
    until [ -s $engine ] && [ $(od -An -tu8 -N8 $engine) -gt 20 ]; do sleep 0.001; done
    kill -STOP $!
done
kill -CONT $(jobs -p)
sleep 0.003
echo acknowledged $(od -An -v -w8 -tu8 {engines}) > /dev/console
roi power-cut
"""
CHECK = """
unset TESTBED_RESULT
for engine in {engines}; do kv-$engine --engine $engine {size} --operations 1000000 --verify > /dev/console; done
"""


def rows(outcome: GuestOutcome, program: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in outcome.console.splitlines() if line.startswith(f'{{"program":"{program}"')]


@pytest.mark.parametrize(
    ("file_system", "engines"), [("ext4-dax", FAMS), ("xfs-dax", FAMS), ("xfs-exchange", EXCHANGE)]
)
def test_pages_are_committed_and_outlive_a_power_cut(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, file_system: FileSystem, engines: tuple[str, ...]
) -> None:
    """The engines make the same commits as the pass, but of pages; acknowledged commits survive the power cut."""
    guest = replace(quick_guest, file_system=file_system)

    def boot(script: str) -> GuestOutcome:
        job = script_job(script.format(engines=" ".join(engines), size=SIZE))
        return drive(session.executor.run(GuestSpec(guest, job, media_folder=tmp_path)))

    cut = boot(WORK + CUT)
    assert cut.outcome == "power-cut", cut.stderr.decode() + cut.console[-500:]
    snapshot, *fams = rows(cut, "kv")
    print(snapshot, *fams, sep="\n")
    assert [row["engine"] for row in fams] == list(engines)
    for row in fams:
        counter, page_bytes, fences = COSTS[row["engine"]]
        assert (row["commits"], row["fences"]) == (snapshot["commits"], fences * row["commits"])
        assert row["commits"] * page_bytes <= row[counter] <= 2 * row["commits"] * page_bytes
    least = [int(word) for line in cut.console.splitlines() if line.startswith("ack") for word in line.split()[1:]]
    checked = boot(CHECK)
    found = rows(checked, "kv-verify")
    print(cut.power_cut, least, found)
    assert [(row["engine"], row["verified"]) for row in found] == [(engine, True) for engine in engines], checked.stderr
    assert all(row["commits"] >= commits > 20 for row, commits in zip(found, least, strict=True))


def test_a_file_system_that_exchanges_no_ranges_is_refused(session: Session, quick_guest: GuestConfig) -> None:
    """The engine fails with a message and leaves no pool."""
    options = SIZE.replace("$engine", "pool")
    script = f"kv-fams-exchange {options} 2>&1; echo status $?; ls /pmem\n"
    for file_system in ("ext4-dax", "xfs-dax"):
        guest = replace(quick_guest, file_system=file_system)
        text = said(drive(session.executor.run(GuestSpec(guest, script_job(script)))))
        assert "needs Linux 6.10 and XFS made with mkfs.xfs -i exchange=1" in text
        assert "status 2" in text and "pool" not in text.split("status 2")[1], text


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = Path(tmp_path_factory.mktemp("exchange") / "xfs_exchange")
    source = RIG_PROGRAMS / "xfs_exchange.c"
    subprocess.run(["cc", "-O2", "-static", "-o", program, source], check=True)
    return program


def test_xfs_exchanges_blocks_on_dax_if_it_was_made_for_it(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, exchange: Path
) -> None:
    """XFS_IOC_EXCHANGE_RANGE swaps separate pages at once; mappings see it and a cut keeps it."""

    def boot(file_system: FileSystem, script: str) -> GuestOutcome:
        home = tmp_path / file_system
        home.mkdir(exist_ok=True)
        job = script_job(script, {"xfs_exchange": exchange})
        guest = replace(quick_guest, file_system=file_system)
        return drive(session.executor.run(GuestSpec(guest, job, media_folder=home)))

    make = "./xfs_exchange make /pmem/pool > /dev/console"
    plain = boot("xfs-dax", f"{make} || true\n")
    assert "refused Operation not supported" in plain.console, plain.console[-500:]
    cut = boot("xfs-exchange", f"{make}\nroi power-cut\n")
    print(*cut.console.splitlines()[-12:], sep="\n")
    assert cut.outcome == "power-cut", cut.stderr.decode() + cut.console[-500:]
    assert "dax yes" in cut.console and "exchanged" in cut.console
    assert said(boot("xfs-exchange", "./xfs_exchange check /pmem/pool\n")) == "kept\n"
