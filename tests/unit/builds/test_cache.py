# SPDX-License-Identifier: BSD-3-Clause
"""The cache publishes whole entries or none, even if a builder is killed or the disk is full."""

import errno
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.build import sums
from testbed.build.cache import Cache, DiskFull
from testbed.errors import TestbedError

KEY = "0123456789abcdef" * 4


def write_product(out: Path, _: Path) -> None:
    (out / "file").write_text("whole")


def forbidden(_: Path, __: Path) -> None:
    raise AssertionError("the builder must not run")


def leftovers(root: Path) -> list[Path]:
    return list((root / "building").glob("*")) if (root / "building").exists() else []


def test_a_miss_builds_and_a_hit_does_not(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    path = cache.get_or_build("thing", KEY, write_product)
    assert path.name == "thing-0123456789abcdef"
    assert (path / "file").read_text() == "whole"
    assert cache.get_or_build("thing", KEY, forbidden) == path
    assert leftovers(tmp_path) == []


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail(out: Path, _: Path) -> None:
        (out / "half").write_text("half")
        raise TestbedError("broken")

    cache = Cache(tmp_path)
    with pytest.raises(TestbedError, match="broken"):
        cache.get_or_build("thing", KEY, fail)
    assert cache.entries() == []
    assert leftovers(tmp_path) == []


def build_forever(root: Path) -> None:
    def builder(out: Path, _: Path) -> None:
        (out / "half").write_text("half")
        time.sleep(60)

    Cache(root).get_or_build("thing", KEY, builder)


def test_a_killed_build_is_cleaned_up_by_the_next(tmp_path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=build_forever, args=(tmp_path,))
    process.start()
    while not any(path.name == "half" for path in tmp_path.rglob("half")):
        time.sleep(0.01)
    assert process.pid
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert Cache(tmp_path).get("thing", KEY) is None
    assert len(leftovers(tmp_path)) == 1
    path = Cache(tmp_path).get_or_build("thing", KEY, write_product)
    assert sorted(child.name for child in path.iterdir()) == [".sums.json", "file"]
    assert leftovers(tmp_path) == []


def build_counting(root: Path) -> None:
    def builder(out: Path, _: Path) -> None:
        time.sleep(0.2)
        (out / "file").write_text("whole")
        with (root / "builds").open("a") as log:
            log.write("x")

    Cache(root).get_or_build("thing", KEY, builder)


def test_two_builders_at_once_build_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=build_counting, args=(tmp_path,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert (tmp_path / "builds").read_text() == "x"


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB if the test may mount one, else a folder; the builder then raises ENOSPC itself."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True)
    yield folder
    if mounted.returncode == 0:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_one_sentence_and_publishes_nothing(tiny_disk: Path) -> None:
    def fill(out: Path, _: Path) -> None:
        (out / "large").write_bytes(b"x" * (4 << 20))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # if the small file system could not be mounted

    cache = Cache(tiny_disk)
    with pytest.raises(DiskFull, match=r"disk full while building thing: .* MiB free under .*TESTBED_CACHE") as caught:
        cache.get_or_build("thing", KEY, fill)
    assert caught.value.exit_status == 2
    assert cache.entries() == []
    assert leftovers(tiny_disk) == []


# ---- Damage ----


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda file: os.truncate(file, 3), r"is damaged: it has 3 bytes instead of 5"),
        (lambda file: file.write_text("wrong"), r"is damaged: its content differs from the built one"),
        (lambda file: file.unlink(), r"cannot be used: No such file or directory"),
        (lambda file: file.with_name(".sums.json").write_text("{"), r"\.sums\.json is damaged"),
    ],
)
def test_a_damaged_entry_is_named_with_the_way_to_build_it_again(
    tmp_path: Path, damage: Callable[[Path], object], said: str
) -> None:
    cache = Cache(tmp_path)
    path = cache.get_or_build("thing", KEY, write_product)
    assert cache.get_or_build("thing", KEY, forbidden) == path
    damage(path / "file")
    remedy = re.escape(f"; to build it again: rm -r {path} && testbed build")
    with pytest.raises(TestbedError, match=said + remedy) as caught:
        cache.get_or_build("thing", KEY, forbidden)
    assert caught.value.exit_status == 2


def test_contents_are_hashed_once_and_again_in_a_copy_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[Path] = []
    of_file = sums.of_file

    def hash_and_note(path: Path) -> sums.Sum:
        hashed.append(path)
        return of_file(path)

    monkeypatch.setattr(sums, "of_file", hash_and_note)
    Cache(tmp_path / "a").get_or_build("thing", KEY, write_product)
    hashed.clear()
    for root, times in (("a", 1), ("a", 0), ("b", 1), ("b", 0)):
        if root == "b" and times:
            shutil.copytree(tmp_path / "a", tmp_path / "b")
        Cache(tmp_path / root).get_or_build("thing", KEY, forbidden)
        assert len(hashed) == times, root
        hashed.clear()


def test_an_entry_of_before_there_were_sums_is_taken(tmp_path: Path) -> None:
    path = Cache(tmp_path).get_or_build("thing", KEY, write_product)
    (path / sums.SUMS).unlink()
    assert Cache(tmp_path).get_or_build("thing", KEY, forbidden) == path


def test_a_cache_of_another_user_is_said_to_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the place of a folder makes the cache unusable, because root may write everywhere."""
    (tmp_path / "locks").touch()
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    whose = re.escape(f"cannot use the cache {tmp_path}, which belongs to the user {tmp_path.owner()}: ")
    with pytest.raises(TestbedError, match=rf"{whose}.*set TESTBED_CACHE"):
        Cache(tmp_path).get_or_build("thing", KEY, write_product)


def test_prune_keeps_what_is_needed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    kept = cache.get_or_build("thing", KEY, write_product)
    cache.get_or_build("thing", "f" * 64, write_product)
    assert [entry.key for entry in cache.prune({kept})] == ["f" * 16]
    assert [entry.path for entry in cache.entries()] == [kept]


def test_an_entry_that_another_command_removed_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two concurrent `testbed cache --prune` used to end with a traceback."""
    cache = Cache(tmp_path)
    path = cache.get_or_build("thing", KEY, write_product)
    seen = cache.entries()
    monkeypatch.setattr(Cache, "entries", lambda _: seen)
    shutil.rmtree(path)
    assert cache.prune(set()) == seen
    assert leftovers(tmp_path) == []
