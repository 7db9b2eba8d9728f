# SPDX-License-Identifier: BSD-3-Clause
"""Commands and views of results that packages of this environment add to `testbed` by entry points.

pyproject.toml lists the project's own entry points, and the installation keeps a copy of that list. If the copy lacks a
requested name, the environment was installed from an older pyproject.toml.
"""

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer

from .errors import TestbedError

COMMANDS = "testbed.commands"  # functions that become commands of Typer
VIEWS = "testbed.views"  # functions that show the results of `run`, `sweep`, `diff` and `crash`
REMEDY = "the environment is older than pyproject.toml; run ansible/bootstrap.sh"


def add_commands(app: typer.Typer, *names: str) -> None:
    """Add these commands. A command that is not installed reports this when it is called."""
    for name in names:
        try:
            app.command(name)(_find(COMMANDS, name, f"the command '{name}'").load())
        except TestbedError as error:
            _add_missing(app, name, error)


def view(name: str) -> Callable[..., Any]:
    """The view of that name. Its drawing library is loaded when the view is called, not before."""
    found = _find(VIEWS, name, f"the view '{name}'")
    return lambda *arguments: found.load()(*arguments)


def _add_missing(app: typer.Typer, name: str, error: TestbedError) -> None:
    def missing() -> None:
        raise error

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    app.command(name, help=f"Not installed: {REMEDY}.", context_settings=anything)(missing)


def _find(group: str, name: str, what: str) -> EntryPoint:
    found = _installed(group).get(name)
    if found is None:
        raise TestbedError(f"{what} is not installed: {REMEDY}")
    return found


@cache
def _installed(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}
