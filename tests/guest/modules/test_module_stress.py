# SPDX-License-Identifier: BSD-3-Clause
"""tbfs and fams under threads on several CPUs: the modules pass, and the tests detect a module with a broken rule.

module_mutants.py compiles the modules with a broken rule from changed copies of the sources.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest import module_mutants
from rigs.guest.guest_rig import COMPLAINTS, RIG_PROGRAMS, static_programs
from rigs.guest.module_mutants import Mutant
from rigs.guest.tbfs_rig import HYBRID, TBFS, TOOL, compiled
from rigs.guest.vcpus_rig import with_cpus
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import CRASH_TESTS, REPO
from testbed.program import kernel_module
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

FAMS = REPO / "guest-image" / "modules" / "fams"
STRESS = [RIG_PROGRAMS / "stress" / "tbfs_stress.c"]
FLAGS = ("-pthread", f"-I{REPO / 'guest-image/tools/include'}")
# On a small file system, another file soon reuses a freed block. Each run prints one line with its exit statuses.
RUN = """
insmod /job/{module}.ko && tbfs make /tmp/image && dd if=/tmp/image of=/dev/pmem0 bs=1M status=none || exit 1
mount -t tbfs -o data={data} /dev/pmem0 /pmem || exit 1
timeout 60 tbfs_stress run /pmem {seed} {rounds}; status=$?
umount /pmem && tbfs check /dev/pmem0 && mount -t tbfs /dev/pmem0 /pmem && tbfs_stress verify /pmem && umount /pmem
echo "run {module} {data} {seed}: $status then $?"
umount -l /pmem 2>/dev/null; rmmod tbfs
"""
BEGIN = "PATH=$PATH:/job; umount /pmem; truncate -s 8M /tmp/image\n"
FAMS_BEGIN = "PATH=$PATH:/job; halve --mode=fsdax --map=mem || exit 1\n"
FAMS_RUN = """
insmod /job/{module}.ko || exit 1
for apply_ms in 0 2; do
    echo $apply_ms > /sys/module/fams/parameters/apply_ms
    timeout 60 fams_stress run /dev/pmem0.1 {seed} 8 {rounds}; echo "run {module} {seed} $apply_ms: $?"
done
rmmod fams
"""
FAMS_BROKEN = """
insmod /job/announces-one-more.ko && fams_stress broken /dev/pmem0.1; echo "broken: $?"; dmesg | grep -o 'fams: .*'
rmmod fams
"""
TBFS_BROKEN = """
insmod /job/blocks-look-free.ko && tbfs make /dev/pmem0 && mount -t tbfs -o data=cow /dev/pmem0 /pmem || exit 1
head -c 8192 /dev/zero > /pmem/file && sync && md5sum /pmem/file > /tmp/before || exit 1
printf x | dd of=/pmem/file bs=1 seek=100 conv=notrunc 2>/dev/null; echo "store: $?"
touch /pmem/other 2>/tmp/why; echo "create: $?" && sed 's/.*: //' /tmp/why
mount -o remount,rw /pmem 2>&1 | grep -o 'a rule of tbfs.*'
md5sum -c /tmp/before >/dev/null; echo "same: $?"
dmesg | grep -o 'tbfs: .*'
umount /pmem && tbfs check /dev/pmem0 && mount -t tbfs /dev/pmem0 /pmem && touch /pmem/other; echo "mounted again: $?"
umount /pmem; rmmod tbfs
"""
STOPPED_TBFS = """store: 1
create: 1
Read-only file system
a rule of tbfs was broken (see dmesg); unmount it and run `tbfs check`.
same: 0
tbfs: loading out-of-tree module taints kernel.
tbfs: pmem0: a file has a free block, at N; nothing is changed any more: unmount it and run `tbfs check`
mounted again: 0
"""
STOPPED = (
    "fams: a commit has other pages than those that were announced; the store of pmem0.1 takes no commit any more; "
    "close it, and open it again to get the last one\n"
)
SOUND = [("inplace", 1), ("cow", 2), (HYBRID, 3), ("cow,metadata=log", 4)]
ACKNOWLEDGE = "tbfs_stress acknowledge /pmem {seed} 40\n"
ACKNOWLEDGED = "tbfs_stress acknowledged /pmem; s=$?; umount /pmem && tbfs check /dev/pmem0.1 && exit $s\n"
MOUNT = "mount -t tbfs /dev/pmem0.1 /pmem\n"


def runs(module: str, cases: list[tuple[str, int]], rounds: int) -> str:
    return "".join(RUN.format(module=module, data=data, seed=seed, rounds=rounds) for data, seed in cases)


def outcome_of(
    session: Session, guest: GuestConfig, cpus: int, script: str, programs: Mapping[str, Path]
) -> GuestOutcome:
    job = script_job(BEGIN + script + "dmesg >&2\n", programs)
    return drive(session.executor.run(GuestSpec(with_cpus(replace(guest, timeout_s=1800), cpus), job)))


def programs_in(folder: Path) -> dict[str, Path]:
    return compiled(folder, {"tbfs": TOOL}) | static_programs(folder, {"tbfs_stress": STRESS}, *FLAGS)


def expect_sound(
    session: Session, guest: GuestConfig, cpus: int, cases: list[tuple[str, int]], rounds: int, folder: Path
) -> None:
    ((_, content),) = kernel_module.compile_folder(TBFS).modules.items()
    (folder / "sound.ko").write_bytes(content)
    programs = programs_in(folder) | {"sound.ko": folder / "sound.ko"}
    outcome = outcome_of(session, guest, cpus, runs("sound", cases, rounds), programs)
    said, log = outcome.stdout.decode(), outcome.stderr.decode()
    assert outcome.outcome == "ok", said + log + outcome.console[-2000:]
    assert re.findall(r"^run .*: (\d+ then \d+)$", said, re.M) == ["0 then 0"] * len(cases), said
    assert not re.search(COMPLAINTS, log), log


def is_caught(
    session: Session, guest: GuestConfig, mutant: Mutant, folder: Path, *, cpus: int = 4, rounds: int = 400
) -> bool:
    """Tell whether a thread, the checker or the kernel reports an error; a panic or hang of the guest counts, too."""
    programs = programs_in(folder) | {f"{mutant.name}.ko": module_mutants.compiled(TBFS, mutant, folder)}
    cases = [(data, seed) for seed in (1, 2) for data in ("cow", "inplace")]
    outcome = outcome_of(session, guest, cpus, runs(mutant.name, cases, rounds), programs)
    said, log = outcome.stdout.decode(), outcome.stderr.decode()
    if outcome.outcome != "ok":
        return True
    assert len(re.findall(r"^run ", said, re.M)) == len(cases), said + log
    return bool(re.search(COMPLAINTS, log)) or said.count(": 0 then 0") < len(cases)


def test_threads_on_four_cpus_find_nothing_wrong(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    expect_sound(session, quick_guest, 4, SOUND, 250, tmp_path)


def test_a_module_with_a_broken_rule_is_found(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    """The content of the sources selects one mutant, so the choice varies with them and a failure can be repeated."""
    content = b"".join(path.read_bytes() for path in sorted((TBFS / "module").glob("*.c")))
    mutant = random.Random(content).choice(module_mutants.TBFS)
    assert is_caught(session, quick_guest, mutant, tmp_path), mutant.name


def test_a_broken_rule_of_the_core_stops_the_file_system_and_nothing_else(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    module = module_mutants.compiled(TBFS, module_mutants.TBFS_BROKEN, tmp_path)
    programs = compiled(tmp_path, {"tbfs": TOOL}) | {"blocks-look-free.ko": module}
    outcome = outcome_of(session, quick_guest, 1, TBFS_BROKEN, programs)
    said, log = outcome.stdout.decode(), outcome.stderr.decode()
    assert outcome.outcome == "ok", said + log + outcome.console[-2000:]
    assert not re.search(COMPLAINTS, log), log
    assert re.sub(r"\bat \d+", "at N", said) == STOPPED_TBFS


def kept(session: Session, guest: GuestConfig, script: str, programs: Mapping[str, Path], home: Path) -> GuestOutcome:
    job = script_job("PATH=$PATH:/job\n" + script, programs)
    return drive(session.executor.run(GuestSpec(guest, job, media_folder=home)))


@pytest.mark.parametrize("module", ["sound", "fsync-writes-nothing-back"])
def test_a_power_cut_keeps_mapped_stores_that_were_synchronised(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, module: str
) -> None:
    """Run on four CPUs. With an fsync() and a syncfs() that write nothing back, the cut loses stores."""
    if module == "sound":
        modules = kernel_module.compile_all([TBFS])
    else:
        modules = kernel_module.several(
            [kernel_module.read(module_mutants.compiled(TBFS, module_mutants.FSYNC, tmp_path))]
        )
    guest = with_cpus(replace(quick_guest, modules=modules), 4)
    begin = "set -e; halve --mode=fsdax --map=mem; umount /pmem; tbfs make /dev/pmem0.1; " + MOUNT
    home = tmp_path / "media"
    programs = programs_in(tmp_path) | {"halve": CRASH_TESTS / "tools" / "halve"}
    cut = kept(session, guest, begin + ACKNOWLEDGE.format(seed=1), programs, home)
    assert cut.outcome == "power-cut", cut.stdout.decode() + cut.stderr.decode() + cut.console[-2000:]
    left = kept(session, guest, "umount /pmem\n" + MOUNT + ACKNOWLEDGED, programs, home)
    assert (left.exit_status == 0) == (module == "sound"), left.stdout.decode() + left.stderr.decode()


def fams_programs(folder: Path) -> dict[str, Path]:
    source = RIG_PROGRAMS / "stress" / "fams_stress.c"
    halve = CRASH_TESTS / "tools" / "halve"
    flags = ("-pthread", f"-I{FAMS / 'include'}")
    return static_programs(folder, {"fams_stress": [source]}, *flags) | {"halve": halve}


def test_commits_of_fams_are_whole_on_four_cpus_and_a_broken_invariant_stops_them(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """The threads must also detect one of the modules with a broken rule."""
    content = b"".join(path.read_bytes() for path in sorted((FAMS / "module").glob("*.c")))
    mutant = random.Random(content).choice(module_mutants.FAMS)
    ((_, module),) = kernel_module.compile_folder(FAMS).modules.items()
    (tmp_path / "sound.ko").write_bytes(module)
    changed = [module_mutants.compiled(FAMS, each, tmp_path) for each in (mutant, module_mutants.FAMS_BROKEN)]
    files = fams_programs(tmp_path) | {path.name: path for path in (tmp_path / "sound.ko", *changed)}
    script = FAMS_RUN.format(module="sound", seed=1, rounds=300) + FAMS_BROKEN
    script += "dmesg >&2\n" + FAMS_RUN.format(module=mutant.name, seed=1, rounds=300)
    guest = with_cpus(quick_guest, 4)
    outcome = drive(session.executor.run(GuestSpec(guest, script_job(FAMS_BEGIN + script, files))))
    said, log = outcome.stdout.decode(), outcome.stderr.decode()
    assert outcome.outcome == "ok", said + log + outcome.console[-2000:]
    assert re.findall(r"^run sound .*: (\d+)$", said, re.M) == ["0", "0"], said
    assert "broken: 0\n" in said and STOPPED in said, said
    assert not re.search(COMPLAINTS, log), log
    assert set(re.findall(rf"^run {mutant.name} .*: (\d+)$", said, re.M)) - {"0"}, said


@pytest.mark.by_hand
@pytest.mark.parametrize("cpus", [2, 4, 8])
def test_commits_of_fams_are_whole_on_any_number_of_cpus_and_each_broken_rule_is_found(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, cpus: int
) -> None:
    ((_, module),) = kernel_module.compile_folder(FAMS).modules.items()
    (tmp_path / "sound.ko").write_bytes(module)
    files = fams_programs(tmp_path) | {"sound.ko": tmp_path / "sound.ko"}
    script = "".join(FAMS_RUN.format(module="sound", seed=seed, rounds=1000) for seed in range(5)) + "dmesg >&2\n"
    for mutant in module_mutants.FAMS:
        files[f"{mutant.name}.ko"] = module_mutants.compiled(FAMS, mutant, tmp_path)
        script += FAMS_RUN.format(module=mutant.name, seed=1, rounds=1000)
    guest = with_cpus(replace(quick_guest, timeout_s=1800), cpus)
    outcome = drive(session.executor.run(GuestSpec(guest, script_job(FAMS_BEGIN + script, files))))
    said, log = outcome.stdout.decode(), outcome.stderr.decode()
    assert outcome.outcome == "ok", said + log + outcome.console[-2000:]
    assert re.findall(r"^run sound .*: (\d+)$", said, re.M) == ["0"] * 10, said
    assert not re.search(COMPLAINTS, log), log
    for mutant in module_mutants.FAMS:
        assert set(re.findall(rf"^run {mutant.name} .*: (\d+)$", said, re.M)) - {"0"}, said


@pytest.mark.by_hand
@pytest.mark.parametrize("cpus", [2, 3, 4, 8])
def test_threads_on_any_number_of_cpus_find_nothing_wrong(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, cpus: int
) -> None:
    cases = [(data, 10 * cpus + seed) for seed in range(3) for data, _ in SOUND]
    expect_sound(session, quick_guest, cpus, cases, 1000, tmp_path)


@pytest.mark.by_hand
@pytest.mark.parametrize("mutant", module_mutants.TBFS, ids=lambda mutant: mutant.name)
def test_each_module_with_a_broken_rule_is_found(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, mutant: Mutant
) -> None:
    assert is_caught(session, quick_guest, mutant, tmp_path)


@pytest.mark.by_hand
def test_a_module_with_two_locks_in_place_of_one_is_found(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    assert is_caught(session, quick_guest, module_mutants.RARE, tmp_path, cpus=8, rounds=1500)
