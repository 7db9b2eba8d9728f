# SPDX-License-Identifier: BSD-3-Clause
"""Third-party test suites on tbfs in a guest, by hand as cargo compiles crates; then `tbfs check` finds no error."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest import crates
from rigs.guest.tbfs_rig import HYBRID, TOOL, compiled, run
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program import packages

pytestmark = [pytest.mark.guest, pytest.mark.by_hand]

POLICIES = ("inplace", "cow", "hybrid", HYBRID, "cow,metadata=log")
MOUNT = "mount -t tbfs -o data={data} /dev/pmem0 /pmem || exit 1\n"
SOUND = "umount /pmem && tbfs check /dev/pmem0 || exit 1\n"

# One file for each seed, with short-lived mappings, holes, and copies inside the kernel (sendfile, copy_file_range).
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

# naptime exceeds one second, the resolution of time stamps in tbfs. The tests that remount (erofs) run separately: in a
# complete run, the suite still has a file open for writing at that point, on ext4 as well.
PJDFSTEST = """
for user in nobody:65534 tests:1000
do
    name=${user%:*} number=${user#*:}
    echo "$name:x:$number:" >> /etc/group; echo "$name:x:$number:$number::/:/bin/false" >> /etc/passwd
done
printf '#!/bin/bash\ncommand -v "$1"\n' > /usr/bin/which; chmod 755 /usr/bin/which
mkdir -p /tmp/second && mount -t tmpfs tmpfs /tmp/second && chmod 755 /pmem || exit 1
pjdfstest_all() { # MAY_REMOUNT PATTERN...
    cat > /tmp/pjdfstest.toml <<END
[features]
posix_fallocate = {}
rename_ctime = {}
utime_now = {}
utimensat = {}
[settings]
naptime = 1.01
allow_remount = $1
expected_failures = ["utimensat::subsecond", "utimensat::y2038"]
[dummy_auth]
entries = [["nobody", "nobody"], ["tests", "tests"]]
END
    shift
    pjdfstest -c /tmp/pjdfstest.toml -p /pmem -s /tmp/second "$@" > /tmp/pjdfstest.log 2>&1; status=$?
    grep -A 3 -E 'FAILED|UNEXPECTEDLY|skipped' /tmp/pjdfstest.log; [ $status = 0 ] || exit 1
}
pjdfstest_all true erofs; pjdfstest_all false; umount /tmp/second
"""
PJDFSTEST_SUMS = (
    "Summary: 0 failed, 0 skipped, 13 passed, 0 expected failures, 13 total",
    "Summary: 0 failed, 14 skipped, 382 passed, 2 expected failures, 398 total",
)

# Runs two instances of each stressor for a second, without stressors that need another file system or features that
# tbfs lacks. fpunch expects zeros after FALLOC_FL_ZERO_RANGE even if the call failed, and so runs without --verify.
STRESS = """
stress() {{
    stress-ng --temp-path /pmem --timeout 1 --sequential 2 "$@" > /tmp/stress.log 2>&1; status=$?
    grep -E 'fail|error|warn|passed|skipped' /tmp/stress.log; [ $status = 0 ] || exit 1
}}
stress --class filesystem --verify --exclude {others},fpunch --iomix-bytes 64m --fallocate-bytes 64m --hdd-bytes 64m
stress --with fpunch
"""
OTHERS = "acl,bind-mount,binderfs,chattr,fiemap,procfs,verity,xattr"


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


@pytest.mark.parametrize("data", POLICIES)
def test_pjdfstest_finds_what_posix_says(session: Session, quick_guest: GuestConfig, tmp_path: Path, data: str) -> None:
    guest = replace(quick_guest, timeout_s=3600)
    said, _ = run(session, guest, suites(data, PJDFSTEST) + "dmesg >&2\n", with_tool(tmp_path, pjdfstest="0.2.2"))
    assert [line for line in said.splitlines() if "Summary" in line] == list(PJDFSTEST_SUMS), said


@pytest.mark.parametrize("data", POLICIES)
def test_stress_ng_finds_no_failure(session: Session, quick_guest: GuestConfig, tmp_path: Path, data: str) -> None:
    script = suites(data, STRESS.format(others=OTHERS)) + "dmesg >&2\n"
    guest = replace(quick_guest, timeout_s=3600, memory_bytes=2**32)
    said, _ = run(session, guest, script, compiled(tmp_path, {"tbfs": TOOL}), packages.resolve(("stress-ng",)))
    assert re.findall(r"(?:passed|failed): \d+", said) == ["passed: 96", "failed: 0", "passed: 2", "failed: 0"], said
