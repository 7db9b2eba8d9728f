# SPDX-License-Identifier: BSD-3-Clause
"""Product sources contain no seeded bugs: a patch of each part inserts them into a copy (tests/seeded_bugs.sh)."""

import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from testbed.paths import REPO

SCRIPT = REPO / "tests/seeded_bugs.sh"
PATCH = "tests/seeded-bugs.patch"
SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cc"}
MENTION = re.compile(r"\bSEEDED_BUG|MEM_(HAS_)?BUG|seed(ed)?[-_ ]?bug|\bseeded\(", re.IGNORECASE)


def tracked(*patterns: str) -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *patterns]
    listed = subprocess.run(command, cwd=REPO, capture_output=True, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name and (REPO / name).is_file()]


PARTS = sorted(name.removesuffix(f"/{PATCH}") for name in tracked(f"*/{PATCH}"))


def is_product(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix in SUFFIXES and "tests" not in path.parts and not name.startswith("experiments/crash/")


def mentions(text: str) -> list[str]:
    return [line for line in text.splitlines() if MENTION.search(line)]


def run(script: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([script, *words], capture_output=True, text=True)


def test_no_product_source_mentions_a_seeded_bug() -> None:
    sources = [name for name in tracked() if is_product(name)]
    assert len(sources) > 200
    found = {name: lines for name in sources if (lines := mentions((REPO / name).read_text(errors="replace")))}
    assert found == {}


def test_a_hook_in_a_source_is_a_mention() -> None:
    assert mentions("    if (SEEDED_BUG(NO_FENCE))\n") and mentions('#include "base/seeded_bug.h"\n')
    assert mentions("static const char *snapshot_seeded_bug;") and mentions("if (!seeded(Bug::NoLibc))")
    assert mentions("// xoshiro256**, seeded through splitmix64\n") == []
    assert is_product("snapshot-lib/runtime/core/commit.c") and not is_product("snapshot-lib/tests/rigs/no_bug.c")


@pytest.mark.parametrize("part", PARTS)
def test_each_patch_applies_to_the_present_sources(part: str, tmp_path: Path) -> None:
    done = run(SCRIPT, "copy", part, tmp_path / "copy")
    assert (done.returncode, done.stderr) == (0, "")
    copied = [path.read_text() for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert sum(len(mentions(text)) for text in copied) > 5


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A tree with one part, its patch and the script."""
    for folder in ("tests", "part/core", "part/tests"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy2(SCRIPT, tmp_path / "tests")
    lines = [f"    line({i});" for i in range(20)]
    (tmp_path / "part/core/a.c").write_text("\n".join(lines) + "\n")
    (tmp_path / "part/core/b.c").write_text("same\n")
    lines[10] = "    if (!SEEDED_BUG(NO_TEN))\n        line(10);"
    edited = tmp_path / "edited"
    edited.write_text("\n".join(lines) + "\n")
    names = ["--label", "a/part/core/a.c", "--label", "b/part/core/a.c"]
    command: list[str | Path] = ["diff", "-u", *names, tmp_path / "part/core/a.c", edited]
    patch = subprocess.run(command, capture_output=True, text=True).stdout
    (tmp_path / "part" / PATCH).write_text(f"A part.\nFolders: part/core\n{patch}")
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))


def test_a_copy_keeps_the_time_of_files_without_a_change(small: Path) -> None:
    script, copy = small / "tests/seeded_bugs.sh", small / "copy/part/core"
    assert run(script, "copy", "part", small / "copy").returncode == 0
    before = {name: (copy / name).stat().st_mtime_ns for name in ("a.c", "b.c")}
    change(small / "part/core/a.c", "line(0)", "line(100)")
    (small / "part/core/c.c").write_text("new\n")
    assert run(script, "copy", "part", small / "copy").returncode == 0
    assert (copy / "a.c").stat().st_mtime_ns > before["a.c"] and (copy / "b.c").stat().st_mtime_ns == before["b.c"]
    assert (copy / "c.c").exists() and "line(100)" in (copy / "a.c").read_text()
    (small / "part/core/c.c").unlink()
    assert run(script, "copy", "part", small / "copy").returncode == 0
    assert not (copy / "c.c").exists()


def test_a_failed_hunk_names_the_patch_the_file_and_the_way_to_mend_it(small: Path) -> None:
    """`refresh` mends a changed line of context."""
    script = small / "tests/seeded_bugs.sh"
    change(small / "part/core/a.c", "line(8)", "line(88)")
    done = run(script, "copy", "part", small / "copy")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"tests/seeded_bugs.sh: part/{PATCH} does not apply to part/core/a.c; run tests/seeded_bugs.sh refresh part\n"
    )
    assert run(script, "refresh", "part").returncode == 0
    assert run(script, "copy", "part", small / "copy").returncode == 0
    assert "SEEDED_BUG(NO_TEN)" in (small / "copy/part/core/a.c").read_text()
    assert (small / "part" / PATCH).read_text().startswith("A part.\nFolders: part/core\n--- a/part/core/a.c\n+++ b/")
    assert not (small / "build/seeded-bugs/part").exists()


def test_a_hunk_without_its_line_is_inserted_by_hand(small: Path) -> None:
    script, edited = small / "tests/seeded_bugs.sh", small / "build/seeded-bugs/part/with/part/core/a.c"
    change(small / "part/core/a.c", "line(10)", "ten()")
    done = run(script, "refresh", "part")
    assert done.returncode == 1 and "part/core/a.c" in done.stderr and "save part" in done.stderr
    assert edited.with_suffix(".c.rej").exists()
    change(edited, "    ten();", "    if (!SEEDED_BUG(NO_TEN))\n        ten();")
    assert run(script, "save", "part").returncode == 0
    assert run(script, "copy", "part", small / "copy").returncode == 0
    assert "SEEDED_BUG(NO_TEN))\n        ten();" in (small / "copy/part/core/a.c").read_text()


def test_an_unknown_part_is_a_bad_argument(small: Path) -> None:
    done = run(small / "tests/seeded_bugs.sh", "refresh", "other")
    assert (done.returncode, done.stderr) == (2, "tests/seeded_bugs.sh: there is no other/tests/seeded-bugs.patch\n")
