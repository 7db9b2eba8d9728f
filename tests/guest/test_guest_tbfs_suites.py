# SPDX-License-Identifier: BSD-3-Clause
"""Test suites of others on tbfs in a guest, by hand: cargo compiles them. Then the checker finds nothing."""

from pathlib import Path

import crates
import pytest
from tbfs_rig import HYBRID, TOOL, compiled, run

from testbed.guest.session import Session
from testbed.manifest.manifest import GuestConfig

pytestmark = [pytest.mark.guest, pytest.mark.by_hand]

POLICIES = ("inplace", "cow", "hybrid", HYBRID)
MOUNT = "mount -t tbfs -o data={data} /dev/pmem0 /pmem || exit 1\n"
SOUND = "umount /pmem && tbfs check /dev/pmem0 || exit 1\n"

# Each file of its own seed; with maps that come and go, holes, and what the kernel copies by itself.
FSX = """
cat > /tmp/fsx.toml <<'END'
flen = {bytes}
[weights]
close_open = 1
read = 10
write = 10
mapread = 10
mapwrite = 10
invalidate = 1
truncate = 5
fsync = 1
fdatasync = 1
posix_fallocate = 3
punch_hole = 5
sendfile = 2
posix_fadvise = 1
copy_file_range = 3
END
fsx -f /tmp/fsx.toml -N {calls} -S {seed} -P /tmp /pmem/fsx-{seed} || exit 1
"""


def suites(data: str, *scripts: str) -> str:
    return "".join(MOUNT.format(data=data) + script + SOUND for script in (*scripts, ""))


def fsx(*, calls: int, seeds: range, size: int) -> list[str]:
    return [FSX.format(calls=calls, seed=seed, bytes=size) for seed in seeds]


def with_tool(folder: Path, **crate_versions: str) -> dict[str, Path]:
    others = {name: crates.program(name, version) for name, version in crate_versions.items()}
    return compiled(folder, {"tbfs": TOOL}) | others


@pytest.mark.parametrize("data", POLICIES)
def test_fsx_finds_what_it_wrote(session: Session, quick_guest: GuestConfig, tmp_path: Path, data: str) -> None:
    script = suites(data, *fsx(calls=20_000, seeds=range(10, 15), size=1_000_000))
    run(session, quick_guest, script + "dmesg >&2\n", with_tool(tmp_path, fsx="0.3.2"))
