# SPDX-License-Identifier: BSD-3-Clause
"""Options of `exec` and `shell`: the resulting machine, the job, and one sentence for each mistake."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from conftest import MANIFEST, MockExecutor
from testbed.cli import machine_options, main
from testbed.cli.machine_options import MachineOptions
from testbed.errors import TestbedError
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.qemu_line import PowerCut
from testbed.guest.session import Session
from testbed.manifest import bases, render
from testbed.program.guest_script import guest_script_job
from testbed.program.job_archive import Job
from testbed.replay import verdicts

CUT = {"time-ps": 5 * 10**9, "lines-lost": 1234, "dirty-shutdown": True, "event": 70, "last-mark": 0}


def own(**options: Any) -> dict[str, Any]:
    return MachineOptions(**options).changes()


def test_keys_of_the_guest_and_profiles_are_said_by_set(small_manifest: Path) -> None:
    """`--set` takes values as a manifest does, whatever their type."""
    settings = [
        "guest.hmat=true",
        "guest.machine-checks=true",
        "guest.boot-insn=4ns",
        "guest.timeout=20min",
        "guest.workloads=mtree,filework",
        "scale=128",
    ]
    settings += ["device.profile=dram", "cpu.profile=xeon-6230-class", "guest.cpus=2", "device.bridge=1"]
    by_options = verdicts.machine_of(small_manifest, own(setting=settings))
    guest = "machine_checks = true\n"
    guest += 'hmat = true\nboot_insn = "4ns"\ntimeout = "20min"\nworkloads = ["mtree", "filework"]\ncpus = 2\n'
    text = MANIFEST.replace('profile = "snapshot-paper-mss"', 'profile = "dram"\nbridge = 1').replace(
        "scale = 64", "scale = 128"
    )
    small_manifest.write_text(f"{text}[guest]\n{guest}")
    assert by_options == verdicts.machine_of(small_manifest)
    assert (by_options.hmat, by_options.timeout_s, by_options.workloads) == (True, 1200, ("filework", "mtree"))
    assert not verdicts.machine_of(bases.find("tiering"), own(setting=["guest.hmat=false"])).hmat


def test_an_option_of_a_kernel_and_a_setting_do_not_contradict_each_other() -> None:
    setting = ["guest.kernel=a", "guest.kernel-arguments=quiet"]
    assert own(setting=setting)["guest"] == {"kernel": str(Path("a").absolute()), "kernel_arguments": "quiet"}
    with pytest.raises(TestbedError, match=r"^--kernel and --set guest\.kernel say the same key; leave one out$"):
        own(setting=setting, kernel=Path("b"))


def test_options_that_are_not_given_change_nothing(small_manifest: Path) -> None:
    assert own() == {}
    assert verdicts.machine_of(small_manifest, own()) == render.runs(small_manifest)[0].guest


def test_options_say_what_keys_of_the_manifest_say(small_manifest: Path) -> None:
    settings = ["device.flash-read=3us", "device.flash_program=90us", "cpu.l2-ways=8"]
    by_options = verdicts.machine_of(
        small_manifest, own(cpus=2, memory="1GiB", file_system="xfs-dax", device=["cxl-dram"], setting=settings[2:])
    )
    keys = '[guest]\ncpus = 2\nmemory = "1GiB"\nfile_system = "xfs-dax"\n[cpu.override]\nl2_ways = 8\n'
    small_manifest.write_text(MANIFEST.replace("snapshot-paper-mss", "cxl-dram") + keys)
    assert by_options == verdicts.machine_of(small_manifest)
    small_manifest.write_text(MANIFEST)
    device = verdicts.machine_of(small_manifest, own(setting=settings[:2])).device
    assert (device.flash_read_ps, device.flash_program_ps) == (3_000_000, 90_000_000)


def test_what_an_option_says_puts_out_what_the_manifest_says_beside_it(small_manifest: Path) -> None:
    """An option overrides memory_full, file_system_of, and the overrides of a device that it replaces."""
    guest = '[guest]\nmemory_full = "512GiB"\nfile_system_of = { snapshot = "xfs-dax" }\n'
    small_manifest.write_text(MANIFEST + '[device.override]\nflash_read = "9us"\n' + guest)
    assert verdicts.machine_of(small_manifest).device.flash_read_ps == 9_000_000
    changed = verdicts.machine_of(small_manifest, own(memory="3GiB", file_system="ext4-ordered", device=["cxl-dram"]))
    assert (changed.memory_bytes, changed.file_system) == (3 * 2**30, "ext4-ordered")
    small_manifest.write_text(MANIFEST.replace("snapshot-paper-mss", "cxl-dram"))
    assert changed.device == verdicts.machine_of(small_manifest).device


def test_several_devices_are_those_of_one_machine(small_manifest: Path) -> None:
    settings = ["device.flash-read=3us", "device.1.flash_read=9us", "device.1.bridge=5", "region.0.devices=1,0"]
    guest = verdicts.machine_of(small_manifest, own(device=["snapshot-paper-mss"] * 2, setting=settings))
    assert [device.flash_read_ps for device in guest.devices] == [3_000_000, 9_000_000]
    assert guest.topology and guest.topology.bridges == (0, 5)
    assert [(one.devices, one.mount) for one in guest.topology.regions] == [((1, 0), "/pmem")]
    alone = verdicts.machine_of(small_manifest, own(setting=["region.0.use=devdax", "region.0.devices=0"]))
    assert alone.topology and alone.topology.regions[0].use == "devdax"
    assert verdicts.machine_of(small_manifest, own(setting=["device.0.flash-read=3us"])).topology is None


def test_other_devices_are_behind_the_bridges_that_there_are(small_manifest: Path) -> None:
    """The devices also keep the regions; the manifest's overrides of its own devices no longer count."""
    path = bases.find("four-and-one")
    guest, shipped = verdicts.machine_of(path, own(device=["dram"] * 5)), verdicts.machine_of(path)
    assert guest.topology and shipped.topology
    assert {device.name for device in guest.devices} == {"dram"}
    assert (guest.topology.bridges, guest.topology.regions) == (shipped.topology.bridges, shipped.topology.regions)
    devices = 'profile = "cxl-dram"\noverride = { capacity = "64GiB" }\n'
    small_manifest.write_text(
        MANIFEST.replace('[device]\nprofile = "snapshot-paper-mss"\n', f"[[device]]\n{devices}" * 2)
    )
    assert verdicts.machine_of(small_manifest, own(device=["dram"])).topology is None


def test_a_manifest_may_say_of_its_bases_devices_by_number(small_manifest: Path) -> None:
    text = 'name = "x"\nsummary = "x"\nbase = "four-and-one"\ndevice.4.override.flash_read = "3us"\n'
    small_manifest.write_text(text + 'device.override.flash_program = "90us"\nregion.1.mount = "/one"\n')
    guest = verdicts.machine_of(small_manifest)
    assert {device.flash_program_ps for device in guest.devices} == {90_000_000}
    reads = [device.flash_read_ps for device in guest.devices]
    assert (len(set(reads[:4])), reads[4]) == (1, 3_000_000)
    assert guest.topology and guest.topology.regions[1].mount == "/one"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "much"}, r"small\.toml, with the options: key 'guest\.memory': 'much' is not a number and one of"),
        ({"memory": "1MiB"}, r"key 'guest\.memory'"),
        ({"cpus": 0}, r"key 'guest\.cpus' \(option --cpus\): 0 is not a number from 1 to 20"),
        ({"file_system": "btrfs"}, r"key 'guest\.file_system'"),
        ({"device": ["../cpus/x"]}, r"no profile '\.\./cpus/x' in .*; there are: .*cxl-dram"),
        ({"setting": ["device.flash-raed=3us"]}, r"unknown key 'device\.override\.flash_raed'; did you mean"),
        ({"setting": ["device.flash-read=3"]}, r"key 'device\.override\.flash_read': '3' is not a number and one of"),
        ({"setting": ["device.flash-read=2s"]}, r"device key 'flash_read' \(2 s\) must not exceed 1 s"),
        ({"setting": ["device.flash-read={x}"]}, r"key 'device\.override\.flash_read' uses {x}"),
        ({"setting": ["workload.command=ls"]}, r"--set workload\.command=ls: it is no key of a profile or of the"),
        ({"setting": ["memory=1GiB"]}, r"--set memory=1GiB: it is no key of a profile or of the machine"),
        (
            {"setting": ["guest.hmat=maybe"]},
            r"key 'guest\.hmat': 'maybe' has the wrong type; it must be true or false",
        ),
        ({"setting": ["guest.hmta=true"]}, r"unknown key 'guest\.hmta'; did you mean 'hmat'"),
        (
            {"setting": ["guest.workloads=kv,other"]},
            r"key 'guest\.workloads': there is no workload 'other'",
        ),
        ({"setting": ["guest.file-system-of=xfs-dax"]}, r"key 'guest\.file_system_of': 'xfs-dax' has the wrong type"),
        ({"setting": ["guest.modules=none.ko"]}, r"key 'guest\.modules': .*/none\.ko does not exist"),
        ({"setting": ["cpu.profile=none"]}, r"no profile 'none' in .*; there are: .*xeon-6230-class"),
        ({"setting": ["scale=none"]}, r"key 'scale': 'none' has the wrong type; it must be a whole number"),
        ({"setting": ["scale=0"]}, r"key 'scale'"),
        (
            {"memory": "1GiB", "setting": ["guest.memory=2GiB"]},
            r"^--memory and --set guest\.memory say the same key; leave one out$",
        ),
        ({"device": ["dram"] * 9}, r"with the options: key 'device': there are 9, and a machine has 1 to 8"),
        (
            {"device": ["dram"] * 2, "setting": ["region.0.devices=0,2"]},
            r"key 'region\.0\.devices': there is no device 2",
        ),
        ({"setting": ["region.1.use=raw"]}, r"key 'region\.1': there is none of number 0, the next one; add that"),
        ({"setting": ["region.0.use=raw"]}, r"key 'region\.0\.devices' is missing; add it"),
        ({"setting": ["region.0.devices=x"]}, r"key 'region\.0\.devices\.0': 'x' has the wrong type"),
        ({"setting": ["device.2.flash-read=3us"]}, r"key 'device\.2': there is none of number 1, the next one"),
        ({"setting": ["device.1.flash-read=3us"]}, r"key 'device\.1\.profile' is missing; add it"),
        ({"setting": ["device.bridge=" + "9" * 5000]}, r"key 'device\.bridge': '9+' has the wrong type"),
        ({"setting": ["device.11.bridge=1"]}, r"--set device\.11\.bridge=1: it is no key"),
        ({"setting": ["device.flash-read"]}, r"--set device\.flash-read: it is no key of a profile or of the"),
    ],
)
def test_a_machine_that_cannot_be_is_refused_by_key(
    small_manifest: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TestbedError, match=message) as caught:
        verdicts.machine_of(small_manifest, own(**options))
    assert caught.value.exit_status == 2


def test_when_the_power_is_cut() -> None:
    assert machine_options.power_cut(None) == PowerCut()
    assert machine_options.power_cut("at-event=7") == PowerCut(at_event=7)
    assert machine_options.power_cut("at-time=9.5ms") == PowerCut(at_ps=9_500_000_000)


def test_a_file_system_that_a_region_contradicts_is_refused() -> None:
    """Two devices in a region that states its own file system."""
    settings = ["region.0.devices=0,1", "region.0.file-system=xfs-dax"]
    options = own(device=["dram", "dram"], file_system="ext4-ordered", setting=settings)
    with pytest.raises(TestbedError, match=r"with the options: key 'guest\.file_system': region 0 states its own"):
        verdicts.machine_of(bases.find("kv-ycsb-quick"), options)


@pytest.mark.parametrize("when", ["", "7", "at-event", "at-event=0", "at-event=-1", "at-event=1ms", "at-time=7"])
def test_a_power_cut_that_is_never_or_nonsense_is_refused(when: str) -> None:
    with pytest.raises(TestbedError, match="--power-cut"):
        machine_options.power_cut(when)
    with pytest.raises(TestbedError, match="below 2"):
        machine_options.power_cut(f"at-event={2**63}")


# ---- Scripts ----


def script_of(folder: Path, text: str = "ls\n", *extras: str) -> Job:
    (folder / "my test.sh").write_text(text)
    return guest_script_job(Path("my test.sh"), ["a b"], [Path(one) for one in extras], (), folder, False)


def test_a_script_runs_among_the_guests_programs_beside_its_files(tmp_path: Path) -> None:
    (tmp_path / "data" / "in").mkdir(parents=True)
    (tmp_path / "data" / "in" / "x").write_text("x")
    job = script_of(tmp_path, "#!/bin/sh\nls\n", "data")
    assert dict(job.files) == {"my test.sh": b"#!/bin/sh\nls\n", "data/in/x": b"x"}
    assert "roi-run bash 'my test.sh' 'a b' ||" in job.script and "unshare" not in job.script
    marked = guest_script_job(Path("my test.sh"), [], [], (), tmp_path, True)
    assert "roi-run" not in marked.script


@pytest.mark.parametrize("begin", ["", "#!/bin/bash\n", "#!/usr/bin/env bash\n", "#! /bin/dash\n"])
def test_scripts_of_shells_are_taken(tmp_path: Path, begin: str) -> None:
    assert script_of(tmp_path, begin + "ls\n").files["my test.sh"].endswith(b"ls\n")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: None, "--script s: no such file or folder"),
        (lambda path: path.mkdir(), "--script s: is no file"),
        (lambda path: path.write_bytes(b"\x7fELF"), "--script s: is a program and no script; start it by"),
        (lambda path: path.write_text("#!/usr/bin/python3\n"), "--script s: is a script of '/usr/bin/python3'"),
    ],
)
def test_what_is_no_script_is_refused(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    make(tmp_path / "s")
    with pytest.raises(TestbedError, match=message):
        guest_script_job(Path("s"), [], [], (), tmp_path, False)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "my test.sh").write_text("")
    with pytest.raises(TestbedError, match=r"--file other/my test\.sh: the name 'my test\.sh' is taken in the guest"):
        script_of(tmp_path, "ls\n", "other/my test.sh")


# ---- The command, with a mock guest ----


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch, small_manifest: Path) -> MockExecutor:
    mock = MockExecutor()
    monkeypatch.setattr(main, "open_session", lambda: Session(mock, {}, here=Capacity(1, 2**20)))
    monkeypatch.chdir(small_manifest.parent)
    Path("s.sh").write_text("ls\n")
    return mock


def exec_(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main.app, ["exec", "-m", "small.toml", *words])
    return done.exit_code, f"{done.output}{done.exception or ''}"


def test_a_power_cut_that_was_asked_for_is_no_failure(executor: MockExecutor) -> None:
    executor.answer = lambda _: GuestOutcome("power-cut", power_cut=CUT)
    status, said = exec_("--power-cut", "at-event=70", "--json", "out.json", "--script", "s.sh", "--", "x")
    assert (status, "lines lost" in said, "1,234" in said) == (0, True, True), said
    assert '"lines-lost": 1234' in Path("out.json").read_text()
    (spec,) = executor.started
    assert (spec.cut, spec.job and "bash s.sh x" in spec.job.script) == (PowerCut(at_event=70), True)


def test_a_power_cut_that_never_came_is_said(executor: MockExecutor) -> None:
    status, said = exec_("--power-cut", "at-time=1s", "--", "true")
    assert (status, "the power was not cut: the program had ended before at-time=1s" in said) == (0, True), said
    assert [spec.cut for spec in executor.started] == [PowerCut(at_ps=10**12)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is nothing to run; give -- PROGRAM"),
        (["--packages", "fio", "--", "true"], "--packages are for --script FILE: a program of this host"),
        (["--packages", "no such", "--script", "s.sh"], "--packages: key 'packages.0'"),
        (["--set", "x", "--", "true"], "--set x: it is no key"),
        ([*["--device", "dram"] * 9, "--", "true"], "key 'device': there are 9, and a machine has 1 to 8"),
    ],
)
def test_what_contradicts_itself_is_refused_before_a_boot(
    executor: MockExecutor, words: list[str], message: str
) -> None:
    assert message in exec_(*words)[1]
    assert not executor.started


def test_what_each_of_several_devices_counted_is_told(executor: MockExecutor) -> None:
    counts = [{"cxl-reads": 70, "cxl-writes": 0}, {"cxl-reads": 5, "cxl-writes": 0}]
    roi = {"begin-ps": 0, "end-ps": 9, "counters": {"cxl-reads": 75}, "devices": counts}
    roi["vcpus"] = [{"instructions": 1, "time-ps": 9, "idle-ps": 0}]
    executor.answer = lambda _: GuestOutcome("ok", 0, rois=[roi])
    status, said = exec_("--device", "dram", "--device", "cxl-dram", "--json", "out.json", "--", "true")
    assert status == 0 and re.search(r"cxl reads +│ +70 │ +5", said) and "device 1" in said, said
    assert json.loads(Path("out.json").read_text())["devices"] == counts
    roi["devices"] = counts[:1]
    said = exec_("--json", "out.json", "--", "true")[1]
    assert "by device" not in said and "devices" not in json.loads(Path("out.json").read_text())


def test_a_guest_is_as_the_options_say(executor: MockExecutor) -> None:
    kinds: list[GuestSpec] = executor.started
    assert exec_("--memory", "1GiB", "--set", "device.flash-read=3us", "--", "true")[0] == 0
    assert (kinds[0].guest.memory_bytes, kinds[0].guest.device.flash_read_ps) == (2**30, 3_000_000)
