# SPDX-License-Identifier: BSD-3-Clause
"""Execution of the tutorials: write their files, apply their changes, run their commands, in the order of each page."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.crash import plan as plans
from testbed.manifest import parse, render
from testbed.paths import REPO

FOLDER = REPO / "docs/tutorial"
# The study goes on in the folder of the first tutorial, with its program.
STORIES = {"study": ("measure.md", "study.md"), "crash": ("crash.md",)}
COMMANDS = {
    "study": [
        "testbed exec -- ./lookups /pmem/table 8388608 10000",
        "testbed exec --own-roi -- ./lookups /pmem/table 8388608 10000",
        "testbed run lookups.toml --dry-run",
        "testbed run lookups.toml",
        "testbed sweep lookups.toml --replay --csv lookups.csv",
    ],
    "crash": [
        'testbed crash ledger.toml || echo "status $?"',
        "testbed crash ledger.toml",
        "testbed crash ledger.toml --every --html ledger.html",
    ],
}
STORES = [31, 32]  # lines of ledger.c that a power cut can separate
BLOCK = re.compile(r"(?:^`([\w.-]+)`:\n\n)?^```(\w+)(?: append=([\w.-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(story: str) -> str:
    return "\n".join((FOLDER / name).read_text() for name in STORIES[story])


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


def files_of(story: str, folder: Path) -> None:
    """Write and change the files of a story, without its commands."""
    lines = [line for line in script(text_of(story)) if line.startswith(("printf ", "patch "))]
    subprocess.run(["bash", "-c", "\n".join(["set -eu", *lines])], cwd=folder, check=True, capture_output=True)


def test_every_tutorial_is_part_of_a_story() -> None:
    assert sorted(name for names in STORIES.values() for name in names) == sorted(p.name for p in FOLDER.glob("*.md"))


@pytest.mark.parametrize("story", STORIES)
def test_every_block_is_a_file_a_change_or_commands(story: str) -> None:
    text = text_of(story)
    assert text.count("\n```") == 2 * len(BLOCK.findall(text))
    assert [line for line in script(text) if line.startswith("testbed ")] == COMMANDS[story]


def test_the_study_s_manifest_has_the_points_and_devices_of_the_text(tmp_path: Path) -> None:
    files_of("study", tmp_path)
    shutil.copy("/bin/true", tmp_path / "lookups")  # any program of this host
    runs = render.runs(tmp_path / "lookups.toml")
    assert [run.label for run in runs] == ["64MiB", "256MiB", "1GiB"]
    read = parse.load(tmp_path / "lookups.toml")
    assert read.replay is not None and len(read.replay.grid["cache_size"]) == 11


def test_the_crash_tutorial_s_program_compiles_before_and_after_its_repair(tmp_path: Path) -> None:
    changes = re.findall(r"^```diff\n(.*?)^```$", text_of("crash"), re.MULTILINE | re.DOTALL)
    assert len(changes) == 1
    files_of("crash", tmp_path)
    plan = plans.load(tmp_path / "ledger.toml")
    assert plan.crash.sources == ["ledger.c"]
    plans.compile_source(tmp_path / "ledger.toml", "ledger.c", tmp_path, plan.crash.flags, plan.crash.libraries)
    back = subprocess.run(["patch", "-R", "-p0"], input=changes[0], text=True, cwd=tmp_path, capture_output=True)
    assert (back.returncode, "offset" in back.stdout) == (0, False), back.stdout
    lines = (tmp_path / "ledger.c").read_text().splitlines()
    assert [number for number, line in enumerate(lines, 1) if re.search(r"now->.* [-+]= ", line)] == STORES
    assert f"(ledger.c:{STORES[0]})" in text_of("crash")
    plans.compile_source(tmp_path / "ledger.toml", "ledger.c", tmp_path, plan.crash.flags, plan.crash.libraries)


def done(story: str, results: Path) -> subprocess.CompletedProcess[str]:
    """Perform a story in this clone, with its guests."""
    lines = ["set -eu", *script(text_of(story))]
    environment = os.environ | {"TESTBED_RESULTS": str(results)}
    made = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, cwd=REPO, env=environment)
    assert made.returncode == 0, made.stdout + made.stderr
    return made


@pytest.mark.guest
def test_the_study_ends_with_the_figures_it_promises(tmp_path: Path) -> None:
    figures = [REPO / "build" / "figures" / f"lookups{suffix}.svg" for suffix in ("", "-replay")]
    for figure in figures:
        figure.unlink(missing_ok=True)
    sums = re.findall(r"^sum \d+$", done("study", tmp_path).stdout, re.MULTILINE)
    assert len(sums) == 3 and len(set(sums)) == 1
    assert [figure.exists() for figure in figures] == [True, True]
    assert len(list((tmp_path / "lookups").glob("*.json"))) == 3


@pytest.mark.guest
def test_the_crash_tutorial_finds_its_bug_and_proves_the_repair(tmp_path: Path) -> None:
    page = REPO / "build/tutorial/ledger.html"
    page.unlink(missing_ok=True)
    said = done("crash", tmp_path).stdout
    assert said.count("\nstatus 1\n") == 1
    before, after = said.split("\nstatus 1\n")
    assert re.search(r"\bpay\b", before) and re.search(r"\(ledger\.c:3[12]\)", before)  # on two lines of a narrow table
    assert "the sum is " in before
    assert "the sum is " not in after and page.exists()
