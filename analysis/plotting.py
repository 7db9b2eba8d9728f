# SPDX-License-Identifier: BSD-3-Clause
"""What all figures share: one style, and files whose bytes depend on the data only."""

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

matplotlib.use("Agg")

# Names instead of random identifiers in SVG; fonts as outlines in no file, so that text stays text.
STYLE: Any = {
    "svg.hashsalt": "cxl-ssd-testbed",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}

# No dates and no versions in the files.
METADATA = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}


def save(figure: Figure, stem: Path) -> list[Path]:
    """The figure as PDF, SVG and PNG beside each other."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for kind, metadata in METADATA.items():
        path = stem.with_suffix(f".{kind}")
        figure.savefig(path, format=kind, dpi=160, metadata=metadata)
        written.append(path)
    return written
