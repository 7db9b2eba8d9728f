# SPDX-License-Identifier: BSD-3-Clause
"""The runner: manifest -> guests -> results.

From Python, `import testbed` offers the functions `testbed.run`, `testbed.results`, `testbed.exec` and `testbed.crash`,
which `testbed.interface` documents. The import itself is cheap: a function is loaded at its first use.

Each package imports only packages that follow it in this order: interface, cli, studies, run, replay, results, guest,
manifest, program, build; the modules in this folder come last. Reading order: cli/main.py, run/runner.py,
guest/executor.py.
"""

from importlib import import_module
from typing import Any

FUNCTIONS = ("crash", "exec", "results", "run")


def __getattr__(name: str) -> Any:
    """The functions of the interface; three of them are packages that can be called."""
    if name == "exec":
        return import_module(".interface", __name__).exec
    if name in FUNCTIONS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'testbed' has no attribute '{name}'; its functions are {', '.join(FUNCTIONS)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *FUNCTIONS])
