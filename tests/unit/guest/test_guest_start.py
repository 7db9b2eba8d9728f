# SPDX-License-Identifier: BSD-3-Clause
"""The shell functions that start a guest, run on this host: file systems by kind, and messages to the host."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.file_systems.table import ROWS
from testbed.paths import REPO

HOME = "/usr/lib/testbed"
IMAGE = REPO / "guest-image/image/overlay" / HOME[1:]
COMPONENT_FILES = {"tbfs": REPO / "guest-image/modules/tbfs/tbfs.sh"}
FUNCTIONS = ("check", "holds", "load", "make", "needs_partition")
# Mocks that print their arguments. blkid looks at both ends of a device, or only at the beginning if given a type.
PROGRAMS = r"""
blkid() { [[ $* == *"-n "* ]] && { grep -qs "$3" "${!#}.begin" && echo "$3"; return; }; cat "${!#}.blkid" 2>/dev/null; }
blockdev() { echo 262144; }
for program in e2fsck mke2fs mkfs.xfs modprobe mount tbfs xfs_repair; do
    . /dev/stdin <<<"$program() { echo \"$program \$*\"; }"
done
"""

Started = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def started(tmp_path: Path) -> Started:
    """Run lines of bash with the functions of a guest with a tbfs; `told` is added to the kernel's command line."""
    home, cmdline = tmp_path / "home", tmp_path / "cmdline"
    (home / "file-systems").mkdir(parents=True)
    for path in (*IMAGE.glob("*.sh"), *IMAGE.glob("file-systems/*.sh"), *COMPONENT_FILES.values()):
        folder = home if path.parent == IMAGE else home / "file-systems"
        text = path.read_text().replace(HOME, str(home)).replace("/proc/cmdline", str(cmdline))
        (folder / path.name).write_text(text)

    def run(lines: str, told: str = "", file: str = "file-systems.sh") -> subprocess.CompletedProcess[str]:
        cmdline.write_text(f"console=ttyS0 {told}\n")
        script = f". {home}/{file}\n{PROGRAMS}cd {tmp_path}\n{lines}\n"
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True)

    return run


def test_each_kind_of_the_table_has_one_file_with_every_function(started: Started) -> None:
    files = [*IMAGE.glob("file-systems/*.sh"), *COMPONENT_FILES.values()]
    assert sorted(path.stem for path in files) == sorted({row.kind for row in ROWS})
    assert {row.kind for row in ROWS if row.component} == set(COMPONENT_FILES)
    for path in files:
        defined = re.findall(r"^(\w+)\(\) ", path.read_text(), re.M)
        assert sorted(defined) == [f"{path.stem}_{name}" for name in FUNCTIONS], path
    assert started('echo "${kinds[@]}"').stdout == "ext4 tbfs xfs\n"


@pytest.mark.parametrize(
    "path", [REPO / "guest-image/image/overlay/init", *IMAGE.glob("*.sh")], ids=lambda path: path.name
)
def test_what_starts_a_guest_names_no_file_system_and_changes_no_function(path: Path) -> None:
    code = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("#"))
    kinds = "|".join(sorted({row.kind for row in ROWS}))
    assert re.findall(rf"\b({kinds}|mke2fs|mkfs\.\w+|eval|declare -f)\b", code) == []


def test_the_kernels_command_line_says_what_is_made_and_mounted(started: Started) -> None:
    show = 'echo "$file_system|$make_options|$mount_options|$page_size"'
    told = "testbed.fs=ext4-dax testbed.mkfs=size=4 testbed.mount=data=journal,x=y testbed.pages=2MiB"
    assert started(show, told).stdout == "ext4-dax|size=4|data=journal,x=y|2MiB\n"
    assert started(show, "quiet").stdout == "|||\n"


@pytest.mark.parametrize(
    ("told", "made"),
    [
        ("testbed.fs=ext4-dax", "mke2fs .*size=16,location=28672 .*"),
        ("testbed.fs=ext4-smalljournal testbed.mkfs=size=4", "mke2fs .*size=4,location=31744 .*"),
        ("testbed.fs=ext4-dax testbed.pages=2MiB", "mke2fs .* -O bigalloc -C 2M .*"),
        ("testbed.fs=xfs-dax", "mkfs.xfs -q -K -m reflink=1 disk"),
        ("testbed.fs=xfs-exchange testbed.mkfs=exchange=1", "mkfs.xfs -q -K -m reflink=1 -i exchange=1 disk"),
        (
            "testbed.fs=xfs-dax testbed.pages=2MiB",
            "mkfs.xfs .* -d su=2m,sw=1,extszinherit=512,agcount=4 -l size=64m disk",
        ),
        ("testbed.fs=tbfs", "tbfs make disk"),
    ],
)
def test_an_empty_device_gets_the_file_system_that_is_asked_for(started: Started, told: str, made: str) -> None:
    done = started("touch disk; is_new=yes; make_file_system disk", told)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(f"{made}\n", done.stdout), done.stdout


@pytest.mark.parametrize(
    ("name", "loads"), [("ext4-dax", ""), ("xfs-dax", ""), ("tbfs", "modprobe {}/modules/tbfs.ko\n")]
)
def test_it_is_mounted_by_its_kind_with_its_options(started: Started, tmp_path: Path, name: str, loads: str) -> None:
    done = started("mount_file_system disk folder", f"testbed.fs={name} testbed.mount=a=b,c")
    mounted = f"mount -t {name.partition('-')[0]} -o noatime,a=b,c disk folder\n"
    assert done.stdout == loads.format(tmp_path / "home") + mounted


HOLDS = {
    "ext4": "echo ext4 > disk.blkid",
    "xfs": "echo xfs > disk.begin",  # the end of the device has poison, so blkid finds no type
    "tbfs": "printf tbesdtFS > disk",
    "dos": "echo dos > disk.blkid",
}


@pytest.mark.parametrize("name", ["ext4-dax", "xfs-exchange", "tbfs"])
@pytest.mark.parametrize("holds", HOLDS)
def test_a_device_that_holds_something_keeps_it(started: Started, holds: str, name: str) -> None:
    done = started(f"truncate -s 4M disk; {HOLDS[holds]}; make_file_system disk", f"testbed.fs={name}")
    assert done.stdout == ""
    if name.partition("-")[0] == holds:
        assert (done.returncode, done.stderr) == (0, "")
    else:
        sentence = f"the device holds {holds}, but the run asks for {name}\n"
        assert (done.returncode, done.stderr) == (1, sentence)


def test_a_device_that_cannot_be_read_is_not_taken_for_an_empty_one(started: Started) -> None:
    lines = 'make_file_system /none 2>&1; echo "status $? $why"'
    said = started(lines, "testbed.fs=ext4-dax").stdout
    assert "status 1 /none cannot be read where a file system begins or ends" in said and "mke2fs" not in said


@pytest.mark.parametrize("told", ["testbed.fs=ext5-dax", ""])
def test_a_kind_that_the_guest_has_not_is_said(started: Started, told: str) -> None:
    done = started('make_file_system disk || echo "$why"', told)
    name = told.partition("=")[2] or "without a name"
    assert done.stdout == f"the guest has no file system {name}\n"


@pytest.mark.parametrize(
    ("name", "page_size", "partition"),
    [
        ("ext4-dax", "4KiB", 0),
        ("tbfs", "4KiB", 0),
        ("xfs-dax", "4KiB", 1),
        ("ext4-dax", "2MiB", 1),
        ("ext4-dax", "", 1),
    ],
)
def test_small_pages_take_a_partition_unless_nothing_is_aligned(
    started: Started, name: str, page_size: str, partition: int
) -> None:
    done = started(f'kind_of {name}; "${{kind}}_needs_partition" "{page_size}"; echo $?')
    assert done.stdout == f"{partition}\n"


@pytest.mark.parametrize(
    ("holds", "checker"),
    [("ext4", "e2fsck -fn disk\n"), ("xfs", "xfs_repair -n disk\n"), ("tbfs", "tbfs check disk\n")],
)
def test_a_check_is_that_of_what_the_device_holds(started: Started, holds: str, checker: str) -> None:
    done = started(f"truncate -s 4M disk; {HOLDS[holds]}; check_file_system disk")
    assert (done.returncode, done.stdout) == (0, checker)


def test_modules_of_a_run_are_loaded_in_their_order_and_one_that_fails_is_named(
    started: Started, tmp_path: Path
) -> None:
    folder = tmp_path / "home/modules"
    folder.mkdir()
    (folder / "order").write_text("zzz\naaa\n")
    done = started("load_own_modules", file="guest.sh")
    assert done.stdout == f"modprobe {folder}/zzz.ko\nmodprobe {folder}/aaa.ko\n"
    fails = 'modprobe() { [[ $1 == */zzz.ko ]]; }; give_up() { echo "$1"; }; load_own_modules'
    done = started(fails, file="guest.sh")
    assert done.stdout == "the kernel module aaa cannot be loaded: see the console log\n"
