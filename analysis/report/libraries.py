# SPDX-License-Identifier: BSD-3-Clause
"""The scripts of the page: Plotly draws its figures, DataTables sorts and filters its tables.

Python packages of requirements.lock contain both libraries. The page includes their text, so that it needs no network.
"""

import base64
import hashlib
import re
from dataclasses import dataclass
from importlib import resources

EXPORTS = re.compile(r"\bexport\{(?P<names>[^}]*)\};?")
# Text that would end the script too early within HTML. The escape means the same in strings and regular expressions.
ENDS_SCRIPT = re.compile(r"<(?=/?script|!--)", re.IGNORECASE)


@dataclass(frozen=True)
class Scripts:
    """The text of the page's two scripts, and the style sheet of the tables."""

    plots: str
    page: str
    tables_css: str

    @property
    def sources(self) -> str:
        """The hashes by which the page's policy permits these scripts, and no other."""
        return " ".join(f"'sha256-{_sha256(script)}'" for script in (self.plots, self.page))


def load(page_script: str) -> Scripts:
    """Load both libraries. `page_script` uses DataTables as `tables.default` in the same module."""
    html = resources.files("itables") / "html"
    bundle = (html / "dt_bundle.js").read_text(encoding="utf-8")
    css = (html / "dt_bundle.css").read_text(encoding="utf-8")
    plotly = (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return Scripts(_contained(plotly), _contained(_with_names(bundle) + page_script), css)


def _with_names(module: str) -> str:
    """Replace the module's exports by an object `tables`: a module that is written into a page exports nothing."""

    def members(match: re.Match[str]) -> str:
        pairs = [name.split(" as ") for name in match["names"].split(",")]
        return "const tables = {" + ", ".join(f"{public.strip()}: {own.strip()}" for own, public in pairs) + "};"

    changed, count = EXPORTS.subn(members, module)
    assert count == 1, f"the bundle of DataTables has {count} lists of exports"
    return changed


def _contained(script: str) -> str:
    return "\n" + ENDS_SCRIPT.sub(r"\\x3c", script).strip() + "\n"


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
