# SPDX-License-Identifier: BSD-3-Clause
"""The model judges every point before the first guest boots; a rejected point does not affect the others."""

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import MANIFEST, MOCK_QEMU, QuietReporter
from testbed.cli.pages import page_of
from testbed.errors import RunFailed, TestbedError
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestSpec, QemuExecutor, prepare_files
from testbed.guest.qemu_line import Images, PowerCut, command_line
from testbed.guest.session import Session
from testbed.manifest import bases, parse, profiles, render
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.model_parameters import CHOICES
from testbed.manifest.parameters import DeviceProfile, key_of, parameters, units_of
from testbed.replay import verdicts
from testbed.replay.grid import configurations
from testbed.replay.replayer import Replayer, open_replayer
from testbed.results import results
from testbed.run.runner import drive, run_all
from testbed.studies import sweep

HERE = Capacity(guests=2, memory_mib=2**16)
HEAD = MANIFEST.partition("[workload]")[0]
POINTS = """[{owner}.override]
{key} = "{{value}}"
[workload]
command = "/bin/true"
[matrix]
value = ["{good}", "{bad}"]
"""
# Values that the model rejects, each at one of two points: key, good value, bad value, message.
REFUSED = [
    ("flash_channels", "8", "99999999999", "device key 'flash_channels' (99999999999) must be below 2^32"),
    ("flash_read", "3us", "99999999999999999999s", "device key 'flash_read' (1e+20 s) must be a whole number of ps"),
    ("flash_read", "3us", "2s", "device key 'flash_read' (2 s) must not exceed 1 s"),
    ("write_queue", "8", "70000", "device key 'write_queue' (70000) must not exceed 65536"),
    ("cache_mshrs", "8", "65537", "device key 'cache_mshrs' (65537) must not exceed 65536"),
    ("link_flit_bytes", "68", "64", "device key 'link_flit_bytes' (64) must be 0, 68 or 256"),
    ("link_read_bandwidth", "1GB/s", "0B/s", "device key 'link_read_bandwidth' (0) must be at least 1000000 bytes"),
    ("cache_write_miss", "fetch", "log", "device key 'write_log_size' (0 B) must not be 0 if cache_write_miss is log"),
    ("cache_ways", "8", "7", "device key 'cache_ways' (7) must be 0 (fully associative) or divide the number of pages"),
    ("cache_size", "2GiB", "64TiB", "device key 'cache_size' (64 TiB) must not exceed capacity"),
    ("cache_page_size", "4KiB", "32B", "device key 'cache_page_size' (32 B) must be from 64 to 2097152"),
    ("cache_size", "2GiB", "1B", "device key 'cache_size' (1 B) must be a positive multiple of cache_page_size"),
    ("flash_dies", "1", "0", "device key 'flash_dies' (0) must be from 1 to 65536"),
    ("volatile_size", "0B", "1TiB", "device key 'volatile_size' (1 TiB) must not exceed capacity"),
    # Rejected by the runner, not the model: sizes that CXL decoders cannot map, and values that a profile must state.
    ("volatile_size", "0B", "1MiB", "device key 'volatile_size' (1 MiB) is not a multiple of 256 MiB"),
    ("flash_read", "3us", "0s", "device key 'flash_read' is 0; state how long a page takes"),
    ("flash_ftl", "none", "page", "device key 'flash_erase' is 0; state how long a block takes"),
]
REFUSED_CPUS = [
    (
        "dram_bandwidth",
        "1GB/s",
        "0B/s",
        "cpu key 'dram_bandwidth' (0) must be at least 1000000 bytes per second and below 2^63",
    ),
    ("wc_buffers", "1", "0", "cpu key 'wc_buffers' (0) must be from 1 to 1024"),
    ("llc_ways", "11", "17", "cpu key 'llc_ways' (17) must be from 1 to 16"),
    ("llc_ways", "11", "0", "cpu key 'llc_ways' (0) must be from 1 to 16"),
    ("prefetch_degree", "1", "0", "cpu key 'prefetch_degree' (0) must be from 1 to 64"),
    ("prefetch_degree", "1", "21", "cpu key 'prefetch_degree' (21) must not exceed prefetch_distance"),
    ("prefetch_distance", "20", "65", "cpu key 'prefetch_distance' (65) must be from 1 to 64"),
    ("llc_size", "28160KiB", "28225KiB", "cpu key 'llc_size' (28225 KiB) must be a whole number of sets of its ways"),
    ("l2_latency", "1ns", "1us", "cpu key 'l2_latency' (1 us) must not exceed llc_latency"),
    ("llc_size", "28160KiB", "22KiB", "cpu key 'llc_size': the caches must grow from L1D to L2 to LLC"),
]
SCALES = [
    (3, "device key 'capacity' (5726623061 B) is not a multiple of 256 MiB, which CXL decoders need", 2),
    (100, "device key 'cache_size' (1342177 B) must be a positive multiple of cache_page_size", 64),
    (1_000_000, "device key 'cache_size' (134 B) must be a positive multiple of cache_page_size", 32768),
]
# The manifest's own keys, unknown to the model: rejected when the manifest is read.
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


def stated(path: Path, key: str, good: str, bad: str, owner: str = "device") -> list[render.Run]:
    path.write_text(HEAD + POINTS.format(owner=owner, key=key, good=good, bad=bad))
    return render.runs(path)


@pytest.mark.parametrize(
    ("owner", "key", "good", "bad", "message"),
    [("device", *case) for case in REFUSED] + [("cpu", *case) for case in REFUSED_CPUS],
)
def test_what_there_cannot_be_is_said_of_its_point(
    small_manifest: Path, replayer: Replayer, owner: str, key: str, good: str, bad: str, message: str
) -> None:
    """The message names file, key, value and valid values, and the page that explains the key."""
    fine, refused = verdicts.of_runs(stated(small_manifest, key, good, bad, owner), replayer)
    assert fine == ""
    assert refused.startswith(f"{small_manifest}: {message}")
    assert page_of(refused) == "docs/reference/parameters.md"


@pytest.mark.parametrize(("scale", "message", "works"), SCALES)
def test_a_scale_that_leaves_no_machine_is_refused_with_one_that_does(
    small_manifest: Path, replayer: Replayer, scale: int, message: str, works: int
) -> None:
    small_manifest.write_text(MANIFEST.replace("scale = 64", f"scale = {scale}"))
    said = verdicts.of_runs(render.runs(small_manifest), replayer)
    hint = f"at scale 1/{scale} of snapshot-paper-mss; key 'scale': {works} would do"
    assert set(said) == {f"{small_manifest}: {message}, {hint}"}
    small_manifest.write_text(MANIFEST.replace("scale = 64", f"scale = {works}"))
    assert set(verdicts.of_runs(render.runs(small_manifest), replayer)) == {""}


def test_runs_none_of_which_can_be_are_refused_before_anything_is_built(small_manifest: Path) -> None:
    """An error common to all runs is reported once; if any run is possible, none is rejected."""
    verdicts.refuse_if_none_can_be(stated(small_manifest, "flash_read", "3us", "2s"))
    small_manifest.write_text(MANIFEST.replace("[matrix]", "[device.override]\ncache_ways = 7\n[matrix]"))
    with pytest.raises(TestbedError, match=r"^[^;]*small.toml: device key 'cache_ways' \(7\) must be 0[^;]*$"):
        verdicts.refuse_if_none_can_be(render.runs(small_manifest))
    with pytest.raises(TestbedError, match=r"must not exceed 1 s; .*must not exceed 65536$"):
        runs = stated(small_manifest, "flash_read", "2s", "3us") + stated(small_manifest, "cache_mshrs", "65537", "1")
        verdicts.refuse_if_none_can_be(runs[::2])


def test_a_machine_for_one_program_is_refused_in_the_same_words(small_manifest: Path) -> None:
    """The machine that `testbed exec` and `testbed shell` boot."""
    small_manifest.write_text(HEAD + POINTS.format(owner="device", key="flash_read", good="2s", bad="3us"))
    with pytest.raises(TestbedError, match=r"device key 'flash_read' \(2 s\) must not exceed 1 s") as caught:
        verdicts.machine_of(small_manifest)
    assert str(caught.value).startswith(f"{small_manifest}: ")
    small_manifest.write_text(MANIFEST)
    assert verdicts.machine_of(small_manifest) == render.runs(small_manifest)[0].guest


@pytest.mark.parametrize(("line", "message"), UNREADABLE)
def test_a_machine_that_qemu_cannot_make_is_refused_by_its_key(small_manifest: Path, line: str, message: str) -> None:
    small_manifest.write_text(MANIFEST.replace("[cpu]", f"[guest]\n{line}\n[cpu]"))
    with pytest.raises(TestbedError) as caught:
        render.runs(small_manifest)
    assert str(caught.value).startswith(f"{small_manifest}: {message}")


@pytest.mark.parametrize("value", ["1e999999999", "1/99999999999", "99999999999", "0.00000000001", "9" * 5000])
def test_a_time_per_instruction_that_qemu_cannot_take_is_refused(small_manifest: Path, value: str) -> None:
    small_manifest.write_text(MANIFEST.replace("[device]", f'[cpu.override]\ninsn = "{value}"\n[device]'))
    with pytest.raises(TestbedError, match=r"key 'cpu\.override\.insn': '.*' is n"):
        render.runs(small_manifest)


def test_a_guest_larger_than_the_host_is_refused(small_manifest: Path, replayer: Replayer) -> None:
    small_manifest.write_text(MANIFEST.replace("[cpu]", '[guest]\nmemory = "256GiB"\n[cpu]'))
    said = verdicts.of_runs(render.runs(small_manifest), replayer)
    assert all("guest.memory is 262144 MiB, but this host has" in why for why in said)
    assert set(verdicts.of_runs(render.runs(small_manifest), replayer, elsewhere=True)) == {""}


def test_a_refused_point_leaves_the_others_alone(small_manifest: Path, tmp_path: Path) -> None:
    (tmp_path / "vmlinux").write_text("mock")
    executor = QemuExecutor(Images(MOCK_QEMU, tmp_path, tmp_path / "vmlinux", initrds=()))
    runs, reporter = stated(small_manifest, "flash_channels", "8", "99999999999"), QuietReporter()
    with pytest.raises(
        TestbedError, match=r"1 of 2 runs gave no result: 99999999999: refused, .*flash_channels"
    ) as caught:
        drive(run_all(runs, Session(executor, {}, here=HERE), tmp_path / "r", reporter))
    assert (caught.value.exit_status, reporter.started) == (2, ["8"])
    assert [result.point["value"] for result in results.load_all(tmp_path / "r")] == ["8"]
    assert not list((tmp_path / "r").rglob("*.failed"))


def test_a_capture_that_fails_leaves_the_others_alone(small_manifest: Path, tmp_path: Path) -> None:
    """The mock writes no trace, so every capture fails with a message; the rejected point is never started."""
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
    assert states[1].startswith(
        f"refused: {small_manifest}: device key 'flash_channels' (99999999999) must be below 2^32"
    )


def test_a_grid_is_judged_before_a_trace_is_captured(small_manifest: Path, replayer: Replayer) -> None:
    small_manifest.write_text(MANIFEST + '[replay.grid]\nflash_read = ["3us", "2s"]\n')
    loaded = parse.load(small_manifest)
    with pytest.raises(
        TestbedError, match=r"replay\.grid at flash_read=2s: device key 'flash_read' \(2 s\) must not exceed 1 s"
    ):
        verdicts.check_grid(loaded, configurations(loaded), replayer)


def test_the_shipped_manifests_are_all_accepted(replayer: Replayer) -> None:
    runs = [run for path in bases.shipped() for run in render.runs(path)]
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


def random_runs(path: Path, count: int) -> list[render.Run]:
    """Runs of manifests with one to three random values that the runner parses and that break none of its own rules."""
    dice, found = random.Random(1), list[render.Run]()
    while len(found) < count:
        overrides = dict(any_override(dice) for _ in range(dice.randint(1, 3)))
        lines = "\n".join(f"{key} = {value}" for key, value in overrides.items())
        path.write_text(f'{HEAD}[device.override]\n{lines}\n[workload]\ncommand = "/bin/true"\n')
        try:
            found += [run for run in render.runs(path) if not profiles.problem(run.full.cpu, run.full.device)]
        except TestbedError as error:
            assert str(path) in str(error)
    return found


def test_random_values_are_judged_in_a_sentence_each(small_manifest: Path, replayer: Replayer) -> None:
    said = verdicts.of_runs(random_runs(small_manifest, 400), replayer)
    print(f"{said.count('')} accepted, {len(said) - said.count('')} refused")
    assert 40 < said.count("") < 360
    assert all("\n" not in why for why in said)


LARGEST_FILE = 2**40  # a sparse file of this size fits any file system


def starts(session: Session, guest: GuestConfig, folder: Path) -> bool:
    """Whether QEMU creates this machine; no code of a guest runs."""
    folder.mkdir()
    if guest.device.volatile_size > guest.device.capacity:  # the media file would have a negative size
        return False
    files = prepare_files(replace(session.images, initrds=()), GuestSpec(guest, None), folder)
    line = command_line(session.images, guest, files, PowerCut(), ["-S", "-monitor", "stdio"])
    return subprocess.run(line, input="quit\n", capture_output=True, text=True, timeout=60).returncode == 0


@pytest.mark.guest
def test_what_is_accepted_starts_in_qemu_and_what_is_refused_does_not(
    session: Session, small_manifest: Path, replayer: Replayer, tmp_path: Path
) -> None:
    """The judge and QEMU agree on every machine."""
    runs = [run for run in random_runs(small_manifest, 70) if run.guest.device.capacity <= LARGEST_FILE]
    assert len(runs) > 60
    for n, (run, why) in enumerate(zip(runs, verdicts.of_runs(runs, replayer), strict=True)):
        assert starts(session, run.guest, tmp_path / str(n)) == (not why), f"{run.guest.device}: {why}"
