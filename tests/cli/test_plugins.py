# SPDX-License-Identifier: BSD-3-Clause
"""Commands and views that another package registers: all load, and the error for a missing one names the remedy."""

import re
import subprocess
import sys
import tomllib

import pytest
from typer.testing import CliRunner

from testbed import plugins
from testbed.cli import main
from testbed.errors import TestbedError
from testbed.paths import REPO

COMMANDS = (
    *("run", "sweep", "replay", "latency", "calibrate", "exec", "crash", "shell", "top", "build", "cache", "doctor"),
    *("figures", "report", "verify", "bench", "demo", "man", "results", "diff", "explain", "overhead", "certificates"),
    *("status", "scheduler", "worker", "module", "image", "kernel"),
)
# An environment that was installed before the testbed had plug-ins.
STALE = """
import importlib.metadata
everything = importlib.metadata.entry_points
def entry_points(**said):
    return () if said.get("group", "").startswith("testbed.") else everything(**said)
importlib.metadata.entry_points = entry_points
from testbed.cli import main
def open_session(**_): raise AssertionError("it builds")
main.open_session = open_session
main.main()
"""


def stale(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", STALE, *arguments], capture_output=True, text=True)


def stated(group: str) -> dict[str, str]:
    entries: dict[str, dict[str, str]] = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["entry-points"]
    return entries[group]


def test_help_lists_every_command_in_order() -> None:
    done = CliRunner().invoke(main.app, ["--help"], env={"COLUMNS": "200"})
    listed = re.findall(r"^│ ([a-z]+)  ", done.output.partition("Commands")[2], re.MULTILINE)
    assert tuple(listed) == COMMANDS
    assert "beside the published values" in done.output


def test_what_is_stated_is_installed() -> None:
    for group in (plugins.COMMANDS, plugins.VIEWS):
        installed = {name: point.value for name, point in plugins._installed(group).items()}
        assert installed == stated(group), plugins.REMEDY


def test_every_view_that_is_stated_loads() -> None:
    for name in stated(plugins.VIEWS):
        assert callable(plugins._find(plugins.VIEWS, name, name).load())


@pytest.mark.parametrize("arguments", [["figures", "kv-ycsb", "--scale", "quick"], ["calibrate"], ["demo"]])
def test_a_command_that_is_not_installed_names_the_remedy(arguments: list[str]) -> None:
    done = stale(*arguments)
    sentence = f"testbed: the command '{arguments[0]}' is not installed: {plugins.REMEDY}\n"
    assert (done.returncode, done.stderr, done.stdout) == (2, sentence, "")


def test_a_view_that_is_not_installed_is_asked_for_before_anything_runs() -> None:
    done = stale("run", "latency")
    sentence = f"testbed: the view 'results' is not installed: {plugins.REMEDY}\n"
    assert (done.returncode, done.stderr, done.stdout) == (2, sentence, "")


def test_without_plugins_the_other_commands_work() -> None:
    done = stale("--help")
    assert (done.returncode, "ansible/bootstrap.sh" in done.stdout, "figures" in done.stdout) == (0, True, True)


def test_a_view_loads_nothing_before_it_is_called() -> None:
    """Libraries for drawing load slowly, and `testbed run` must report its errors first."""
    program = "import sys; from testbed.cli import main, tables; from testbed import plugins; plugins.view('results')"
    done = subprocess.run([sys.executable, "-c", f"{program}; print('matplotlib' in sys.modules)"], capture_output=True)
    assert done.stdout == b"False\n", done.stderr


def test_an_unknown_view_is_one_sentence() -> None:
    with pytest.raises(TestbedError, match=r"the view 'x' is not installed: .*ansible/bootstrap.sh"):
        plugins.view("x")
