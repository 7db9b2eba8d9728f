# SPDX-License-Identifier: BSD-3-Clause
"""The short checks of a contributor: `make check`, the hooks of a commit, and the container."""

import json
import os
import subprocess

import yaml

from testbed.paths import REPO


def test_make_check_is_lint_and_unit_tests() -> None:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MAKE")
    }  # `make test` runs this
    done = subprocess.run(
        ["make", "-n", "check"], cwd=REPO, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-2:] == ["tests/lint.sh", "tests/python.sh tests/unit"]
    assert "`make check`" in (REPO / "CONTRIBUTING.md").read_text()


def test_hooks_are_local_and_use_the_programs_of_the_linters() -> None:
    repositories = yaml.safe_load((REPO / ".pre-commit-config.yaml").read_text())["repos"]
    assert [one["repo"] for one in repositories] == ["local"]
    hooks = repositories[0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    lint = (REPO / "tests" / "lint.sh").read_text().replace('"$bin"', ".venv/bin")
    plain = lint.replace("check -q", "check").replace("format -q", "format")
    assert [hook["entry"] for hook in hooks if hook["entry"] not in plain] == []


def test_the_container_is_debian_12_and_provisions_itself() -> None:
    stated = json.loads((REPO / ".devcontainer" / "devcontainer.json").read_text())
    assert stated["postCreateCommand"] == "make .venv/provisioned"
    assert "FROM debian:12\n" in (REPO / ".devcontainer" / stated["build"]["dockerfile"]).read_text()
