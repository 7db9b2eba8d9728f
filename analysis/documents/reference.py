# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the pages of reference that the site makes from the code.

site.py puts a part in place of `<!-- generated: NAME -->`: `options` has every command of `testbed` with its options,
from Typer's declarations; `counters` the counters of the model, from the lists in qemu-patches/model/base/counters.h;
`writers` the functions of libc with a wrapper, from snapshot-lib/include/snapshot/abi.def; `findings` what each crash
test found, from experiments/crash/findings.csv. No page has a copy of them
that could become stale.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import typer

from testbed.cli.main import app
from testbed.crash import findings as crash_findings
from testbed.crash import shipped
from testbed.paths import REPO

from ..data import markdown
from ..data.drawn import Cell

HEADER = REPO / "qemu-patches" / "model" / "base" / "counters.h"
WRAPPERS = REPO / "snapshot-lib" / "include" / "snapshot" / "abi.def"
LISTS = {
    "MEM_CPU_COUNTERS": "The CPU and local memory",
    "MEM_DEVICE_COUNTERS": "A device",
    "MEM_STALL_COUNTERS": "Stalls, in picoseconds",
    "MEM_COHERENCE_COUNTERS": "Several cores",
    "MEM_ERROR_COUNTERS": "Flash read errors",
}
HELP_CHARACTERS_MAX = 240  # of a cell; the rest is in --help


def commands(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the full name of each command below a group, and the command."""
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")
        elif not command.hidden:
            yield f"{name} {word}", command


def cell(said: str) -> str:
    """Return help text as the cell of a table, cut at a word if it is long."""
    flat = " ".join(said.split()).replace("|", "\\|").replace("<", "&lt;")
    return flat if len(flat) <= HELP_CHARACTERS_MAX else flat[:HELP_CHARACTERS_MAX].rpartition(" ")[0] + " …"


def kind(parameter: Any) -> str:
    """Return the kind of a value, such as `int`; of several values the kind of one."""
    found = re.findall(r"\b(int|float|str|Path|bool)\b", str(parameter.type_descriptor))
    return {"Path": "PATH", "str": "TEXT"}.get(found[-1], found[-1].upper()) if found else "TEXT"


def rows(command: Any) -> list[list[str]]:
    """List the options and arguments of a command, each with the kind of its value and its help."""
    found = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        option = parameter.param_type_name == "option"
        written = ", ".join(parameter.opts) if option else parameter.name
        value = "" if option and parameter.is_flag else (parameter.metavar or kind(parameter)).replace("|", "\\|")
        found.append([f"`{written}`", f"`{value}`" if value else "", cell(parameter.help or "")])
    return found


def about(command: Any) -> str:
    """Return the first paragraph of a command's help."""
    return " ".join((command.help or "").strip().split("\n\n")[0].split()).replace("<", "&lt;")


def options() -> str:
    parts = []
    for name, command in commands(typer.main.get_command(app), "testbed"):
        table = markdown.table(("option", "value", "meaning"), rows(command)) if command.params else "No options."
        parts.append(f"\n## {name}\n\n{about(command)}\n\n{table}\n")
    return "".join(parts)


def counters() -> str:
    parts = []
    text = HEADER.read_text()
    for name, body in re.findall(r"#define (MEM_\w+_COUNTERS)\(X\)((?:[^\n]*\\\n)*[^\n]*)\n", text):
        found = re.findall(r'X\((\w+),\s*((?:"[^"]*"[\s\\]*)+)\)', body)
        lines = [[f"`{field}`", "".join(re.findall(r'"([^"]*)"', words))] for field, words in found]
        if lines:
            parts.append(f"\n## {LISTS[name]}\n\n{markdown.table(('counter', 'counts'), lines)}\n")
    return "".join(parts)


def writers() -> str:
    """List the functions with a wrapper by the file of their wrappers, without fortified forms and old versions."""
    parts = []
    for name, body in re.findall(
        r"^// runtime/libc/libc_(\w+)\.c\n((?:SNAPSHOT_ABI_LIBC\(\w+\)\n)+)", WRAPPERS.read_text(), re.M
    ):
        functions = re.findall(r"\((\w+)\)", body)
        shown = [word for word in functions if not re.search(r"^__(isoc99|isoc23|xpg)_|_chk$", word)]
        parts.append(f"**{name.capitalize()}:** {', '.join(f'`{word}`' for word in shown)}\n")
    return "\n".join(parts)


def findings() -> str:
    """List the crash tests that ship by subject, each with its counts and the builds that these are of."""
    found = crash_findings.load()
    head = ("test", "summary", "points (in part)", "states", "violations", "builds")
    parts = []
    for subject, tests in shipped.summaries().items():
        names = [name for test in tests for name in (test, test + crash_findings.EVERY) if name in found]
        lines = [_finding(name, tests[name.removesuffix(crash_findings.EVERY)], found[name]) for name in names]
        parts.append(f"\n## {subject}\n\n{markdown.table(head, lines)}\n")
    return "".join(parts)


def _finding(name: str, summary: str, found: crash_findings.Finding) -> list[Cell]:
    points = f"{found.points} ({found.points_in_part})" if found.points_in_part else str(found.points)
    return [f"`{name}`", cell(summary), points, found.states, found.violations, f"`{found.qemu}`, `{found.image}`"]


PARTS: dict[str, Callable[[], str]] = {
    "options": options,
    "counters": counters,
    "writers": writers,
    "findings": findings,
}
