# SPDX-License-Identifier: BSD-3-Clause
"""The report: its content, its bytes, which follow from figures and results only, and the errors for bad input."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analysis.data.drawn import Comparison
from analysis.report import build, machines, page, pdf, svg
from analysis.report import index as indices
from rigs import report_sample
from testbed import canonical
from testbed.errors import TestbedError
from testbed.manifest import bases, manifest
from testbed.results import results

A4_POINTS, MARGIN_POINTS = 595.28, 45.35


@dataclass(frozen=True)
class Report:
    """A report that the command made, and the figures and results that it is made from."""

    figures: Path
    results: Path
    out: Path
    index: dict[str, Any]
    said: str

    @property
    def html(self) -> str:
        return (self.out / "report.html").read_text()


def testbed(figures: Path, root: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "testbed", "report", "--figures", str(figures), "--out", str(out), *more]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TESTBED_RESULTS": str(root)})


testbed.__test__ = False  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("report")
    index = report_sample.write(folder / "figures", folder / "results")
    done = testbed(folder / "figures", folder / "results", folder / "out", "--json", str(folder / "summary.json"))
    assert done.returncode == 0, done.stderr
    return Report(folder / "figures", folder / "results", folder / "out", index, done.stdout)


@pytest.fixture
def sample(report: Report, tmp_path: Path) -> dict[str, Any]:
    """A copy of the figures and results that a test may damage."""
    shutil.copytree(report.figures, tmp_path / "figures")
    shutil.copytree(report.results, tmp_path / "results")
    return report.index


def refusal(tmp_path: Path) -> str:
    """The one sentence of the error when no report can be made."""
    with pytest.raises(TestbedError) as refused:
        build.write(tmp_path / "figures", tmp_path / "results", tmp_path / "out")
    assert refused.value.exit_status == 2
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()
    return str(refused.value)


def test_without_figures_it_says_how_to_make_them(tmp_path: Path) -> None:
    done = testbed(tmp_path / "figures", tmp_path / "results", tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "index.json, which `make figures` writes; run make figures first" in done.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"scale": "qu', "index.json is damaged"),
        ("[]", "index.json is damaged"),
        ('{"scale": "quick", "figures": []}', "key 'scorecard' is missing"),
    ],
)
def test_a_damaged_index_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "index.json").write_text(text)
    assert problem in refusal(tmp_path)


def first_result(tmp_path: Path, index: dict[str, Any]) -> Path:
    run = indices.RunName(**index["figures"][0]["results"][0])
    return indices.path_of(tmp_path / "results", run)


def test_a_missing_result_is_named(tmp_path: Path, sample: dict[str, Any]) -> None:
    path = first_result(tmp_path, sample)
    path.unlink()
    assert f"result {path}, from which a figure was drawn, is missing" in refusal(tmp_path)


def test_an_edited_result_is_named(tmp_path: Path, sample: dict[str, Any]) -> None:
    path = first_result(tmp_path, sample)
    path.write_text(path.read_text().replace('"scale": 64', '"scale": 65'))
    assert f"result {path} does not match its checksum" in refusal(tmp_path)


def test_a_result_under_the_name_of_another_is_named(tmp_path: Path, sample: dict[str, Any]) -> None:
    path = first_result(tmp_path, sample)
    other = next(other for other in path.parent.iterdir() if other != path)
    path.write_bytes(other.read_bytes())
    assert f"result {path} is of another run than its name says" in refusal(tmp_path)


def test_a_missing_figure_is_named(tmp_path: Path, sample: dict[str, Any]) -> None:
    path = tmp_path / "figures" / sample["figures"][0]["svg"]
    path.unlink()
    assert f"cannot read figure {path}" in refusal(tmp_path)


def test_the_command_prints_the_files_and_the_score(report: Report) -> None:
    assert "report.html" in report.said
    assert "orderings agree" in report.said
    summary = json.loads((report.out.parent / "summary.json").read_text())
    assert summary["runs"] == sum(len(figure["results"]) for figure in report.index["figures"])
    assert summary["bytes"]["report.html"] == (report.out / "report.html").stat().st_size
    assert summary["scorecard"]["total"] == report.index["scorecard"]["total"]


def test_equal_figures_and_results_give_equal_bytes(report: Report, tmp_path: Path) -> None:
    """The report is also made in another process, from and to other folders: neither paths nor hash order show."""
    report_sample.write(tmp_path / "figures", tmp_path / "results")
    done = testbed(tmp_path / "figures", tmp_path / "results", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for name in ("report.html", "report.pdf"):
        assert (tmp_path / "out" / name).read_bytes() == (report.out / name).read_bytes(), name
        assert str(report.out.parent).encode() not in (report.out / name).read_bytes()


def test_ids_are_unique_and_every_reference_has_a_target(report: Report) -> None:
    ids = Counter(re.findall(r'\bid="([^"]+)"', report.html))
    assert [name for name, count in ids.items() if count > 1] == []
    pattern = r'(?:href="#|url\(#|aria-labelledby=")([^")]+)'
    wanted = {name for names in re.findall(pattern, report.html) for name in names.split()}
    assert len(wanted) > 20
    assert wanted - set(ids) == set()


def test_the_page_refers_to_nothing_outside(report: Report) -> None:
    addresses = re.findall(r'(?:href|src)="([^"]*)"', report.html) + re.findall(r"url\(([^)]*)\)", report.html)
    assert {a.partition(":")[0] for a in addresses if not a.startswith("#")} == {"data"}
    assert "@import" not in report.html


def test_every_figure_has_a_name_and_a_description(report: Report) -> None:
    for figure in report.index["figures"]:
        title = svg_words(report.html, f"figure-{figure['name']}-title")
        assert title == figure["title"].replace("&", "&amp;")
        assert svg_words(report.html, f"figure-{figure['name']}-desc") == figure["caption"]
    assert report_sample.NOTE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in report.html


def svg_words(html: str, identity: str) -> str:
    match = re.search(rf'id="{identity}">([^<]*)<', html)
    assert match
    return match[1]


def test_the_configuration_of_every_run_is_there(report: Report) -> None:
    for figure in report.index["figures"]:
        for run in figure["results"]:
            assert f'class="hash">{run["digest"]}</td>' in report.html
    for key in report_sample.KEYS.values():
        assert key in report.html
    assert "list --engine snapshot --nodes 15625 --passes 100 --file /pmem/list.pool" in report.html
    for words in ("xeon-6230-class", "snapshot-paper-mss", "ext4-journal", "13.87 us", "1/64"):
        assert words in report.html


def test_negative_results_are_in_front(report: Report) -> None:
    """Each number beyond 2x, and each that is not comparable, is in the section on disagreement, with its cause."""
    section = report.html.partition('id="disagreements"')[2].partition("</section>")[0]
    far = [
        c for c in report_sample.comparisons(report.index) if indices.band(c) in (indices.BEYOND, indices.UNCOMPARED)
    ]
    assert {indices.band(c) for c in far} == {indices.BEYOND, indices.UNCOMPARED}
    by_cause = section.partition('id="disorders"')[0]
    assert by_cause.count("</tr>") == len(far) + by_cause.count("</thead>")
    assert report_sample.CAUSE in section


def test_an_order_that_differs_is_shown_both_ways(report: Report) -> None:
    rows = page.disorders(report_sample.comparisons(report.index)).rows
    words = ["list", "list seek", "ms", "snapshot 2, pmdk 4", "pmdk 2.1, snapshot 2.4"]
    assert words in [[cell.text for cell in row] for row in rows]
    card = report.index["scorecard"]
    assert len(rows) == card["orderings_total"] - card["orderings_agree"]
    assert "pmdk 2.1, snapshot 2.4" in report.html


def test_verdicts_add_up_to_the_scorecard(report: Report) -> None:
    bands = Counter(indices.band(c) for c in report_sample.comparisons(report.index))
    card = report.index["scorecard"]
    assert card["within_10"] == bands["within 10 %"]
    assert card["within_25"] == bands["within 10 %"] + bands["within 25 %"]
    assert card["within_2x"] == card["total"] - bands[indices.BEYOND]


@pytest.mark.parametrize(
    ("ours", "comparable", "band"),
    [(1.1, True, "within 10 %"), (1 / 1.2, True, "within 25 %"), (2.0, True, "within 2x"), (0.49, True, "beyond 2x"),
     (1.0, False, "not comparable"), (0.0, True, "not comparable")],
)  # fmt: skip
def test_bands(ours: float, comparable: bool, band: str) -> None:
    assert indices.band(Comparison("f", "g", "w", "s", ours, 1.0, comparable)) == band


@pytest.mark.parametrize(
    ("value", "text", "number"),
    [
        (1234567, "1,234,567", 1234567),
        (0.123456, "0.1235", 0.123456),
        ("1,234 ns", "1,234 ns", 1234),
        ("-13 %", "-13 %", -13),
        ("2.50x", "2.50x", 2.5),
        ("4.13 (0.81)", "4.13 (0.81)", 4.13),
        ("1/64", "1/64", None),
        ("4k pages", "4k pages", None),
        ("", page.NOTHING, None),
        (None, page.NOTHING, None),
        (True, "yes", None),
    ],
)
def test_cells_are_sorted_by_the_number_they_begin_with(value: Any, text: str, number: float | None) -> None:
    assert page.shown(value) == page.Shown(text, number)


def test_what_an_override_changed_is_stated(tmp_path: Path) -> None:
    run = manifest.runs(bases.find("kyoto"))[0]
    outcome = {"outcome": "ok", "rows": [], "rois": []}
    found = machines.Machines([results.store(tmp_path / "r.json", run, report_sample.KEYS, outcome)])
    changes = next(iter(found.machines.values())).changes
    assert "device cache_size = 512 KiB (profile: 2 MiB)" in changes
    assert "cpu llc_ways = 16 (profile: 11)" in changes
    assert "flash_read" not in changes


SVG = """
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" viewBox="0 0 9 9">
<metadata><x/></metadata><defs><style>*{fill:red}</style><clipPath id="c"><path d="M0 0"/></clipPath></defs>
<g id="a"><use xlink:href="#c" clip-path="url(#c)"/><image xlink:href="data:image/png;base64,iVBO"/>
<text style="font: italic 700 9px 'DejaVu Sans', serif; fill: red">q</text></g>
</svg>"""


def test_a_drawing_keeps_to_itself(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text(SVG.strip())
    root = svg.inline(tmp_path / "a.svg", "fig", "Title <1>", "what it shows")
    text = svg.text(root)
    for gone in ("metadata", "<style", "xlink", 'id="a"', "width"):
        assert gone not in text
    for there in (
        'id="fig-c"',
        'href="#fig-c"',
        "url(#fig-c)",
        "Title &lt;1&gt;",
        'aria-labelledby="fig-title fig-desc"',
    ):
        assert there in text
    assert svg.glyphs(root) == {("700", "italic"): {"q"}}
    assert 'font-size="9px"' in text


def tool(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_pdf_is_a4_tagged_and_without_a_date(report: Report) -> None:
    about = tool("pdfinfo", report.out / "report.pdf")
    assert re.search(r"Page size:.*\(A4\)", about)
    assert re.search(r"Tagged: +yes", about)
    assert "CreationDate" not in about
    assert "ModDate" not in about


def test_the_pdf_has_headings_and_page_numbers(report: Report) -> None:
    pages = tool("pdftotext", "-layout", report.out / "report.pdf", "-").split("\f")[:-1]
    assert len(pages) > 3
    for number, text in enumerate(pages, 1):
        assert re.search(rf"\b{number} ?/ ?{len(pages)}$", text.rstrip())
    words = " ".join(pages)
    for heading in ("Scorecard", "Where it disagrees", "Configuration", "Linked list: every engine, on both devices"):
        assert heading in words
    assert "list --engine msync-journal" in " ".join(words.split())  # parts folded on a screen are open on paper


def test_nothing_in_the_pdf_runs_off_the_page(report: Report) -> None:
    words = tool("pdftotext", "-bbox", report.out / "report.pdf", "-")
    edges = [float(edge) for edge in re.findall(r'<word xMin="[^"]*" yMin="[^"]*" xMax="([^"]*)"', words)]
    assert len(edges) > 500
    assert max(edges) < A4_POINTS - MARGIN_POINTS + 1


def test_figures_in_the_pdf_are_vectors_with_embedded_fonts(report: Report) -> None:
    assert len(tool("pdfimages", "-list", report.out / "report.pdf").splitlines()) == 2  # the head of an empty table
    lines = tool("pdffonts", report.out / "report.pdf").splitlines()[2:]
    assert lines
    assert all(line.split()[-5] == "yes" for line in lines)
    assert "times faster than PMDK" in tool("pdftotext", report.out / "report.pdf", "-")


def test_laying_out_the_pdf_opens_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x.png"
        assert pdf.from_html(f'<html lang="en"><title>x</title><img alt="" src="{address}"></html>').startswith(b"%PDF")
        with pytest.raises(TimeoutError):
            server.accept()


def test_the_index_is_canonical(report: Report) -> None:
    text = (report.figures / "index.json").read_text()
    assert canonical.dumps(json.loads(text)) == text
