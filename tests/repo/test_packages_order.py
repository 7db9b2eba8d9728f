# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of the Python code: which package may use which, and no module that nothing uses."""

import ast
from collections.abc import Iterator
from pathlib import Path

import testbed
from testbed.paths import REPO

HOME = Path(testbed.__file__).parent
# From the top; each uses those after it. "" are the modules beside the packages.
ORDER = ("cli", "analysis", "studies", "crash", "run", "replay", "results", "guest", "manifest", "program", "build", "")


def modules() -> dict[str, Path]:
    """Every module of the two packages by its dotted name."""
    found = {f"testbed.{dotted(path, HOME)}": path for path in HOME.rglob("*.py")}
    folder = REPO / "analysis"
    return found | {f"analysis.{dotted(path, folder)}": path for path in folder.rglob("*.py")}


def dotted(path: Path, folder: Path) -> str:
    return ".".join(path.relative_to(folder).with_suffix("").parts)


def imported(name: str, path: Path) -> Iterator[str]:
    """The dotted names that a module imports from the two packages, modules or what is in them."""
    package = name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            begin = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*begin, *((node.module or "").split(".") if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def room(name: str) -> str:
    first, *rest = name.split(".")
    return first if first == "analysis" else rest[0] if len(rest) > 1 else ""


def used(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules that a module uses."""
    whole = {one if one in known else one.rpartition(".")[0] for one in imported(name, path)}
    return {one for one in whole if one in known}


def test_the_order_names_every_package() -> None:
    have = {path.parent.name for path in HOME.glob("*/__init__.py")}
    assert have == set(ORDER) - {"", "analysis"}


def test_a_package_uses_only_those_below_it() -> None:
    known = modules()
    bad = []
    for name, path in known.items():
        at = ORDER.index(room(name))
        above = [one for one in used(name, path, known) if ORDER.index(room(one)) < at]
        bad += [f"{name} uses {one}" for one in above if name != "testbed.__main__"]
    assert bad == []


def test_every_module_is_used() -> None:
    """By another one, or by a user, whom a document tells `python -m` it."""
    known = modules()
    reached = {one for name, path in known.items() for one in used(name, path, known)}
    documents = "".join(path.read_text() for path in (REPO / "docs").glob("*.md"))
    unused = {name for name in known if not name.endswith(("__init__", "__main__"))} - reached
    assert {name for name in unused if f"python -m {name}" not in documents} == set()
