# SPDX-License-Identifier: BSD-3-Clause
"""build.sh without building: its inputs exist, and every bad call gives one sentence and exit status 2."""

import os
import subprocess
from pathlib import Path

import pytest

from testbed.build import workloads
from testbed.paths import REPO

BUILD = REPO / "guest-image" / "image" / "build.sh"
COMPONENTS = ("buildroot", "base", "tools")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BUILD, *arguments], capture_output=True, text=True, env=os.environ | environment)


@pytest.mark.parametrize("component", COMPONENTS)
def test_inputs_are_files_of_this_repository(component: str) -> None:
    names = run("inputs", component).stdout.split()
    assert "guest-image/image/build.sh" in names
    assert [name for name in names if not (REPO / name).exists()] == []


def test_a_test_or_a_manual_is_no_input_of_the_guest() -> None:
    names = {name for workload in workloads.known() for name in workloads.inputs(workload)}
    assert [n for n in names if n in ("snapshot-lib", "snapshot-lib/tests", "snapshot-lib/man")] == []
    assert "snapshot-lib/runtime" in names


@pytest.mark.parametrize(
    "arguments", [(), ("build", "base"), ("inputs", "kernel"), ("inputs", "base", "x"), ("prune", "base")]
)
def test_bad_arguments_show_the_usage(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "usage: build.sh" in done.stderr


def test_unreachable_mirror_is_one_sentence(tmp_path: Path) -> None:
    dead = "http://127.0.0.1:9/debian"
    done = run(
        "fingerprint",
        "base",
        TESTBED_CACHE=str(tmp_path),
        TESTBED_DEBIAN_MIRROR=dead,
        TESTBED_DEBIAN_SECURITY_MIRROR=dead,
    )
    assert done.returncode == 2
    assert "mirror cannot be reached" in done.stderr.splitlines()[-1]


def test_tools_without_build_root_names_the_variable(tmp_path: Path) -> None:
    done = run("build", "tools", str(tmp_path / "out"), str(tmp_path / "work"), BUILDROOT_DIR="")
    assert done.returncode == 2
    assert "BUILDROOT_DIR" in done.stdout + done.stderr
    assert not list((tmp_path / "out").iterdir())


def test_programs_without_a_mirror_are_an_error_that_says_so(tmp_path: Path) -> None:
    dead = "http://127.0.0.1:9/debian"
    script = REPO / "experiments" / "workloads" / "upstream" / "sources.sh"
    variables = {"TESTBED_CACHE": str(tmp_path), "TESTBED_DEBIAN_MIRROR": dead, "TESTBED_DEBIAN_SECURITY_MIRROR": dead}
    done = subprocess.run(
        [script, "prepare", tmp_path / "sources"], capture_output=True, text=True, env=os.environ | variables
    )
    assert done.returncode == 2
    assert "mirror cannot be reached" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "sources").exists()


def test_every_kernel_option_stands_under_a_reason() -> None:
    lines = (REPO / "guest-image" / "image" / "kernel-cmdline").read_text().splitlines()
    blocks = "\n".join(lines).split("\n\n")
    assert all(block.startswith("#") for block in blocks)
