# SPDX-License-Identifier: BSD-3-Clause
"""Profiles and manifests with random errors are read, or rejected in one sentence that names the file.

The shipped files are changed at random, by seed. TESTBED_FUZZ_SECONDS=n goes on for n seconds; TESTBED_FUZZ_SEED=n
replays one seed.
"""

import os
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.manifest import profiles, render
from testbed.manifest.scale import scale_cpu, scale_device
from testbed.paths import REPO

PROFILE_FILES = sorted((REPO / "experiments" / "profiles").glob("*/*.toml"))
MANIFEST_FILES = sorted((REPO / "experiments" / "manifests").glob("*.toml"))
# Typical errors of people and of programs.
SCRAPS = (
    *(
        "0",
        "-1",
        "1e9",
        "1.5",
        "nan",
        "inf",
        "99999999999999999999999",
        "0x10",
        "1_000",
        "٣",
        "true",
        "'on'",
        "[]",
        "{}",
    ),
    *('"64MiB"', '"3us"', '"27 GB/s"', '"0.3ps"', '"-5ns"', '"1e400"', '"lru"', '""', '"\\u0000"', "1979-05-27", "\n"),
    *("=", "[", "]", '"', "#", ".", "value", "unit", "source", "override", "[device]", "[matrix]", "{ value = 1 }"),
)
SEEDS_QUICK = 400


def changed(text: str, dice: random.Random) -> str:
    """The text after one to four changes: characters, words, values and lines."""
    for _ in range(dice.randint(1, 4)):
        lines = text.split("\n")
        at = dice.randrange(len(lines))
        line = lines[at]
        match dice.randrange(8):
            case 0:
                lines.insert(dice.randrange(len(lines)), line)
            case 1:
                del lines[at]
            case 2:
                cut = dice.randint(0, len(line))
                lines[at] = line[:cut] + dice.choice(SCRAPS) + line[cut + dice.randrange(4) :]
            case 3:
                lines[at] = line.partition("=")[0] + "= " + dice.choice(SCRAPS)
            case 4:
                words = line.split(" ")
                words[dice.randrange(len(words))] = dice.choice(SCRAPS)
                lines[at] = " ".join(words)
            case 5:
                lines[at] = line.replace("value = ", f"value = {dice.choice(SCRAPS)} #", 1)
            case 6:  # another number: 0, 1, 3 or 2^64
                lines[at] = re.sub(
                    r"\d+", lambda _: dice.choice(("0", "1", "3", "18446744073709551616")), line, count=1
                )
            case _:
                lines[at] = "".join(chr(dice.choice((ord(c), ord(c), ord(c), ord(c) ^ 1))) for c in line)
        text = "\n".join(lines)
    return text


def seeds() -> Iterator[int]:
    if one := os.environ.get("TESTBED_FUZZ_SEED"):
        yield int(one)
        return
    yield from range(SEEDS_QUICK)
    end = time.monotonic() + float(os.environ.get("TESTBED_FUZZ_SECONDS", "0"))
    seed = SEEDS_QUICK
    while time.monotonic() < end:
        yield seed
        seed += 1


def try_all(files: list[Path], to: Callable[[Path], Path], read: Callable[[Path], None]) -> None:
    taken = refused = 0
    for seed in seeds():
        dice = random.Random(seed)
        origin = dice.choice(files)
        path = to(origin)
        path.write_text(changed(origin.read_text(), dice))
        try:
            read(path)
            taken += 1
        except TestbedError as error:
            refused += 1
            assert path.name in str(error), f"seed {seed}: names no file: {error}"
        except Exception as error:
            raise AssertionError(f"seed {seed}, from {origin.name}: {type(error).__name__}: {error}") from error
    print(f"{taken} taken, {refused} refused")
    assert os.environ.get("TESTBED_FUZZ_SEED") or min(taken, refused) > SEEDS_QUICK // 20


def test_a_profile_is_read_or_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "PROFILES", tmp_path)
    for kind in ("cpus", "devices"):
        (tmp_path / kind).mkdir()

    def read(path: Path) -> None:
        if path.parent.name == "cpus":
            scale_cpu(profiles.load_cpu(path.stem, {}, path), 64)
        else:
            scale_device(profiles.load_device(path.stem, {}, path), 64)

    try_all(PROFILE_FILES, lambda origin: tmp_path / origin.parent.name / origin.name, read)


def test_a_manifest_is_read_or_refused_in_a_sentence(tmp_path: Path) -> None:
    def read(path: Path) -> None:
        render.runs(path)

    try_all(MANIFEST_FILES, lambda origin: tmp_path / origin.name, read)


@pytest.mark.parametrize(
    ("key", "wrong", "said"),
    [
        ('command = "true"', 'command = "echo {"', "workload.command"),  # used to be a ValueError of str.format
        ('command = "true"', 'command = "echo \'open"', "workload.command"),
        ('command = "true"', 'command = "echo {scale.x}"', "workload.command"),
        ('command = "true"', 'command = "echo \\u0000"', "workload.command' has a NUL in it"),
    ],
)
def test_what_random_changes_found_stays_refused(tmp_path: Path, key: str, wrong: str, said: str) -> None:
    text = """
name = "x"
summary = "s"
scale = 64
[cpu]
profile = "xeon-6230-class"
override = {}
[device]
profile = "snapshot-paper-mss"
[workload]
command = "true"
"""
    path = tmp_path / "x.toml"
    path.write_text(text)
    render.runs(path)
    path.write_text(text.replace(key, wrong))
    with pytest.raises(TestbedError, match=said):
        render.runs(path)
