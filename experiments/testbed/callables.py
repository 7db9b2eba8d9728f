# SPDX-License-Identifier: BSD-3-Clause
"""Packages that are functions as well: `testbed.run` is the package of the runner and a function of the interface."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

INTERFACE = "testbed.interface"


class CallablePackage(ModuleType):
    """A package that calls the function of its own name in the interface, which is imported at the first call."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return getattr(import_module(INTERFACE), self.__name__.rpartition(".")[2])(*arguments, **options)


def make_callable(package: str) -> None:
    """Let the package of this dotted name be called. The package calls this function in its __init__.py."""
    sys.modules[package].__class__ = CallablePackage
