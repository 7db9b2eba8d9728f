# SPDX-License-Identifier: BSD-3-Clause
"""The files, functions and programs of the model that its pages name exist."""

import re

import pytest

from testbed.paths import REPO

MODEL = REPO / "qemu-patches" / "model"
NAMES = ("model", "model-core", "model-device", "model-flash", "model-time", "many-cores", "persistence")
PAGE = "\n".join((REPO / f"docs/explanation/{name}.md").read_text() for name in NAMES)
OTHERS = {"drivers/cxl/pmem.c"}  # Linux


def named(pattern: str) -> set[str]:
    return set(re.findall(f"`({pattern})`", PAGE))


def sources() -> str:
    return "\n".join(path.read_text() for ending in ("h", "cpp", "txt") for path in MODEL.rglob(f"*.{ending}"))


def paths() -> set[str]:
    return {str(path.relative_to(REPO)) for path in (*MODEL.rglob("*"), *(REPO / "tests").rglob("test_*.py"))}


@pytest.mark.parametrize("name", sorted(named(r"[\w/]+\.(?:c|h|cpp|py)") - OTHERS))
def test_a_file_is_there(name: str) -> None:
    """The page states the path of a file, or the end of its path."""
    assert (REPO / name).is_file() or [path for path in paths() if f"/{path}".endswith(f"/{name}")] != []


@pytest.mark.parametrize("name", sorted(named(r"mem\w+\(\)")))
def test_a_function_is_declared(name: str) -> None:
    assert re.search(rf"\b{name[:-2]}\(", sources())


@pytest.mark.parametrize("name", sorted(named(r"(?:test|fuzz|hunt|bench)_\w+")))
def test_a_program_is_built(name: str) -> None:
    """A list of programs has the name, or the part after its kind; `hunt_bug_n` stands for all `hunt_bug` programs."""
    built = (MODEL / "CMakeLists.txt").read_text()
    assert any(re.search(rf"\b{said}\b", built) for said in (name, name.partition("_")[2], name.removesuffix("_n"))), (
        name
    )


def test_there_is_something_to_look_for() -> None:
    assert len(named(r"[\w/]+\.(?:c|h|cpp|py)")) > 10
    assert len(named(r"mem\w+\(\)")) >= 4
    assert len(named(r"(?:test|fuzz|hunt|bench)_\w+")) >= 4
