# SPDX-License-Identifier: BSD-3-Clause
"""A manifest that cannot run gives one sentence with file, key and remedy, before any build or boot."""

from pathlib import Path

import pytest

from conftest import MANIFEST
from testbed.errors import TestbedError
from testbed.manifest import render

ENGINES = 'engine = ["snapshot", "pmdk", "volatile"]'
OVERRIDE = "[device.override]\n{}\n[matrix]"

WRONG_TYPES = [
    ("scale = 64", 'scale = "big"', "key 'scale': 'big' has the wrong type; it must be a whole number, as 64"),
    ("scale = 64", "scale = 1.5", "key 'scale': 1.5 has the wrong type"),
    ("scale = 64", "scale = true", "key 'scale': True has the wrong type"),
    ('name = "small"', "name = 3", "key 'name': 3 has the wrong type; it must be text in quotes"),
    ("records = 6400", 'records = "many"', "key 'workload.scaled.records': 'many' has the wrong type"),
    ('[cpu]\nprofile = "xeon-6230-class"', 'cpu = "xeon"', "key 'cpu': 'xeon' has the wrong type; it must be a table"),
    ("[matrix]", OVERRIDE.format('cache_size = ["1"]'), "key 'device.override.cache_size': ['1'] is neither text"),
    ("[cpu]", "[guest]\nmemory = 5\n[cpu]", "key 'guest.memory': '5' is not a number and one of B, KiB, MiB"),
    (ENGINES, 'engine = "snapshot"', "key 'matrix.engine': 'snapshot' has the wrong type; it must be a list"),
    (ENGINES, "engine = [1.5]", "key 'matrix.engine.0': 1.5 is neither text in quotes nor a whole number"),
    (ENGINES, "engine = [true]", "key 'matrix.engine.0': True is neither text in quotes nor a whole number"),
]
CPUS = [
    (
        "[cpu]",
        "[guest]\ncpus = 0\n[cpu]",
        "key 'guest.cpus' (option --cpus): 0 is not a number from 1 to 20, the cores of",
    ),
    ("[cpu]", "[guest]\ncpus = 21\n[cpu]", "key 'guest.cpus' (option --cpus): 21 is not a number from 1 to 20"),
    ("[cpu]", "[guest]\ncpus = -1\n[cpu]", "key 'guest.cpus': '-1' is not a number of CPUs"),
    ("[cpu]", '[guest]\ncpus = "{engine}"\n[cpu]', "key 'guest.cpus': 'snapshot' is not a number of CPUs"),
    ("[cpu]", '[guest]\ncpus = "{cores}"\n[cpu]', "key 'guest.cpus' uses {cores}, which is no axis of the matrix"),
    ("[cpu]", "[guest]\ncpus = true\n[cpu]", "key 'guest.cpus': True is neither text in quotes nor a whole number"),
]
EMPTY_MATRICES = [
    (ENGINES, "engine = []", "axis 'engine' must list at least one value and none twice"),
    (ENGINES, 'engine = ["pmdk", "pmdk"]', "axis 'engine' must list at least one value and none twice"),
    (ENGINES, "", "key 'workload.command' uses {engine}, which is neither in the matrix nor in workload.scaled"),
]
IMPOSSIBLE_SCALES = [
    ("scale = 64", "scale = 0", "key 'scale': Input should be greater than or equal to 1"),
    ("scale = 64", "scale = -8", "key 'scale': Input should be greater than or equal to 1"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG_TYPES + CPUS + EMPTY_MATRICES + IMPOSSIBLE_SCALES)
def test_a_bad_manifest_names_file_key_and_remedy(small_manifest: Path, old: str, new: str, message: str) -> None:
    assert old in MANIFEST
    small_manifest.write_text(MANIFEST.replace(old, new))
    with pytest.raises(TestbedError) as caught:
        render.runs(small_manifest)
    assert str(caught.value).startswith(f"{small_manifest}: ")
    assert message in str(caught.value)
    assert (caught.value.exit_status, "\n" in str(caught.value)) == (2, False)
