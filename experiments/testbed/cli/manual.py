# SPDX-License-Identifier: BSD-3-Clause
"""The manual page of the `testbed` command in mdoc, made from the help texts of the commands."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command


def page(app: typer.Typer, date: str) -> str:
    """The page for `man`; `date` is that of the page, such as "November 29, 2026"."""
    root: Any = get_command(app)
    lines = [
        '.\\" SPDX-License-Identifier: BSD-3-Clause',
        f".Dd {date}",
        ".Dt TESTBED 1",
        ".Os",
        ".Sh NAME",
        ".Nm testbed",
        ".Nd measure software on a model of a CXL memory-semantic SSD",
        ".Sh SYNOPSIS",
        ".Nm testbed",
        ".Op Fl -version",
        ".Ar command",
        ".Op Ar options",
        ".Sh DESCRIPTION",
        *_paragraphs(root.help),
        ".Sh COMMANDS",
        *_commands("", root),
        ".Sh EXIT STATUS",
        ".Bl -tag -width 130",
        ".It 0",
        "Success.",
        ".It 1",
        "A build or a guest failed, a comparison found a difference, or a crash test found a violation.",
        ".It 2",
        "An input is wrong; the message names the input and the fix.",
        ".It 130",
        "The command was interrupted; finished results are kept.",
        ".El",
        "The exit status of",
        ".Ic exec",
        "is that of the program in the guest.",
    ]
    return "\n".join(lines) + "\n"


def _commands(above: str, group: Any) -> Iterator[str]:
    """The sections of all commands of a group and of the groups in it."""
    for name, command in group.commands.items():
        full = f"{above} {name}".strip()
        if getattr(command, "commands", None):
            yield from _commands(full, command)
            continue
        yield f".Ss {_escaped(full)}"
        yield from _paragraphs(command.help)
        shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        if shown:
            yield ".Bl -tag -width Ds"
            for parameter in shown:
                yield from _parameter(parameter)
            yield ".El"


def _parameter(parameter: Any) -> Iterator[str]:
    if parameter.param_type_name == "option":
        names = [f"Fl {_escaped(name[1:])}" for name in sorted(parameter.opts, key=len)]
        takes = "" if parameter.is_flag else f" Ar {_escaped(parameter.metavar or parameter.name.upper())}"
        yield f".It {' , '.join(names)}{takes}"
    else:
        yield f".It Ar {_escaped(parameter.metavar or parameter.name)}"
    text = _escaped(getattr(parameter, "help", None) or "")
    yield f"{text[:1].upper()}{text[1:]}." if text else "No description."


def _paragraphs(text: str | None) -> Iterator[str]:
    """The paragraphs of a help text; a line that is indented, as a command of an example, becomes a literal line."""
    for number, part in enumerate(re.split(r"\n\s*\n", (text or "").strip("\n"))):
        if part.startswith("  "):
            yield from (".Bd -literal -offset indent", _escaped(part.strip()), ".Ed")
            continue
        if number:
            yield ".Pp"
        yield from (_escaped(line.strip()) for line in re.split(r"(?<=[.;:]) +|\n", part) if line.strip())


def _escaped(text: str) -> str:
    """The text without meaning for mdoc: no escapes, no macro at the begin of a line, no markup of Rich."""
    plain = text.replace("\\[", "[").replace("\\", "\\e").replace("\n", " ").replace('"', "\\(dq")
    plain = plain.replace("\N{HORIZONTAL ELLIPSIS}", "...")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
