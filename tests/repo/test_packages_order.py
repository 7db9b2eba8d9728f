# SPDX-License-Identifier: BSD-3-Clause
"""The packages of the Python code: the order in which they use each other, and no unused module."""

import ast
import re
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import testbed
from testbed.paths import REPO

HOME = Path(testbed.__file__).parent
# From the top: a package uses only packages after it. "" stands for the modules beside the packages.
ORDER = (
    *("analysis", "interface", "cli", "studies", "crash", "run", "replay", "results", "guest", "manifest", "program"),
    *("build", "file_systems", ""),
)

# The packages of analysis, in the same way. "" is analysis itself.
ANALYSIS_ORDER = (
    *(
        "commands",
        "documents",
        "report",
        "catalogue",
        "calibration",
        "scorecard",
        "figures",
        "studies",
        "charts",
        "data",
    ),
    "",
)
FILES_MAX = 25  # of a package of analysis

# The modules of testbed.manifest, in the same way: the four steps from the last to the first, then their parts.
MANIFEST_ORDER = (
    *("render", "scale", "resolve", "parse"),
    *("closed_forms", "guest_config", "topology", "profiles", "parameters", "model_parameters", "scales", "bases"),
    *("page_sizes", "sections", "templates", "__init__"),
)


def modules() -> dict[str, Path]:
    """Every module of the two packages by its dotted name."""
    found = {f"testbed.{dotted(path, HOME)}": path for path in HOME.rglob("*.py")}
    folder = REPO / "analysis"
    return found | {f"analysis.{dotted(path, folder)}": path for path in folder.rglob("*.py")}


def dotted(path: Path, folder: Path) -> str:
    return ".".join(path.relative_to(folder).with_suffix("").parts)


def imported(name: str, path: Path) -> Iterator[str]:
    """The dotted names that a module imports: modules, or names in them."""
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


def analysis_room(name: str) -> str:
    """The package of a module of analysis; "" for analysis itself."""
    _, *rest = name.split(".")
    return rest[0] if len(rest) > 1 else ""


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


def test_a_step_of_a_manifest_uses_only_earlier_ones() -> None:
    known = {f"testbed.manifest.{path.stem}": path for path in (HOME / "manifest").glob("*.py")}
    order = [f"testbed.manifest.{name}" for name in MANIFEST_ORDER]
    assert set(order) == set(known)
    bad = []
    for at, name in enumerate(order):
        bad += [f"{name} uses {one}" for one in used(name, known[name], known) if order.index(one) <= at]
    assert bad == []


def entry_points() -> dict[str, dict[str, str]]:
    """The entry points that analysis registers, by group."""
    found: dict[str, dict[str, str]] = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["entry-points"]
    return found


def test_testbed_imports_nothing_of_analysis() -> None:
    """Imports in functions count, too, and strings with the name of a module to import or run."""
    bad = []
    for path in HOME.rglob("*.py"):
        names = [name for name in imported("testbed.x", path) if name.partition(".")[0] == "analysis"]
        nodes = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        words = [word for word in nodes if isinstance(word, str) and word.startswith("analysis.")]
        bad += [f"{path.name} uses {name}" for name in (*names, *words)]
    assert bad == []


def test_every_room_of_analysis_has_a_place_and_few_files() -> None:
    folders = [path for path in (REPO / "analysis").rglob("*") if path.is_dir() and path.name != "__pycache__"]
    rooms = {path.name for path in folders if (path / "__init__.py").exists()}
    assert rooms == set(ANALYSIS_ORDER) - {""}
    assert [folder.name for folder in folders if sum(path.is_file() for path in folder.iterdir()) > FILES_MAX] == []
    assert [path.name for path in (REPO / "analysis").glob("*.py")] == ["__init__.py"]


def test_a_room_of_analysis_uses_only_those_below_it() -> None:
    known, bad = modules(), list[str]()
    for name, path in known.items():
        if room(name) == "analysis":
            at = ANALYSIS_ORDER.index(analysis_room(name))
            mine = [one for one in used(name, path, known) if room(one) == "analysis"]
            bad += [f"{name} uses {one}" for one in mine if ANALYSIS_ORDER.index(analysis_room(one)) < at]
    assert bad == []


def test_no_modules_use_each_other_in_a_circle() -> None:
    known = modules()
    ours = {name: path for name, path in known.items() if room(name) == "analysis"}
    TopologicalSorter({name: used(name, path, ours) for name, path in ours.items()}).prepare()


@pytest.mark.parametrize("group", ["testbed.commands", "testbed.views"])
def test_each_entry_point_is_a_function_that_is_there(group: str) -> None:
    for target in entry_points()[group].values():
        module, _, name = target.partition(":")
        tree = ast.parse(modules()[module].read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, target


def test_every_module_is_used() -> None:
    """A module is used by another module, an entry point, or a `python -m` command of a document or the Makefile."""
    known = modules()
    reached = {one for name, path in known.items() for one in used(name, path, known)}
    reached |= {target.partition(":")[0] for group in entry_points().values() for target in group.values()}
    commands = "".join(path.read_text() for path in [*(REPO / "docs").rglob("*.md"), REPO / "Makefile"])
    unused = {name for name in known if not name.endswith(("__init__", "__main__"))} - reached
    assert {name for name in unused if not re.search(rf" -m {re.escape(name)}\b(?!\.)", commands)} == set()
