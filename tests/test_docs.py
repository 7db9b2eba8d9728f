# SPDX-License-Identifier: BSD-3-Clause
"""What the documents tell a reader to type works, and what they link to exists."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.paths import REPO

DOCUMENTS = sorted([REPO / "README.md", *(REPO / "docs").glob("*.md")])


def commands() -> list[str]:
    """Every `$ ` line of a console block of the README, running.md and replay.md."""
    found = []
    for path in (REPO / "README.md", REPO / "docs" / "running.md", REPO / "docs" / "replay.md"):
        for block in re.findall(r"```console\n(.*?)```", path.read_text(), re.DOTALL):
            found += [line[2:].partition("  #")[0].strip() for line in block.splitlines() if line.startswith("$ ")]
    return sorted(set(found))


def run(words: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "testbed", *words]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=REPO, stdin=subprocess.DEVNULL, env=env)


@pytest.mark.parametrize("command", [c for c in commands() if c.startswith("make ")])
def test_make_knows_the_verbs(command: str) -> None:
    subprocess.run(["make", "-n", *command.split()[1:]], cwd=REPO, check=True, capture_output=True)


@pytest.mark.guest
@pytest.mark.parametrize("command", [c for c in commands() if not c.startswith("make ")])
def test_testbed_commands_work(command: str, tmp_path: Path) -> None:
    words = shlex.split(command)[1:]
    if words[0] in (
        "shell",
        "top",
    ):  # they need a terminal or a running guest (of this test, not another's), and say so
        assert run(words, TMPDIR=str(tmp_path)).returncode == 2
    elif words[0] in ("run", "sweep"):  # they take minutes; that they can be made is what the manifest promises
        assert run([*words, "--dry-run"]).returncode == 0
    else:
        done = run(words)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_ci_runs_the_readmes_test_command() -> None:
    assert "\nexec make test\n" in (REPO / ".ci" / "run").read_text()
    assert "make test" in commands()
