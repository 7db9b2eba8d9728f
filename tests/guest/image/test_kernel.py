# SPDX-License-Identifier: BSD-3-Clause
"""Guests with another kernel than the image's, together with those of its modules that set up the device."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.guest.executor import GuestSpec
from testbed.guest.qemu_line import PowerCut
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program import own_kernel
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

ASK = "uname -r; cat /proc/cmdline; findmnt -no FSTYPE,OPTIONS /pmem; lsmod; cxl list -R"


@pytest.fixture(scope="module")
def own(session: Session, tmp_path_factory: pytest.TempPathFactory) -> own_kernel.OwnKernel:
    """Return the image's kernel and modules, copied to other places as a user would have them."""
    folder = Path(tmp_path_factory.mktemp("kernel"))
    with session.images.initrds[0].open("rb") as archive:
        command = ["cpio", "--extract", "--make-directories", "--quiet", "usr/lib/modules/*"]
        subprocess.run(command, stdin=archive, cwd=folder, check=True)
    (modules,) = (folder / "usr/lib/modules").iterdir()
    image = modules / "vmlinux"
    image.write_bytes(session.images.kernel.read_bytes())
    there = {file.name.partition(".ko")[0] for file in modules.rglob("*.ko")}
    kinds = {
        option: "m" if name in there else "y" for option, name in (*own_kernel.NEEDED.items(), ("EXT4_FS", "ext4"))
    }
    (modules / "config").write_text("".join(f"CONFIG_{option}={kind}\n" for option, kind in kinds.items()))
    return own_kernel.read(image, None, "ext4-dax")


def test_a_kernel_and_its_modules_are_those_that_are_given(
    session: Session, quick_guest: GuestConfig, own: own_kernel.OwnKernel
) -> None:
    guest = replace(quick_guest, kernel=own, kernel_arguments="loglevel=5 of.ours=7")
    outcome = drive(session.executor.run(GuestSpec(guest, script_job(ASK))))
    assert outcome.outcome == "ok", outcome.stderr.decode() + outcome.error + outcome.console[-500:]
    said = outcome.stdout.decode()
    release, line, mounted = said.splitlines()[:3]
    assert release == own.release
    assert line.endswith("testbed.mount=dax=always,mb_optimize_scan=0 loglevel=5 of.ours=7")
    assert mounted.startswith("ext4 ") and "dax=always" in mounted
    assert "cxl_acpi" in said and '"type":"pmem"' in said


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the newest kernel in today's backports of Debian 13."""
    folder = Path(tmp_path_factory.mktemp("kernels"))
    subprocess.run([sys.executable, "-m", "testbed", "kernel", "get", folder], check=True)
    return folder / "newest/vmlinuz"


@pytest.mark.by_hand
def test_debians_newest_kernel_sets_up_the_device(newest: Path, tmp_path: Path) -> None:
    """The kernel sets up a region by itself, and a program of the image runs on it."""
    (tmp_path / "ask.sh").write_text(
        f"{ASK}\nkv --engine snapshot --records 1000 --operations 100 --file /pmem/x --seed 1\n"
    )
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "testbed",
        "exec",
        "--kernel",
        newest,
        "--script",
        tmp_path / "ask.sh",
    ]
    done = subprocess.run([*command, "--json", tmp_path / "out.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    release = newest.parent.resolve().name
    print(release, *done.stdout.splitlines()[2:3])
    assert done.stdout.startswith(f"{release}\n") and "dax=always" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["counters"]["cxl-writes"] > 100


@pytest.mark.by_hand
@pytest.mark.parametrize(("protected", "counted"), [(True, "0"), (False, "1")])
def test_debians_newest_kernel_tells_of_a_dirty_shutdown(
    session: Session, quick_guest: GuestConfig, newest: Path, tmp_path: Path, protected: bool, counted: str
) -> None:
    """The kernel counts a cut that lost lines accepted by the device. The image's kernel has no such file."""
    device = replace(quick_guest.device, cache_power_loss_protected=protected)
    guest = replace(quick_guest, device=device, kernel=own_kernel.read(newest, None, "ext4-dax"))
    write = script_job("while :; do head -c 1000000 /dev/urandom > /pmem/a; sync; done")
    cut = PowerCut(at_event=3_000_000)
    lost = drive(session.executor.run(GuestSpec(guest, write, cut, media_folder=tmp_path)))
    assert lost.power_cut is not None and lost.power_cut["dirty-shutdown"] == (not protected), lost.console[-500:]
    for kernel, says in ((guest.kernel, f"{counted}\n"), (None, "")):
        ask = script_job("cat /sys/bus/nd/devices/nmem0/cxl/dirty_shutdown || :")
        told = drive(session.executor.run(GuestSpec(replace(guest, kernel=kernel), ask, media_folder=tmp_path)))
        assert (told.outcome, told.stdout.decode()) == ("ok", says), told.stderr
