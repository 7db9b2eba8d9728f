# SPDX-License-Identifier: BSD-3-Clause
"""Machines of several devices: the manifest, QEMU's command line, the identity, and one sentence for each mistake."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import MANIFEST
from testbed.crash.plan import Plan
from testbed.errors import TestbedError
from testbed.guest import capacity, regions
from testbed.guest.qemu_line import GuestFiles, Images, PowerCut, command_line
from testbed.manifest import bases, parse, render
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.replay import grid, verdicts
from testbed.results import results

ONE = '[device]\nprofile = "snapshot-paper-mss"\n'
VOLATILE = 'override = { capacity = "64GiB", volatile_size = "32GiB" }\n'


def devices(*bridges: int | None, profile: str = "snapshot-paper-mss", more: str = "") -> str:
    """A [[device]] table for each bridge; None states no bridge."""
    said = (f"bridge = {bridge}\n" if bridge is not None else "" for bridge in bridges)
    return "".join(f'[[device]]\nprofile = "{profile}"\n{bridge}{more}' for bridge in said)


def region(of: Sequence[int], *lines: str) -> str:
    return "\n".join(["[[region]]", f"devices = {list(of)}", *lines, ""])


def written(path: Path, text: str) -> Path:
    """Write the short manifest with `text` in place of its [device] table."""
    assert ONE in MANIFEST
    path.write_text(MANIFEST.replace(ONE, text))
    return path


def machine(path: Path, text: str) -> GuestConfig:
    return render.runs(written(path, text))[0].guest


def words(guest: GuestConfig) -> list[str]:
    """The command line of QEMU."""
    media = tuple(Path(f"/media{n}") for n in range(len(guest.devices)))
    tables = tuple(Path(f"/cdat{n}") for n in range(len(media))) if guest.hmat else ()
    files = GuestFiles(Path("/initrd"), media, media, Path("/job"), tables)
    images = Images(Path("/qemu"), Path("/firmware"), Path("/kernel"), initrds=())
    return command_line(images, guest, files, PowerCut(), [])


def machine_option(guest: GuestConfig) -> str:
    return words(guest)[words(guest).index("-machine") + 1]


FOUR_AND_ONE = devices(0, 1, 0, 1, 1) + region([0, 1, 2, 3], 'granularity = "4KiB"') + region([4], 'mount = "/alone"')


# ---- One device ----


@pytest.mark.parametrize("text", [devices(None), devices(0)])
def test_an_array_of_one_device_is_the_machine_of_a_table(small_manifest: Path, text: str) -> None:
    one, same = machine(small_manifest, ONE), machine(small_manifest, text)
    assert one == same and one.topology is None
    assert words(one) == words(same)
    assert results.machine_identity(one, {}) == results.machine_identity(same, {})
    assert "topology" not in results.machine_identity(one, {})
    job = script_job("true")
    assert regions.before(job, one) is job


def test_the_line_of_one_device_is_what_it_was(small_manifest: Path) -> None:
    line = words(machine(small_manifest, ONE))
    assert "q35,cxl=on,cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.size=4294967296,hpet=off" in line
    assert "pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.1,hdm_for_passthrough=on" in line
    assert "cxl-rp,port=0,bus=cxl.1,id=rp0,chassis=0,slot=2" in line
    assert "testbed.nopmem" not in line[line.index("-append") + 1]


# ---- Several ----


def test_devices_are_behind_their_bridges_with_their_own_profiles(small_manifest: Path) -> None:
    text = devices(0) + '[[device]]\nprofile = "cxl-dram"\nbridge = 2\noverride = { capacity = "64GiB" }\n'
    guest = machine(small_manifest, text)
    line = words(guest)
    assert [word for word in line if word.startswith("pxb-cxl")] == [
        "pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.1,hdm_for_passthrough=on",
        "pxb-cxl,bus_nr=52,bus=pcie.0,id=cxl.3,hdm_for_passthrough=on",
    ]
    assert [word.split(",id")[0] for word in line if word.startswith("cxl-rp")] == [
        "cxl-rp,port=0,bus=cxl.1",
        "cxl-rp,port=1,bus=cxl.3",
    ]
    mss, dram = (word for word in line if word.startswith("cxl-ssd"))
    assert "flash-read-ps=13870000" in mss and "flash-read-ps" not in dram
    assert any(word.startswith("memory-backend-file") and word.endswith(f"size={2**30}") for word in line)
    assert "testbed.nopmem" in line[line.index("-append") + 1].split()
    assert "-numa" not in line


def test_each_region_has_a_window_of_its_bridges_granularity_and_size(small_manifest: Path) -> None:
    assert machine_option(machine(small_manifest, FOUR_AND_ONE)) == (
        "q35,cxl=on,"
        "cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.targets.1=cxl.2,"
        "cxl-fmw.0.size=2147483648,cxl-fmw.0.interleave-granularity=4096,"
        "cxl-fmw.1.targets.0=cxl.2,cxl-fmw.1.size=536870912,cxl-fmw.1.interleave-granularity=256,hpet=off"
    )


@pytest.mark.parametrize(("ways", "mib"), [(1, 4096), (3, 3 * 1280), (4, 4096), (6, 6 * 512)])
def test_a_region_is_at_most_of_4_gib_in_whole_extents(small_manifest: Path, ways: int, mib: int) -> None:
    text = devices(*range(ways), profile="cmm-h") + region(range(ways))
    assert f"cxl-fmw.0.size={mib * 2**20}," in machine_option(machine(small_manifest, text))


def test_without_regions_each_device_has_those_that_it_has_alone(small_manifest: Path) -> None:
    guest = machine(small_manifest, devices(0, more=VOLATILE) + devices(0) + '[guest]\nfile_system = "xfs-dax"\n')
    assert guest.topology
    found = [(one.devices, one.partition, one.use, one.file_system, one.mount) for one in guest.topology.regions]
    assert found == [
        ((0,), "ram", "system-ram", None, ""),
        ((0,), "pmem", "fsdax", "xfs-dax", "/pmem"),
        ((1,), "pmem", "fsdax", "xfs-dax", "/pmem1"),
    ]
    assert "-numa" in words(guest)


def test_what_a_region_does_not_say_follows(small_manifest: Path) -> None:
    text = devices(*[None] * 4)
    text += region([0], 'use = "sector"', 'mount = "/log"') + region([1], 'use = "raw"') + region([3, 2])
    guest = machine(small_manifest, text)
    assert guest.topology and guest.topology.bridges == (0, 1, 2, 3)
    found = [(one.use, one.file_system, one.mount) for one in guest.topology.regions]
    assert found == [("sector", "ext4-ordered", "/log"), ("raw", None, ""), ("fsdax", "ext4-dax", "/pmem")]
    assert "targets.0=cxl.4,cxl-fmw.2.targets.1=cxl.3," in machine_option(guest)


def test_regions_of_volatile_memory_come_first(small_manifest: Path) -> None:
    """Linux creates the regions of a bridge, and maps the memory of a device, only in the order of addresses."""
    text = devices(0, 0, more=VOLATILE) + region([0, 1]) + region([0, 1], 'partition = "ram"')
    guest = machine(small_manifest, text)
    assert guest.topology
    assert [(one.partition, one.key) for one in guest.topology.regions] == [("ram", "region.1"), ("pmem", "region.0")]


def test_every_device_is_scaled(small_manifest: Path) -> None:
    run = render.runs(written(small_manifest, devices(0, 1)))[0]
    assert [device.cache_size for device in run.guest.devices] == [run.full.device.cache_size // 64] * 2


def test_an_axis_may_be_of_any_device(small_manifest: Path) -> None:
    text = devices(0) + '[[device]]\nprofile = "snapshot-paper-mss"\noverride = { flash_read = "{read}" }\n'
    small_manifest.write_text(written(small_manifest, text).read_text() + 'read = ["3us", "9us"]\n')
    seen = {(run.point["read"], run.guest.devices[1].flash_read_ps) for run in render.runs(small_manifest)}
    assert seen == {("3us", 3_000_000), ("9us", 9_000_000)}


def test_interleaved_memory_is_counted_twice(small_manifest: Path) -> None:
    """QEMU allocates RAM for the window besides the devices' files."""
    alone = machine(small_manifest, devices(0, 0))
    together = machine(small_manifest, devices(0, 0) + region([0, 1]))
    assert capacity.memory_need_mib(together) - capacity.memory_need_mib(alone) == 1024
    assert capacity.partitions_mib(together, "pmem") == 1024


def test_a_volatile_partition_is_memory_of_the_host(small_manifest: Path) -> None:
    """The partition counts in full: the kernel cannot write its pages back to a file, as it does with media."""
    halves = machine(small_manifest, devices(0, more=VOLATILE))
    half = machine(small_manifest, devices(0, more='override.capacity = "32GiB"\n'))
    assert [capacity.partitions_mib(halves, partition) for partition in ("pmem", "ram")] == [512, 512]
    assert capacity.memory_need_mib(halves) - capacity.memory_need_mib(half) == 512


@pytest.mark.parametrize(("ways", "most"), [(1, 16), (2, 8), (3, 16), (4, 4), (6, 8), (8, 2)])
def test_the_coarsest_interleaving(small_manifest: Path, ways: int, most: int) -> None:
    """Each device is behind its own bridge. `most` is the coarsest that Linux accepts; twice as much is rejected."""
    for kib, ends in ((most, "good"), (2 * most, "bad")):
        written(small_manifest, devices(*range(ways)) + region(range(ways), f'granularity = "{kib}KiB"'))
        if ends == "good":
            assert f"interleave-granularity={kib * 1024}," in machine_option(render.runs(small_manifest)[0].guest)
        else:
            with pytest.raises(TestbedError, match=r"key 'region\.0\.granularity'"):
                parse.load(small_manifest)


# ---- The identity ----


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bridge = 0", "bridge = 3"),
        ("4KiB", "8KiB"),
        ("/alone", "/other"),
        ("devices = [4]", 'devices = [4]\nuse = "fsdax"\nfile_system = "xfs-dax"'),
        ("[0, 1, 2, 3]", "[1, 0, 3, 2]"),
        ("bridge = 1\n[[region]]", 'bridge = 1\noverride = { flash_read = "3us" }\n[[region]]'),
    ],
)
def test_devices_and_regions_are_in_the_identity(small_manifest: Path, old: str, new: str) -> None:
    before = results.machine_identity(machine(small_manifest, FOUR_AND_ONE), {})
    assert old in FOUR_AND_ONE
    assert results.machine_identity(machine(small_manifest, FOUR_AND_ONE.replace(old, new)), {}) != before


def test_the_script_that_makes_regions_is_in_the_identity(
    small_manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = machine(small_manifest, FOUR_AND_ONE)
    before = results.machine_identity(guest, {})
    monkeypatch.setattr(regions, "SCRIPT", regions.SCRIPT + "# another\n")
    assert results.machine_identity(guest, {}) != before


# ---- The job ----


def test_a_job_makes_the_regions_first_and_keeps_its_status(small_manifest: Path, tmp_path: Path) -> None:
    job = regions.before(script_job("echo body; exit 3"), machine(small_manifest, FOUR_AND_ONE))
    script = job.executables[regions.NAME].decode()
    dax = "ext4-dax '' dax=always,mb_optimize_scan=0"
    assert f"make_region 0 pmem 4096 0 1 2 3 || return\n    use_region 0 pmem fsdax /pmem {dax} || return" in script
    assert f"make_region 1 pmem 256 4 || return\n    use_region 1 pmem fsdax /alone {dax} || return" in script
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
    for status, said, ends in (("true", "body\n", 3), ("exit 7", "", 7)):
        (tmp_path / "run").write_text(job.script.replace("umount", ": umount"))
        (tmp_path / regions.NAME).write_text(f"#!/bin/bash\n{status}\n")
        (tmp_path / regions.NAME).chmod(0o755)
        done = subprocess.run(["bash", "run"], cwd=tmp_path, capture_output=True, text=True)
        assert (done.stdout, done.returncode) == (said, ends)


# ---- Mistakes ----


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (devices(*[None] * 9), "key 'device': there are 9, and a machine has 1 to 8; remove some"),
        (devices(8), "key 'device.0.bridge': Input should be less than 8"),
        (devices(-1), "key 'device.0.bridge': Input should be greater than or equal to 0"),
        (devices(0).replace("bridge", "brigde"), "unknown key 'device.0.brigde'; did you mean 'bridge'?"),
        (devices(0, 1).replace('"snap', '"flap', 1), "no profile 'flapshot-paper-mss'"),
        (devices(0, 1, more="override = { x = 1 }\n"), "unknown key 'device.0.override.x'"),
        (
            devices(0, 1) + region([0, 2]),
            "key 'region.0.devices': there is no device 2; the machine has devices 0 to 1",
        ),
        (devices(0, 1) + region([-1]), "key 'region.0.devices': there is no device -1"),
        (devices(0, 1) + region([0, 0]), "key 'region.0.devices': device 0 stands there 2 times; leave it once"),
        (devices(0, 1) + region([]), "key 'region.0.devices': List should have at least 1 item"),
        (
            devices(*[0] * 5) + region(range(5)),
            "key 'region.0.devices': 5 devices cannot be interleaved; name 1, 2, 3, 4, 6 or 8",
        ),
        (
            devices(0, 0, 0) + region([0, 1, 2]),
            "key 'region.0.devices': a bridge interleaves 1, 2, 4 or 8 devices, not 3; put them behind other bridges",
        ),
        (
            devices(0, 0, 0, 1) + region(range(4)),
            "key 'region.0.devices': they are behind the bridges 0, 0, 0, 1, not as many behind each",
        ),
        (
            devices(0, 0, 1, 1) + region(range(4)),
            "key 'region.0.devices': the host's window goes over the bridges in turn; write them as [0, 2, 1, 3]",
        ),
        (devices(0, 1) + region([0, 1], 'granularity = "300B"'), "key 'region.0.granularity': 300 B is none of 256B"),
        (devices(0, 1) + region([0, 1], 'granularity = "32KiB"'), "key 'region.0.granularity': 32 KiB is none of"),
        (
            devices(0, 1, 0, 1) + region(range(4), 'granularity = "16KiB"'),
            "key 'region.0.granularity': 4 devices over 2 bridges are interleaved by 8 KiB at most, not 16 KiB",
        ),
        (devices(0, 1) + region([0], "granularity = 256"), "key 'region.0.granularity': '256' is not a number and one"),
        (devices(0) + region([0], 'partition = "x"'), "key 'region.0.partition': Input should be 'pmem' or 'ram'"),
        (devices(0) + region([0], 'use = "x"'), "key 'region.0.use': Input should be 'fsdax', 'devdax'"),
        (
            devices(0) + region([0], 'partition = "ram"', 'use = "fsdax"'),
            "key 'region.0.use': of a partition 'ram' can be system-ram or devdax, not fsdax; change one of them",
        ),
        (
            devices(0) + region([0], 'use = "devdax"', 'mount = "/x"'),
            "key 'region.0.mount': devdax has no file system; remove it",
        ),
        (devices(0) + region([0], 'mount = "/usr"'), "key 'region.0.mount': '/usr' is no folder for it; write /pmem1"),
        (devices(0) + region([0], 'mount = "/a/../b"'), "key 'region.0.mount': '/a/../b' is no folder for it"),
        (
            devices(0) + region([0], 'use = "system-ram"', 'file_system = "xfs-dax"'),
            "key 'region.0.file_system': system-ram has none; remove it",
        ),
        (
            devices(0) + region([0], 'use = "sector"', 'file_system = "xfs-dax"', 'mount = "/x"'),
            "key 'region.0.file_system': sector has no DAX; write ext4-ordered",
        ),
        (
            devices(0) + region([0], 'use = "raw"', 'file_system = "xfs-exchange"', 'mount = "/x"'),
            "key 'region.0.file_system': raw has no DAX; write ext4-ordered",
        ),
        (
            devices(0) + region([0], 'use = "raw"', 'file_system = "ext4-ordered"'),
            "key 'region.0.mount': it is missing, so that there is no file system",
        ),
        (
            devices(0, 1) + region([0], 'mount = "/x"') + region([1], 'mount = "/x"'),
            "key 'region.1.mount': /x is that of region 0; write another",
        ),
        (
            devices(0, 1) + region([0, 1]) + region([1]),
            "key 'region.1.devices': region 0 has the pmem of device 1; take it out",
        ),
        (
            devices(*[0] * 5) + "".join(region([n], f'mount = "/p{n}"') for n in range(5)),
            "key 'region.4.devices': bridge 0 leads to 5 regions, and can to 4; put devices behind another one",
        ),
        (
            devices(0, 1) + region([0], 'partition = "ram"'),
            "key 'region.0.partition': device 0, snapshot-paper-mss, has no ram; change it, or",
        ),
        (
            devices(0, more=VOLATILE) + devices(1) + region([0, 1]),
            "key 'region.0.devices': their volatile partitions are of 0 B and 32 GiB; make them of one size",
        ),
        (
            devices(0, 1, more='override = { flash_read = "2s" }\n'),
            "device 0: device key 'flash_read' (2 s) must not exceed 1 s",
        ),
        (
            devices(0) + region([0], 'file_system = "xfs-dax"') + '[guest]\nfile_system = "ext4-dax"\n',
            "key 'guest.file_system': region 0 states its own file_system, xfs-dax; remove one",
        ),
        ("device = []\n[guest]\n", "key 'device': there are 0, and a machine has 1 to 8"),
        (
            devices(0) + "[region]\ndevices = [0]\n",
            "key 'region': {'devices': [0]} has the wrong type; it must be a list",
        ),
    ],
)
def test_a_machine_that_cannot_be_is_refused_by_key(small_manifest: Path, text: str, message: str) -> None:
    if text.startswith("device ="):  # a key of the manifest's top level must precede its tables
        small_manifest.write_text(text.partition("[guest]")[0] + MANIFEST.replace(ONE, ""))
    else:
        written(small_manifest, text)
    with pytest.raises(TestbedError) as caught:
        verdicts.machine_of(small_manifest)
    assert str(caught.value).startswith(f"{small_manifest}: ")
    assert message in str(caught.value)
    assert (caught.value.exit_status, "\n" in str(caught.value)) == (2, False)


def test_the_same_file_system_twice_is_no_contradiction(small_manifest: Path) -> None:
    text = devices(0) + region([0], 'file_system = "xfs-dax"') + '[guest]\nfile_system = "xfs-dax"\n'
    assert machine(small_manifest, text).file_system == "xfs-dax"


def test_what_takes_one_device_says_so(small_manifest: Path) -> None:
    path = written(small_manifest, devices(0, 1) + '[replay.grid]\ncache_size = ["64MiB"]\n')
    for refused in (grid.configurations, grid.capture_runs):
        with pytest.raises(TestbedError, match=r"small\.toml: key 'device': a sweep has one \[device\]"):
            refused(parse.load(path))
    plan = Plan.model_validate({"name": "x", "summary": "x", "machine": "small", "crash": {"workload": "true"}})
    with pytest.raises(TestbedError, match=r"x\.toml: key 'machine': small has several devices"):
        plan.guest(machine(small_manifest, devices(0, 1)), Path("x.toml"))


def test_the_shipped_machine_is_four_and_one() -> None:
    path = bases.find("four-and-one")
    guest = render.runs(path)[0].guest
    assert guest.topology and len(guest.devices) == 5
    assert [(len(one.devices), one.mount) for one in guest.topology.regions] == [(4, "/pmem"), (1, "/alone")]
    assert verdicts.machine_of(path) == guest
