# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the pages of results that the site makes from stored results: a plot, and its table folded.

site.py puts a part in place of `<!-- result: NAME -->`. NAME is a figure or study that `testbed figures` has drawn, or
one of study_tables.TABLES. No page has a copy of them that could become stale. Without results a part is the command
that makes them.
"""

from pathlib import Path

from testbed.paths import FIGURES, results_root
from testbed.results import results

from ..catalogue import entries
from ..data import state
from .study_tables import TABLES

PLOTS = "figures"  # the folder of plots beside the pages of results


def names() -> list[str]:
    """List all parts that there are."""
    return [*TABLES, *(entry.name for entry in entries.every())]


def part(name: str, figures: Path | None = None, root: Path | None = None) -> str:
    """Make the part in Markdown. Raises KeyError if there is no such part."""
    if name in TABLES:
        return _table(name, root or results_root())
    if name not in names():
        raise KeyError(name)
    return _figure(name, figures or FIGURES)


def plots(figures: Path | None = None) -> dict[str, Path]:
    """Return the plots that have been drawn, by their address from the folder of documents."""
    return {f"results/{PLOTS}/{path.name}": path for path in sorted((figures or FIGURES).glob("*.svg"))}


def _figure(name: str, figures: Path) -> str:
    plot, table = (figures / f"{name}{ending}" for ending in (".svg", ".txt"))
    if not plot.exists() or not table.exists():
        return _missing(f"testbed figures {name}", "this plot and its table")
    said = table.read_text().rstrip()
    last = said.rpartition("\n")[2]
    made = [last] if last.startswith("State: ") else []
    return "\n\n".join([f"![{name}]({PLOTS}/{name}.svg)", *made, _folded(name, f"```text\n{said}\n```")])


def _table(name: str, root: Path) -> str:
    found = results.load_all(root / name)
    if not found:
        return _missing(f"testbed run {name}", "this table")
    return f"{state.text(found)}\n\n{_folded(name, TABLES[name](found))}"


def _folded(name: str, content: str) -> str:
    return f'<details markdown="1">\n<summary>Table: {name}</summary>\n\n{content}\n\n</details>'


def _missing(command: str, makes: str) -> str:
    return f"*Not made here yet: `{command}`, then `make docs`, makes {makes}.*"
