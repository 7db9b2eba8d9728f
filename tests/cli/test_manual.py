# SPDX-License-Identifier: BSD-3-Clause
"""The manual page of the command: complete, and free of warnings of mandoc."""

import subprocess
from pathlib import Path

import pytest

from testbed.cli import main, manual

DATE = "November 29, 2026"


def lint(page: str, folder: Path) -> str:
    (folder / "testbed.1").write_text(page)
    words = ["mandoc", "-T", "lint", "-W", "warning", str(folder / "testbed.1")]
    return subprocess.run(words, capture_output=True, text=True).stdout


def test_the_page_has_every_command_and_no_warning(tmp_path: Path) -> None:
    page = manual.page(main.app, DATE)
    commands = [line.removeprefix(".Ss ") for line in page.splitlines() if line.startswith(".Ss ")]
    assert {"run", "exec", "crash", "status", "module build", "image export", "kernel get", "man"} <= set(commands)
    assert ".It Fl o , Fl -output Ar PATTERN" in page.splitlines()
    assert ".It Fl -dry-run" in page.splitlines()
    assert lint(page, tmp_path) == ""
    assert lint(page.replace(".El", "", 1), tmp_path) != ""


@pytest.mark.parametrize(("text", "shown"), [(".so", r"\&.so"), ("a\\n", r"a\en"), ('a "b', r"a \(dqb")])
def test_no_text_becomes_a_macro(text: str, shown: str) -> None:
    assert manual._escaped(text) == shown
