# SPDX-License-Identifier: BSD-3-Clause
"""Execution of the tutorial: write its files, apply its changes, run its commands, in the order of the document."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from testbed.paths import REPO

DOCUMENT = REPO / "docs/tutorial/measure.md"
BLOCK = re.compile(r"(?:^`([\w.-]+)`:\n\n)?^```(\w+)(?: append=([\w.-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script(text: str) -> list[str]:
    """The shell lines that perform the reader's steps."""
    lines = []
    for file, language, appended, content in BLOCK.findall(text):
        if language == "console":
            lines += [line[2:].partition("  #")[0] for line in content.splitlines() if line.startswith("$ ")]
        elif language == "diff":
            lines.append(f"patch -p0 <<< {shlex.quote(content)}")
        else:
            assert file or appended, f"a block of {language} belongs to no file"
            lines.append(f"printf %s {shlex.quote(content)} {'>>' if appended else '>'} {file or appended}")
    return lines


def test_every_block_is_a_file_a_change_or_commands() -> None:
    text = DOCUMENT.read_text()
    assert text.count("\n```") == 2 * len(BLOCK.findall(text))
    assert [line for line in script(text) if line.startswith("testbed ")] == [
        "testbed exec -- ./lookups /pmem/table 8388608 10000",
        "testbed exec --own-roi -- ./lookups /pmem/table 8388608 10000",
        "testbed run lookups.toml --dry-run",
        "testbed run lookups.toml",
        "testbed sweep lookups.toml --replay --csv lookups.csv",
    ]


@pytest.mark.guest
def test_the_tutorial_ends_with_the_figures_it_promises(tmp_path: Path) -> None:
    figures = [REPO / "build" / "figures" / f"lookups{suffix}.svg" for suffix in ("", "-replay")]
    for figure in figures:
        figure.unlink(missing_ok=True)
    lines = ["set -eu", *script(DOCUMENT.read_text())]
    environment = os.environ | {"TESTBED_RESULTS": str(tmp_path)}
    done = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, cwd=REPO, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    sums = re.findall(r"^sum \d+$", done.stdout, re.MULTILINE)
    assert len(sums) == 3 and len(set(sums)) == 1
    assert [figure.exists() for figure in figures] == [True, True]
    assert len(list((tmp_path / "lookups").glob("*.json"))) == 3
