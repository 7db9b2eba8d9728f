# SPDX-License-Identifier: BSD-3-Clause
"""An error that names a key names the page that explains it, and the page has the key."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from testbed.cli.pages import page_of, with_page
from testbed.crash.plan import Plan
from testbed.manifest.parameters import CpuProfile, DeviceProfile, key_of
from testbed.manifest.parse import Manifest
from testbed.paths import REPO


def keys(model: type[BaseModel], place: str = "") -> list[str]:
    """The keys of a manifest; the name of the table precedes each key of a table."""
    found = []
    for name, field in model.model_fields.items():
        kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
        inner = [kind for kind in kinds if issubclass(kind, BaseModel)]
        found += keys(inner[0], f"{place}{name}.") if inner else [f"{place}{name}"]
    return found


@pytest.mark.parametrize("key", keys(Manifest) + [key for key in keys(Plan) if key.startswith("crash.")])
def test_the_page_of_a_manifests_key_has_it(key: str) -> None:
    page = page_of(f"my.toml: key '{key}' is missing; add it")
    assert page and key.rpartition(".")[2] in (REPO / page).read_text()


@pytest.mark.parametrize("profile", [CpuProfile, DeviceProfile])
def test_the_page_of_a_parameter_has_it(profile: type) -> None:
    text = (REPO / "docs/reference/parameters.md").read_text()
    names = [field.name for field in fields(profile) if field.name != "name"]
    pages = {page_of(f"my.toml: key 'device.override.{key_of(name)}': no") for name in names}
    assert pages == {"docs/reference/parameters.md"}
    assert [name for name in names if key_of(name) not in text] == []


def test_each_page_is_asked_for_by_some_error() -> None:
    for error, page in (
        ("/x/calibration.toml: key 'study' is missing; add it", "docs/howto/calibrate.md"),
        ("/x/experiments/profiles/cpus/mine.toml: key 'l2_size' is missing; add it", "docs/howto/add.md"),
        ("my.toml: cpu key 'llc_size': the caches must grow", "docs/reference/parameters.md"),
        ("my.toml: key 'replay.grid' is missing or empty", "docs/howto/replay.md"),
        ("my.toml: key 'crash.check' is missing; add it", "docs/reference/crash-tests.md"),
    ):
        assert page_of(error) == page and (REPO / page).exists()
    assert with_page("no manifest 'x'") == "no manifest 'x'"


def test_the_command_says_it(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("scale = 0\n")
    words: list[str | Path] = [sys.executable, "-m", "testbed", "run", tmp_path / "my.toml"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith("(see docs/reference/manifest.md)\n")
