# SPDX-License-Identifier: BSD-3-Clause
"""A manifest with a base states only the keys that differ; every other key is the base's."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from conftest import MANIFEST
from testbed.errors import TestbedError
from testbed.manifest import bases, parse, render
from testbed.validation import load_toml

OWN = 'name = "derived"\nsummary = "as small, but"\nbase = "small.toml"\n'
FEW = 4  # keys that differ


def derived(small_manifest: Path, text: str) -> Path:
    path = small_manifest.with_name("derived.toml")
    path.write_text(OWN + text)
    return path


def test_what_is_not_stated_is_the_bases(small_manifest: Path) -> None:
    small, same = parse.load(small_manifest), parse.load(derived(small_manifest, ""))
    differ = {"name": "derived", "summary": "as small, but", "base": "small.toml"}
    assert same.model_dump() == small.model_dump() | differ


def test_a_stated_key_replaces_one_key_and_new_axes_follow_the_bases(small_manifest: Path) -> None:
    text = "scale = 128\nworkload.scaled.records = 640\nmatrix.seed = [1, 2]\nmatrix.engine = ['pmdk']\n"
    small, other = parse.load(small_manifest), parse.load(derived(small_manifest, text))
    assert (other.scale, other.workload.scaled) == (128, small.workload.scaled | {"records": 640})
    assert (list(other.matrix), other.matrix["engine"]) == ([*small.matrix, "seed"], ["pmdk"])
    assert other.workload.command == small.workload.command


def test_what_is_empty_is_taken_away(small_manifest: Path) -> None:
    small_manifest.write_text(MANIFEST.replace("[matrix]", "[matrix]\nseed = [1]"))
    assert list(parse.load(derived(small_manifest, "matrix.seed = []")).matrix) == ["engine"]


def test_a_base_may_have_a_base_and_be_one_that_ships(small_manifest: Path) -> None:
    path = small_manifest.with_name("quicker.toml")
    path.write_text('name = "quicker"\nsummary = "x"\nbase = "kv-ycsb-quick"\nscale = 2048\n')
    quick = parse.load(bases.find("kv-ycsb-quick"))
    differ = {"name": "quicker", "summary": "x", "base": "kv-ycsb-quick", "scale": 2048}
    assert parse.load(path).model_dump() == quick.model_dump() | differ
    assert quick.base == "kv-ycsb"


def test_a_folder_of_the_same_name_is_no_manifest(small_manifest: Path) -> None:
    """For example a folder of a program or of results."""
    (small_manifest.parent / "kv-ycsb-quick").mkdir()
    assert bases.find("kv-ycsb-quick", small_manifest.parent).suffix == ".toml"


def test_what_a_base_takes_along_stays_where_it_is(tmp_path: Path, small_manifest: Path) -> None:
    (small_manifest.with_name("data.txt")).write_text("of the base")
    small_manifest.write_text(MANIFEST + '[program]\nfiles = ["data.txt"]\n')
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere/derived.toml"
    path.write_text(OWN.replace('"small.toml"', f'"{small_manifest}"'))
    assert render.runs(path)[0].job.files["data.txt"] == b"of the base"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('base = "nowhere.toml"', "key 'base': {folder}/nowhere.toml does not exist; paths are relative to the"),
        ('base = "kv-ycbs"', "key 'base': no manifest 'kv-ycbs'; give the path of a .toml file or one of: btree, "),
        ('base = "derived.toml"', "key 'base': it goes in a circle, derived.toml -> derived.toml; remove it"),
        ('base = "back.toml"', "it goes in a circle, derived.toml -> back.toml -> derived.toml; remove it"),
        ("base = 3", "key 'base': 3 is no name of a manifest; write it as 'btree'"),
        ('base = ""', "key 'base': '' is no name of a manifest"),
        ('base = "."', "key 'base': no manifest '.'; give the path of a .toml file or one of: btree, "),
        ('base = "small.toml"\nscael = 3', "unknown key 'scael'; did you mean 'scale'?"),
        (
            'base = "small.toml"\nmatrix.sede = []',
            "key 'matrix.sede': it is empty, which takes away what the base says",
        ),
        ('base = "small.toml"\nmatrix.engine = []', "key 'workload.command' uses {{engine}}, which is neither in"),
        ('base = "small.toml"\nworkload = 3', "key 'workload': 3 has the wrong type; it must be a table"),
    ],
)
def test_a_bad_base_is_one_sentence(small_manifest: Path, text: str, message: str) -> None:
    path = derived(small_manifest, "")
    path.write_text(f'name = "derived"\nsummary = "x"\n{text}\n')
    small_manifest.with_name("back.toml").write_text('name = "back"\nsummary = "x"\nbase = "derived.toml"\n')
    with pytest.raises(TestbedError) as caught:
        render.runs(path)
    assert message.format(folder=small_manifest.parent) in str(caught.value)
    assert (caught.value.exit_status, "\n" in str(caught.value)) == (2, False)


def test_what_is_wrong_in_the_base_names_the_base(small_manifest: Path) -> None:
    path = derived(small_manifest, "scale = 8")
    small_manifest.write_text(MANIFEST.replace("scale = 64", "scale = 0"))
    with pytest.raises(TestbedError, match="key 'scale'") as caught:
        parse.load(path)
    assert str(caught.value).startswith(f"{small_manifest}: ")


def leaves(data: dict[str, Any], place: str = "") -> dict[str, Any]:
    """The values of a manifest by dotted keys."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        inside = isinstance(value, dict) and value
        found |= leaves(value, f"{place}{key}.") if inside else {f"{place}{key}": value}
    return found


def test_a_manifest_that_differs_from_another_in_few_keys_says_so() -> None:
    """Manifests that differ in few keys must share a base, unless the order of their axes, and so of runs, differs."""
    whole = {path.stem: bases.load(parse.Manifest, path)[1] for path in bases.shipped()}
    found = {name: leaves(data) for name, data in whole.items()}
    has_base = {path.stem for path in bases.shipped() if "base" in load_toml(path)}
    alike = []
    for one, other in itertools.combinations(sorted(set(whole) - has_base), 2):
        keys = (found[one].keys() | found[other].keys()) - {"name", "summary"}
        differ = [key for key in keys if found[one].get(key) != found[other].get(key)]
        axes = [list(whole[name].get("matrix", {})) for name in (one, other)]
        in_order = [[axis for axis in axes[0] if axis in axes[1]], [axis for axis in axes[1] if axis in axes[0]]]
        if len(differ) <= FEW and in_order[0] == in_order[1]:
            alike.append((one, other, differ))
    assert alike == []
