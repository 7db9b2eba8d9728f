# SPDX-License-Identifier: BSD-3-Clause
"""Paths of output files that derive from input, and the treatment of existing files."""

import os
import random
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from conftest import MANIFEST, MockExecutor, QuietReporter
from testbed import outputs
from testbed.errors import TestbedError
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestOutcome
from testbed.guest.session import Session
from testbed.manifest import parse, render
from testbed.results import lookup, results
from testbed.run.runner import drive, keep_failure, run_all
from testbed.studies import sweep

HERE = Capacity(guests=2, memory_mib=2**16)
AXES = '["/pmem/kv.pool", "../../x", "..", ".", "a/b", "a\\nb", "~", "-rf", "%s", "a:b", "ü"]'
ODD = ["", ".", "..", "/", "../x", "a/b", "a\\b", "\0", "a\nb", " a", "-a", ".hidden", "ü", "\udc80", "a" * 101]

# ---- Names ----


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def odd_manifest(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "odd.toml"
    path.parent.mkdir()
    long = "x" * 4000
    path.write_text(MANIFEST.replace('["snapshot", "pmdk", "volatile"]', AXES[:-1] + f', "{long}"]'))
    return path


def test_no_value_of_an_axis_leads_out_of_the_results(odd_manifest: Path, tmp_path: Path) -> None:
    root = tmp_path / "a" / "b" / "results"
    runs = render.runs(odd_manifest)
    done = drive(run_all(runs, Session(MockExecutor(), {}, here=HERE), root, QuietReporter()))
    assert {result.path.parent for result in done} == {root / "small"}
    assert len({result.path.name for result in done}) == len(runs) == 12
    assert names_in(tmp_path) == {"in", "a"}
    assert [result.point["engine"] for result in done][:2] == ["/pmem/kv.pool", "../../x"]
    assert lookup.find_one(root, "small//pmem/kv.pool").path == done[0].path
    assert lookup.find_one(root, "small/../../x").path == done[1].path


def test_what_a_failed_run_said_and_its_trace_stay_in_the_results(odd_manifest: Path, tmp_path: Path) -> None:
    root = tmp_path / "a" / "b" / "results"
    (tmp_path / "a" / "precious.failed").mkdir(parents=True)
    for run in render.runs(odd_manifest):
        folder = keep_failure(results.path_for(root, run, {}), GuestOutcome("panic"))
        assert folder.parent == sweep.trace_path(root, run, {}).parent == root / "small"
    assert names_in(tmp_path / "a") == {"b", "precious.failed"}


def test_plain_names_stay_and_all_others_become_hashes() -> None:
    for name in ("A-snapshot-1", "4KiB", "a_b", "1.5", "64MiB,3us", "x" * 100):
        assert outputs.plain_name(name) == name
    assert len({outputs.plain_name(name) for name in ODD}) == len(ODD)
    assert all(outputs.plain_name(name).startswith("hash.") for name in ODD)


def test_no_random_name_leads_out_of_its_folder(tmp_path: Path) -> None:
    dice = random.Random(1)
    for _ in range(2000):
        names = ["".join(dice.choice("./\\~-a\0\n$ é%") for _ in range(dice.randrange(9))) for _ in range(2)]
        path = outputs.within(tmp_path, names[0], names[1], ".json")
        assert Path(os.path.normpath(path)) == path
        assert path.parent.parent == tmp_path
        outputs.write(path, "")
        assert path.is_file()


def test_the_name_of_a_manifest_is_a_plain_name(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    for name in ("../x", "a/b", "a\\n", "x" * 300, ""):
        path.write_text(MANIFEST.replace('name = "small"', f'name = "{name}"'))
        with pytest.raises(TestbedError, match="key 'name'"):
            parse.load(path)


# ---- Content ----


def written(tmp_path: Path, target: str, shell: str = "") -> subprocess.CompletedProcess[str]:
    """Run `outputs.write` for a target, in a process that prints a line before and another one after."""
    program = (
        "import sys; from pathlib import Path; from testbed import outputs; from testbed.errors import TestbedError\n"
        "print('printed')\n"
        "try: outputs.write(Path(sys.argv[1]), 'content\\n')\n"
        "except TestbedError as error: print(error, file=sys.stderr); sys.exit(error.exit_status)\n"
        "print('after')\n"
    )
    command = f'"$0" -c "$1" "$2" {shell}'
    words = ["bash", "-c", command, sys.executable, program, target]
    return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=60)


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """A copy of /dev/full for root, which could destroy the host's; else the host's."""
    path = tmp_path / "full"
    if os.geteuid() != 0:
        return Path("/dev/full")
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    return path


def test_a_device_is_written_to_and_never_replaced(device: Path, tmp_path: Path) -> None:
    done = written(tmp_path, str(device))
    assert device.is_char_device()
    assert (done.returncode, done.stderr) == (2, f"cannot write {device}: No space left on device\n")


@pytest.fixture
def stdout(tmp_path: Path) -> Path:
    """A link like /dev/stdout, in a folder where its loss does no harm."""
    path = tmp_path / "stdout"
    path.symlink_to("/proc/self/fd/1")
    return path


def test_standard_output_takes_the_content_after_what_was_printed(stdout: Path, tmp_path: Path) -> None:
    for target in (str(stdout), "stdout", "/dev/fd/1", "/proc/self/fd/1"):
        assert written(tmp_path, target).stdout == "printed\ncontent\nafter\n"
        written(tmp_path, target, "> out")
        assert (tmp_path / "out").read_text() == "printed\ncontent\nafter\n"
        assert names_in(tmp_path) == {"out", "stdout"}
        assert stdout.is_symlink()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = written(tmp_path, "pipe", "& cat pipe >&2; wait")
    assert (done.stderr, (tmp_path / "pipe").is_fifo()) == ("content\n", True)


@pytest.mark.parametrize("before", ["old", None])
def test_a_link_stays_and_what_it_names_is_replaced(tmp_path: Path, before: str | None) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to("data/file")
    if before:
        (tmp_path / "data" / "file").write_text(before)
    outputs.write(tmp_path / "link", "new")
    assert (tmp_path / "link").readlink() == Path("data/file")
    assert (tmp_path / "data" / "file").read_text() == "new"
    assert (names_in(tmp_path), names_in(tmp_path / "data")) == ({"data", "link"}, {"file"})


def test_what_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    for target in (tmp_path, tmp_path / "round", tmp_path / ("x" * 300), Path("/proc/no/such"), tmp_path / "a\0b"):
        with pytest.raises(TestbedError, match=r"^cannot write ") as caught:
            outputs.write(target, "x")
        assert (caught.value.exit_status, "\n" in str(caught.value)) == (2, False)
    assert names_in(tmp_path) == {"round"}


def test_a_table_as_json_goes_to_standard_output(stdout: Path, tmp_path: Path) -> None:
    """The whole command writes to standard output, too."""
    words = [sys.executable, "-m", "testbed", "results", "--json", str(stdout)]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"TESTBED_RESULTS": str(tmp_path)})
    assert (done.returncode, done.stdout.endswith("\n[]\n"), stdout.is_symlink()) == (0, True, True)


# ---- Concurrent writers ----


def test_writers_of_one_file_at_once_leave_one_whole(tmp_path: Path) -> None:
    """The writers are threads of one process, so a temporary name by process ID would be the same for all."""
    path = tmp_path / "file"
    contents = [str(number) * 100_000 for number in range(4)]
    at_once([partial(outputs.write, path, text) for text in contents])
    assert path.read_text() in contents
    assert names_in(tmp_path) == {"file"}


def test_runs_that_fail_at_once_leave_the_whole_of_one(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    outcomes = [GuestOutcome("lost", stdout=b"%d" % n, stderr=b"%d" % n) for n in range(4)]
    at_once([partial(keep_failure, path, outcome) for outcome in outcomes])
    folder = tmp_path / "x.failed"
    assert (folder / "stdout.txt").read_bytes() == (folder / "stderr.txt").read_bytes()
    assert names_in(tmp_path) == {"x.failed"}


def at_once(calls: Sequence[Callable[[], object]]) -> None:
    """Make each call forty times, all calls in parallel; an exception in any thread fails the test."""
    failed: list[BaseException] = []

    def repeat(call: Callable[[], object]) -> None:
        try:
            for _ in range(40):
                call()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
