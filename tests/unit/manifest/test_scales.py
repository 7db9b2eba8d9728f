# SPDX-License-Identifier: BSD-3-Clause
"""Scales: one file states the scale of each study, and an impossible scale is rejected."""

import re
from pathlib import Path

import pytest

from conftest import MANIFEST
from testbed.errors import TestbedError
from testbed.manifest import bases, parse, render, scales
from testbed.replay import verdicts

DEVICES = MANIFEST.replace('profile = "snapshot-paper-mss"', 'profile = "{device}"').replace(
    "[matrix]", '[matrix]\ndevice = ["snapshot-paper-mss", "optane-dcpmm"]'
)


def test_every_row_is_of_a_manifest_and_grows_towards_full() -> None:
    for name, row in scales.load().items():
        assert parse.load(bases.find(name))
        assert row.quick >= row.standard >= row.full == 1


def test_a_scale_is_a_name_a_number_or_nothing() -> None:
    assert scales.divisor(None, "kv-ycsb") is None
    assert scales.divisor("quick", "kv-ycsb") == scales.load()["kv-ycsb"].quick
    assert scales.divisor("full", "kv-ycsb") == 1
    assert scales.divisor("256", "mine") == scales.divisor("1/256", "mine") == 256


@pytest.mark.parametrize("asked", ["quik", "0", "-1", "1.5", "1/0", "", "9999999999", "²"])
def test_a_bad_scale_is_one_sentence(asked: str) -> None:
    with pytest.raises(TestbedError, match=r"--scale '.*' is none of quick, standard, full, nor a number"):
        scales.divisor(asked, "kv-ycsb")


def test_a_manifest_without_a_row_needs_a_number() -> None:
    with pytest.raises(TestbedError, match=r"scales\.toml has no divisors for 'mine'; .*--scale 64"):
        scales.divisor("quick", "mine")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kv = 3", r"s\.toml: key 'kv' must be a table: kv = { quick = N, standard = N, full = N }"),
        ("kv = { quick = 1, standard = 1 }", r"s\.toml: key 'full' is missing; add it"),
        ("kv = { quick = 0, standard = 1, full = 1 }", r"s\.toml: key 'quick': .* greater than or equal to 1"),
        ("kv = { quik = 4, standard = 1, full = 1 }", r"s\.toml: .*quick"),
    ],
)
def test_a_bad_file_names_the_key(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(TestbedError, match=message):
        scales.load(path)


def test_another_scale_changes_data_caches_memory_and_patience(small_manifest: Path) -> None:
    small_manifest.write_text(MANIFEST + '[guest]\nmemory = "1GiB"\nmemory_full = "6GiB"\ntimeout = "10min"\n')
    own, larger = render.runs(small_manifest)[0], render.runs(small_manifest, 2)[0]
    assert (own.scale, larger.scale) == (64, 2)
    assert (own.argv[-1], larger.argv[-1]) == ("100", "3200")
    assert (own.guest.device.cache_size, larger.guest.device.cache_size) == (2 << 20, 64 << 20)
    assert (own.guest.memory_bytes, larger.guest.memory_bytes, own.full.memory_bytes) == (1 << 30, 3 << 30, 6 << 30)
    assert (own.guest.timeout_s, larger.guest.timeout_s) == (600, 19200)
    assert render.runs(small_manifest, 1024)[0].guest.timeout_s == 600


def test_the_device_may_be_an_axis(small_manifest: Path) -> None:
    small_manifest.write_text(DEVICES)
    runs = render.runs(small_manifest)
    assert [run.guest.device.name for run in runs] == ["snapshot-paper-mss"] * 3 + ["optane-dcpmm"] * 3
    assert runs[0].label == "snapshot-paper-mss-snapshot"


def test_a_scale_that_a_device_cannot_have_says_so(small_manifest: Path) -> None:
    small_manifest.write_text(DEVICES)
    said = verdicts.of_runs(render.runs(small_manifest, 256))
    assert said[:3] == [""] * 3
    assert re.search(r"small\.toml: device key 'cache_size' \(384 B\) .* at scale 1/256 of optane", said[3])
    assert said[4:] == said[3:4] * 2
