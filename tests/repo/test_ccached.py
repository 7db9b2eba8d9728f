# SPDX-License-Identifier: BSD-3-Clause
"""Native builds take objects of another clone from the cache, but only if they would compile the same object."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.paths import REPO

LAUNCHER = "tests/ccached.sh"

# A mock compiler that logs each object it makes: the source, followed by the pass plug-in.
CLANG = r"""#!/bin/bash
for word; do
    case $word in
    -E) preprocesses=yes ;;
    -fpass-plugin=*) plugin=${word#*=} ;;
    *.c) source=$word ;;
    esac
    [[ ${before-} != -o ]] || output=$word
    before=$word
done
if [[ ${preprocesses-} == yes ]]; then
    (echo "# 1 \"$source\"" && cat "$source") >"${output:-/dev/stdout}"
    exit
fi
echo compiled >>"$COMPILED"
cat "$source" "$plugin" >"$output"
"""


@pytest.fixture
def clones(tmp_path: Path) -> list[Path]:
    """Two clones with the same source and plug-in, beside one compiler."""
    (tmp_path / "clang").write_text(CLANG)
    (tmp_path / "clang").chmod(0o755)
    made = [tmp_path / name for name in ("one", "other")]
    for clone in made:
        for folder in ("tests", "build"):
            (clone / folder).mkdir(parents=True)
        shutil.copy(REPO / LAUNCHER, clone / LAUNCHER)
        (clone / "a.c").write_text("int a;\n")
        (clone / "build/pass.so").write_text("pass\n")
    return made


def compile_in(clone: Path, path: str | None = None) -> str:
    """Compile in a clone; return the object's content."""
    home = clone.parent
    words = ["-g", f"-fpass-plugin={clone}/build/pass.so", "-o", "a.o", "-c", str(clone / "a.c")]
    environment = os.environ | {"TESTBED_CACHE": str(home / "cache"), "COMPILED": str(home / "compiled")}
    environment |= {"PATH": path} if path else {}
    subprocess.run([clone / LAUNCHER, home / "clang", *words], cwd=clone / "build", env=environment, check=True)
    return (clone / "build/a.o").read_text()


def compiled(clones: list[Path]) -> int:
    """How often the compiler has made an object."""
    return (clones[0].parent / "compiled").read_text().count("compiled")


def test_a_clone_takes_what_another_has_compiled(clones: list[Path]) -> None:
    assert [compile_in(clone) for clone in clones] == ["int a;\npass\n"] * 2
    assert compiled(clones) == 1


@pytest.mark.parametrize("input_name", ["a.c", "build/pass.so"])
def test_what_decides_an_object_is_looked_at(clones: list[Path], input_name: str) -> None:
    """The pass counts, too, although ccache itself sees only its name."""
    before = compile_in(clones[0])
    (clones[1] / input_name).write_text("other\n")
    assert compile_in(clones[1]) == before.replace({"a.c": "int a;", "build/pass.so": "pass"}[input_name], "other")
    assert compiled(clones) == 2


def test_without_ccache_the_compiler_runs_itself(clones: list[Path], tmp_path: Path) -> None:
    """The path has only the programs that the script and the mock compiler need."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "cat", "dirname", "env"):
        (programs / name).symlink_to(str(shutil.which(name)))
    assert [compile_in(clones[0], str(programs)) for _ in range(2)] == ["int a;\npass\n"] * 2
    assert compiled(clones) == 2
