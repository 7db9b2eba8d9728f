# SPDX-License-Identifier: BSD-3-Clause
"""`testbed report`: build the page and the PDF from the index of figures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import outputs

from . import index as index_module
from . import page, pdf


@dataclass(frozen=True)
class Written:
    """The files of a report, its index of figures, and the number of runs behind the figures."""

    files: list[Path]
    index: index_module.Index
    runs: int

    def as_data(self) -> dict[str, Any]:
        score = {k: v for k, v in vars(self.index.scorecard).items() if k not in ("columns", "rows")}
        files = {path.name: path.stat().st_size for path in self.files}
        counts = {"figures": len(self.index.figures), "runs": self.runs, "comparisons": len(self.index.comparisons)}
        return {"scale": self.index.scale, "bytes": files, "scorecard": score, **counts}


def write(figures: Path, results: Path, out: Path) -> Written:
    """Write report.html and report.pdf into `out` from the figures in `figures` and the results under `results`."""
    index = index_module.load(figures)
    loaded = index_module.load_results(index, results)
    html = page.render(index, loaded, figures)
    paper = pdf.from_html(page.render(index, loaded, figures, paper=True))
    paths = [out / "report.html", out / "report.pdf"]
    outputs.write(paths[0], html)
    outputs.write(paths[1], paper)
    return Written(paths, index, len(loaded))
