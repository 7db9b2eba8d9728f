# SPDX-License-Identifier: BSD-3-Clause
"""Every file that is compiled into a component enters the component's key, so a change triggers a new build."""

import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from testbed.build import components
from testbed.build.components import COMPONENTS
from testbed.paths import REPO

PLUGIN = re.compile(r"-Xclang -load -Xclang \S+|-mllvm \S+|-fpass-plugin=\S+")  # plug-ins, not built here
MODEL = REPO / "qemu-patches/model"


def hashed(component: str) -> set[Path]:
    """The files that enter the component's key."""
    names = components.inputs_of(components.component(component))
    return {file for name in names for file in components.files(REPO / name)}


def read_by_compiler(*sources: Path) -> set[Path]:
    """The sources of the model, or of a program around it, and every header of this repository that they include."""
    command = ["cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-MM", f"-I{MODEL}", *map(str, sources)]
    rules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.replace("\\\n", " ")
    return {Path(word).resolve() for word in rules.split() if not word.endswith(":")}


def model_sources() -> list[Path]:
    return [MODEL / name for name in (MODEL / "sources.list").read_text().split()]


@pytest.mark.parametrize(("component", "more"), [("qemu", []), ("replay", sorted((MODEL / "replay").glob("*.c")))])
def test_every_file_of_the_model_is_in_the_keys_of_what_it_is_compiled_into(component: str, more: list[Path]) -> None:
    compiled = read_by_compiler(*model_sources(), *more)
    assert {MODEL / "device/policies/lru.c", MODEL / "device/policies/policy.h"} < compiled
    assert sorted(compiled - hashed(component)) == []


def test_everything_of_qemus_overlay_and_patches_is_in_its_key() -> None:
    """A build copies the whole overlay and all patches."""
    there = {path for part in ("overlay", "patches") for path in (REPO / "qemu-patches" / part).rglob("*")}
    assert sorted({path for path in there if path.is_file()} - hashed("qemu")) == []


def test_a_replayer_is_compiled_from_what_is_in_its_key(tmp_path: Path) -> None:
    """The build compiles a copy of the hashed files, so the compiler finds no other file."""
    out, work = tmp_path / "out", tmp_path / "work"
    for folder in (out, work):
        folder.mkdir()
    subprocess.run(COMPONENTS["replay"].command("build", str(out), str(work)), cwd=REPO, check=True)
    copied = {MODEL / path.relative_to(work) for path in work.rglob("*") if path.is_file()}
    assert copied <= hashed("replay")
    assert read_by_compiler(*model_sources()) <= copied


def dependencies(entry: dict[str, str]) -> set[Path]:
    """The files that the compiler reads for one entry of a compilation database, without system headers."""
    words = shlex.split(PLUGIN.sub("", entry["command"]))
    command = [*words[: words.index("-o")], "-MM", entry["file"]]
    rule = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, check=True).stdout
    return {Path(entry["directory"], word).resolve() for word in rule.replace("\\\n", " ").split()[1:]}


@pytest.mark.parametrize(
    ("project", "component"),
    [
        ("snapshot-lib", "kyoto"),
        ("guest-image/tools", "tools"),
        ("experiments/workloads/cores", "cores"),
        ("experiments/workloads/filework", "filework"),
    ],
)
def test_every_file_that_is_compiled_for_the_guest_is_in_its_key(project: str, component: str, tmp_path: Path) -> None:
    """The files come from the compilation database of a build as compile.sh configures it."""
    left_out = [f"-D{part}=OFF" for part in ("WORKLOAD_TESTS", "SNAPSHOT_TESTS", "SNAPSHOT_MANUALS")]
    options = [*left_out, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    compilers = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19", "--no-warn-unused-cli"]
    build, seeded = tmp_path / "build", tmp_path / "seeded-bugs"
    if (REPO / project / "tests/seeded-bugs.patch").exists():
        subprocess.run([REPO / "tests/seeded_bugs.sh", "copy", project, seeded], check=True)
        options.append(f"-DSEEDED_SOURCES={seeded}")
    command: list[str | Path] = ["cmake", "-G", "Ninja", "-S", REPO / project, "-B", build, *options, *compilers]
    subprocess.run(command, check=True, capture_output=True)
    entries = json.loads((build / "compile_commands.json").read_text())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        read = set().union(*pool.map(dependencies, entries))
    ours = {path for path in read if path.is_relative_to(REPO)}
    assert len(ours) > 10
    assert sorted(ours - hashed(component)) == []


def test_no_workload_is_a_part_of_the_image() -> None:
    """The content of the image decides the layout of memory, and so every result."""
    image = hashed("tools") | hashed("base") | hashed("buildroot")
    folders = (REPO / "experiments/engines", REPO / "experiments/workloads", REPO / "snapshot-lib")
    assert sorted(path for path in image if any(map(path.is_relative_to, folders))) == []


def test_a_changed_policy_gives_another_replayer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same holds for every hashed file. The test edits a copy of the tree, not the tree itself."""
    before = components.hash_inputs(COMPONENTS["replay"])
    (tmp_path / "qemu-patches").mkdir()
    subprocess.run(["cp", "-r", MODEL, tmp_path / "qemu-patches"], check=True)
    monkeypatch.setattr(components, "REPO", tmp_path)
    assert components.hash_inputs(COMPONENTS["replay"]) == before
    policy = tmp_path / "qemu-patches/model/device/policies/lru.c"
    policy.write_text(policy.read_text() + "/* edited */\n")
    assert components.hash_inputs(COMPONENTS["replay"]) != before
