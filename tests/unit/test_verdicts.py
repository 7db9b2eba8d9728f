# SPDX-License-Identifier: BSD-3-Clause
"""The model judges every point before the first guest boots; what it refuses leaves the other points alone."""

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cluster_lab import MOCK_QEMU

from conftest import MANIFEST, QuietReporter
from testbed.errors import RunFailed, TestbedError
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestSpec, QemuExecutor, prepare_files
from testbed.guest.qemu_line import Images, PowerCut, command_line
from testbed.guest.session import Session
from testbed.manifest import bases, manifest
from testbed.manifest.parameters import CHOICES, DeviceProfile, key_of, parameters, units_of
from testbed.replay import verdicts
from testbed.replay.grid import configurations
from testbed.replay.replayer import Replayer, open_replayer
from testbed.results import results
from testbed.run.runner import drive, run_all
from testbed.studies import sweep

HERE = Capacity(guests=2, memory_mib=2**16)
HEAD = MANIFEST.partition("[workload]")[0]
POINTS = """[device.override]
{key} = "{{value}}"
[workload]
command = "/bin/true"
[matrix]
value = ["{good}", "{bad}"]
"""
# What the model refuses, at one of two points.
REFUSED = [
    ("flash_channels", "8", "99999999999", "device.flash-channels must be below 2^32"),
    ("flash_read", "3us", "99999999999999999999s", "device.flash-read-ps must be a whole number of ps below 2^64"),
    ("flash_read", "3us", "2s", "device.flash_read_ps must not exceed 1 s"),
    ("write_queue", "8", "70000", "device.write_queue must not exceed 65536"),
    ("cache_mshrs", "8", "65537", "device.cache_mshrs must not exceed 65536"),
]
# What is no matter of the model's, in the manifest's own keys: refused as it is read.
UNREADABLE = [
    ('boot_insn = "0ns"', "key 'guest.boot_insn': Input should be greater than or equal to 1"),
    ('boot_insn = "5s"', "key 'guest.boot_insn': Input should be less than or equal to 4294967295"),
    ('memory = "1B"', "key 'guest.memory': Input should be greater than or equal to 134217728"),
    ('memory = "1073741825B"', "key 'guest.memory': Input should be a multiple of 1048576"),
    ('memory = "99TiB"', "key 'guest.memory': Input should be less than or equal to"),
    ('timeout = "0s"', "key 'guest.timeout': Input should be greater than or equal to"),
    ('timeout = "99999999999999999999s"', "key 'guest.timeout': Input should be less than or equal to"),
    (f'timeout = "{"9" * 400}s"', "key 'guest.timeout': "),
]


@pytest.fixture(scope="module")
def replayer() -> Replayer:
    return open_replayer()


def stated(path: Path, key: str, good: str, bad: str) -> list[manifest.Run]:
    path.write_text(HEAD + POINTS.format(key=key, good=good, bad=bad))
    return manifest.runs(path)


@pytest.mark.parametrize(("key", "good", "bad", "message"), REFUSED)
def test_what_the_model_refuses_is_said_of_its_point(
    small_manifest: Path, replayer: Replayer, key: str, good: str, bad: str, message: str
) -> None:
    fine, refused = verdicts.of_runs(stated(small_manifest, key, good, bad), replayer)
    assert fine == ""
    assert refused.startswith(f"{small_manifest}: {message}")


@pytest.mark.parametrize(("line", "message"), UNREADABLE)
def test_a_machine_that_qemu_cannot_make_is_refused_by_its_key(small_manifest: Path, line: str, message: str) -> None:
    small_manifest.write_text(MANIFEST.replace("[cpu]", f"[guest]\n{line}\n[cpu]"))
    with pytest.raises(TestbedError) as caught:
        manifest.runs(small_manifest)
    assert str(caught.value).startswith(f"{small_manifest}: {message}")


@pytest.mark.parametrize("value", ["1e999999999", "1/99999999999", "99999999999", "0.00000000001", "9" * 5000])
def test_a_time_per_instruction_that_qemu_cannot_take_is_refused(small_manifest: Path, value: str) -> None:
    small_manifest.write_text(MANIFEST.replace("[device]", f'[cpu.override]\ninsn = "{value}"\n[device]'))
    with pytest.raises(TestbedError, match=r"key 'cpu\.override\.insn': '.*' is n"):
        manifest.runs(small_manifest)


def test_a_guest_larger_than_the_host_is_refused(small_manifest: Path, replayer: Replayer) -> None:
    small_manifest.write_text(MANIFEST.replace("[cpu]", '[guest]\nmemory = "256GiB"\n[cpu]'))
    said = verdicts.of_runs(manifest.runs(small_manifest), replayer)
    assert all("guest.memory is 262144 MiB, but this host has" in why for why in said)
    assert set(verdicts.of_runs(manifest.runs(small_manifest), replayer, elsewhere=True)) == {""}


def test_a_refused_point_leaves_the_others_alone(small_manifest: Path, tmp_path: Path) -> None:
    (tmp_path / "vmlinux").write_text("mock")
    executor = QemuExecutor(Images(MOCK_QEMU, tmp_path, tmp_path / "vmlinux", initrds=()))
    runs, reporter = stated(small_manifest, "flash_channels", "8", "99999999999"), QuietReporter()
    with pytest.raises(
        TestbedError, match=r"1 of 2 runs gave no result: 99999999999: refused, .*flash-channels"
    ) as caught:
        drive(run_all(runs, Session(executor, {}, here=HERE), tmp_path / "r", reporter))
    assert (caught.value.exit_status, reporter.started) == (2, ["8"])
    assert [result.point["value"] for result in results.load_all(tmp_path / "r")] == ["8"]
    assert not list((tmp_path / "r").rglob("*.failed"))


def test_a_capture_that_fails_leaves_the_others_alone(small_manifest: Path, tmp_path: Path) -> None:
    """The mock writes no trace, so every capture fails; each says so, and the refused one is never begun."""
    (tmp_path / "vmlinux").write_text("mock")
    executor = QemuExecutor(Images(MOCK_QEMU, tmp_path, tmp_path / "vmlinux", initrds=()))
    runs, reporter = stated(small_manifest, "flash_channels", "8", "99999999999"), QuietReporter()
    other = stated(small_manifest, "flash_channels", "4", "2")
    with pytest.raises(
        RunFailed,
        match=r"4 of 4 .*refused.*; 8: lost while its trace was captured, QEMU wrote no trace .*; 4: lost.*; 2: lost",
    ) as caught:
        drive(sweep.capture_all([*runs, *other], Session(executor, {}, here=HERE), tmp_path / "r", reporter))
    assert caught.value.exit_status == 1


def test_a_dry_run_shows_the_verdicts_and_has_status_2(small_manifest: Path, tmp_path: Path) -> None:
    stated(small_manifest, "flash_channels", "8", "99999999999")
    words = [sys.executable, "-m", "testbed", "run", str(small_manifest), "--dry-run", "--json", str(tmp_path / "j")]
    environment = os.environ | {"TESTBED_RESULTS": str(tmp_path / "r"), "COLUMNS": "200"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "1 of 2 runs cannot be made: 99999999999: refused: " in done.stderr
    states = [state["state"] for state in json.loads((tmp_path / "j").read_text())]
    assert states[0] == "missing"
    assert states[1].startswith(f"refused: {small_manifest}: device.flash-channels must be below 2^32")


def test_a_grid_is_judged_before_a_trace_is_captured(small_manifest: Path, replayer: Replayer) -> None:
    small_manifest.write_text(MANIFEST + '[replay.grid]\nflash_read = ["3us", "2s"]\n')
    loaded = manifest.load(small_manifest)
    machine = manifest.guest_config(loaded, small_manifest)
    with pytest.raises(TestbedError, match=r"replay\.grid at flash_read=2s: device\.flash_read_ps must not exceed 1 s"):
        verdicts.check_grid(small_manifest, machine, configurations(small_manifest), replayer)


def test_the_shipped_manifests_are_all_accepted(replayer: Replayer) -> None:
    runs = [run for path in bases.shipped() for run in manifest.runs(path)]
    assert len(runs) > 300
    assert set(verdicts.of_runs(runs, replayer)) == {""}


# ---- Any value of any key ----

NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "7",
    "64",
    "255",
    "1024",
    "65537",
    "4294967295",
    "4294967296",
    "18446744073709551616",
    "9" * 30,
)


def any_override(dice: random.Random) -> tuple[str, str]:
    """A key of the device and a value that a manifest may state for it."""
    field = dice.choice(parameters(DeviceProfile))
    units = list(units_of(field.name))
    value = json.dumps(dice.choice(NUMBERS) + dice.choice(units))
    if field.name in CHOICES:
        value = json.dumps(dice.choice(CHOICES[field.name]))
    elif isinstance(field.default, bool):
        value = dice.choice(("true", "false"))
    return key_of(field.name), value


def random_runs(path: Path, count: int) -> list[manifest.Run]:
    """Runs of manifests with two or three random values that the runner reads."""
    dice, found = random.Random(1), list[manifest.Run]()
    while len(found) < count:
        overrides = dict(any_override(dice) for _ in range(dice.randint(1, 3)))
        lines = "\n".join(f"{key} = {value}" for key, value in overrides.items())
        path.write_text(f'{HEAD}[device.override]\n{lines}\n[workload]\ncommand = "/bin/true"\n')
        try:
            found += manifest.runs(path)
        except TestbedError as error:
            assert str(path) in str(error)
    return found


def test_random_values_are_judged_in_a_sentence_each(small_manifest: Path, replayer: Replayer) -> None:
    said = verdicts.of_runs(random_runs(small_manifest, 400), replayer)
    print(f"{said.count('')} accepted, {len(said) - said.count('')} refused")
    assert 40 < said.count("") < 360
    assert all("\n" not in why for why in said)


def starts(session: Session, guest: manifest.GuestConfig, folder: Path) -> bool:
    """Whether QEMU makes this machine; it executes nothing in it."""
    folder.mkdir()
    files = prepare_files(replace(session.images, initrds=()), GuestSpec(guest, None), folder)
    line = command_line(session.images, guest, files, PowerCut(), ["-S", "-monitor", "stdio"])
    return subprocess.run(line, input="quit\n", capture_output=True, text=True, timeout=60).returncode == 0


@pytest.mark.guest
def test_what_is_accepted_starts_in_qemu_and_what_is_refused_does_not(
    session: Session, small_manifest: Path, replayer: Replayer, tmp_path: Path
) -> None:
    """The judge and QEMU say the same of every machine."""
    runs = random_runs(small_manifest, 60)
    for n, (run, why) in enumerate(zip(runs, verdicts.of_runs(runs, replayer), strict=True)):
        assert starts(session, run.guest, tmp_path / str(n)) == (not why), f"{run.guest.device}: {why}"
