# SPDX-License-Identifier: BSD-3-Clause
"""A kernel module with every mutant in it. The module's parameter `mutant` chooses one when the module is loaded.

The module also checks that locks are held, by wrappers of `checks/` around the calls that need them.
"""

import hashlib
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mutants.build import ROOT, copy
from mutants.rewrite import Rewriter
from mutants.sites import Node, Site, Table
from mutants.subjects import Subject
from testbed.program import kernel_headers

MARK = "mutated_"
PARAMETER = """\
// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/module.h>
int mutant(int number);
static int chosen = -1;
module_param_named(mutant, chosen, int, 0444);
int mutant(int number) { return number == chosen; }
"""
# Options that clang also understands in the kernel's command line for another compiler.
UNDERSTOOD = ("-nostdinc", "-std=gnu11", "-fshort-wchar", "-funsigned-char", "-mcmodel=kernel", "-m64", "-O2")


@dataclass
class BuiltModule:
    sites: list[Site]
    file: Path


def marked(text: str) -> tuple[str, int, int]:
    """The source with renamed functions, for a filter of the syntax tree; offset and length of the inserted text."""
    names = re.findall(r"^(?!#)(?:[\w*]+[ *]+)+(\w+)\([^;{}]*?\)\s*\{", text, re.M)
    at = text.index("#include")
    block = "".join(f"#define {name} {MARK}{name}\n" for name in names)
    return text[:at] + block + text[at:], at, len(block)


def documents(text: str) -> Iterator[Node]:
    """The trees of a filtered dump: one function after the other."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        node, at = decoder.raw_decode(text, at)
        yield node
        at = text.find("{", at)


def unmarked(node: Node, at: int, inserted: int) -> None:
    """Restore names and offsets in a tree, as if `marked` had inserted nothing."""
    stack: list[object] = [node]
    while stack:
        entry = stack.pop()
        if isinstance(entry, dict):
            if isinstance(name := entry.get("name"), str):
                entry["name"] = name.removeprefix(MARK)
            if isinstance(offset := entry.get("offset"), int) and offset >= at + inserted:
                entry["offset"] = offset - inserted
            stack += entry.values()
        elif isinstance(entry, list):
            stack += entry


def command_of(source: Path, folder: Path, root: Path) -> list[str]:
    """The words of the kernel build's command that clang needs, with paths outside of the build's root."""
    line = source.with_name(f".{source.stem}.o.cmd").read_text().splitlines()[0]
    headers = next((root / "usr/src").glob("linux-headers-*-amd64"))
    words, kept = iter(shlex.split(line.partition(" := ")[2])), ["clang-19"]

    def outside(path: str) -> str:
        if path.startswith("/module"):
            return f"{folder}{path.removeprefix('/module')}"
        return f"{root}{path}" if path.startswith("/") else f"{headers}/{path}"

    for word in words:
        if word == "-include":
            kept += [word, outside(next(words))]
        elif word.startswith("-I"):
            kept.append("-I" + outside(word[2:]))
        elif word.startswith("-D") or word in UNDERSTOOD:
            kept.append(word)
    return [*kept, "-w", "-fsyntax-only"]


def read(table: Table, source: Path, folder: Path, root: Path) -> None:
    text, at, inserted = marked(source.read_text())
    parsed = source.with_name(f"parsed_{source.name}")
    parsed.write_text(text)
    command = [*command_of(source, folder, root), "-Xclang", "-ast-dump=json", "-Xclang", f"-ast-dump-filter={MARK}"]
    run = subprocess.run([*command, str(parsed)], capture_output=True, text=True)
    parsed.unlink()
    if run.returncode:
        raise SystemExit(f"mutants: {source}: clang found no syntax tree:\n{run.stderr[-4000:]}")
    for node in documents(run.stdout):
        unmarked(node, at, inserted)
        table.add(node, str(source))


def insert(checks: str, header: Path) -> None:
    """Insert the checks at the end of a header of the module, within its guard."""
    begin, guard, end = header.read_text().rpartition("#endif")
    header.write_text(f"{begin}{checks}{guard}{end}")


def compile_in(folder: Path) -> None:
    compiler = kernel_headers.compiler_for(None)
    done = subprocess.run(compiler.arguments(folder), capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise SystemExit(f"mutants: {folder} cannot be compiled:\n{(done.stdout + done.stderr)[-4000:]}")


def build_module(subject: Subject) -> BuiltModule:
    state = ROOT / "build/mutants" / subject.name
    tree, folder = state / "tree", state / "tree" / subject.part
    state.mkdir(parents=True, exist_ok=True)
    checks = Path(__file__).parent / "checks" / f"{subject.name}.h"
    digest = hashlib.sha256(Path(__file__).read_bytes() + checks.read_bytes() + copy(subject, tree).encode())
    identity = digest.hexdigest()[:16]
    file, known = state / f"{identity}.ko", state / f"{identity}.json"
    if file.exists() and known.exists():
        return BuiltModule([Site(ranges=[], **entry) for entry in json.loads(known.read_text())], file)
    compile_in(folder)
    table, root = Table(subject, tree), kernel_headers.compiler_for(None).root
    assert root, "the guest's kernel has a root in which modules are compiled"
    for source in sorted(map(Path, table.files)):
        read(table, source, folder, root / "root")
    sites = table.sites()
    for path in {site.file for site in sites}:
        (tree / path).write_text(Rewriter((tree / path).read_text(), [s for s in sites if s.file == path]).whole())
    insert(checks.read_text(), folder / subject.checked)
    (folder / "module/mutant.c").write_text(PARAMETER)
    name = subject.part.rpartition("/")[2]
    with (folder / "Kbuild").open("a") as kbuild:
        kbuild.write(f"{name}-y += module/mutant.o\nccflags-y += -Wno-error\n")
    compile_in(folder)
    shutil.copy2(folder / f"{name}.ko", file)
    known.write_text(
        json.dumps([{key: vars(s)[key] for key in ("key", "kind", "file", "line", "number")} for s in sites])
    )
    return BuiltModule(sites, file)
