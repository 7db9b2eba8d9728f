# SPDX-License-Identifier: BSD-3-Clause
"""The report: its content, its bytes, which follow from figures and results only, and the errors for bad input."""

import base64
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from analysis.data.drawn import Comparison
from analysis.report import build, libraries, machines, page, pdf
from analysis.report import index as indices
from rigs import report_sample
from testbed import canonical
from testbed.errors import TestbedError
from testbed.manifest import bases, render
from testbed.results import results

A4_POINTS, MARGIN_POINTS = 595.28, 45.35
COLOUR_BAR_PX = 16  # Matplotlib draws the continuous colours of a bar as pixels


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


def test_a_damaged_plot_is_named(tmp_path: Path, sample: dict[str, Any]) -> None:
    path = tmp_path / "figures" / sample["figures"][0]["plot"]
    path.write_text('{"data": [')
    assert f"figure {path} is damaged" in refusal(tmp_path)


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


class Reader(HTMLParser):
    """The page as a browser reads it: the start tags, the text of each script, and that of all style sheets."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.style = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {key: value or "" for key, value in attrs}))
        if tag == "script":
            self.scripts.append((self.tags[-1][1], ""))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            attributes, text = self.scripts.pop()
            self.scripts.append((attributes, text + data))
        elif self.cdata_elem == "style":
            self.style += data

    def values(self, *keys: str) -> list[str]:
        return [attributes[key] for _, attributes in self.tags for key in keys if key in attributes]


@pytest.fixture(scope="module")
def reader(report: Report) -> Reader:
    return Reader(report.html)


def test_ids_are_unique_and_every_reference_has_a_target(reader: Reader) -> None:
    ids = Counter(reader.values("id"))
    assert [name for name, count in ids.items() if count > 1] == []
    wanted = {unquote(address[1:]) for address in reader.values("href")}
    wanted |= {name for names in reader.values("aria-labelledby") for name in names.split()}
    assert len(wanted) > 20
    assert wanted - set(ids) == set()


def test_the_page_refers_to_nothing_outside(reader: Reader) -> None:
    addresses = reader.values("href", "src", "action")
    assert {a.partition(":")[0] for a in addresses if not a.startswith("#")} == {"data"}
    assert {a.partition(":")[0] for a in re.findall(r"url\(([^)]*)\)", reader.style)} == {"data"}
    assert "@import" not in reader.style


def test_only_the_scripts_of_the_page_may_run(reader: Reader) -> None:
    """The policy names the hash of each script, and permits no connection."""
    (policy,) = [attributes["content"] for _, attributes in reader.tags if "http-equiv" in attributes]
    scripts = [text for attributes, text in reader.scripts if attributes.get("type", "module") == "module"]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    assert len(hashes) == 2
    permitted = " ".join(f"'sha256-{known}'" for known in hashes)
    assert f"script-src {permitted};" in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy


def test_a_script_of_a_library_cannot_end_early() -> None:
    scripts = libraries.load("const text = '</script><!-- <script>';")
    for text in (scripts.plots, scripts.page):
        assert not re.search("</?script|<!--", text, re.IGNORECASE)
    assert r"'\x3c/script>\x3c!-- \x3cscript>'" in scripts.page


def test_every_figure_has_a_name_and_a_description(report: Report, reader: Reader) -> None:
    pictures = [attributes["alt"] for tag, attributes in reader.tags if tag == "img"]
    assert pictures == [f"{figure['title']}. {figure['caption']}" for figure in in_order(report.index["figures"])]
    assert report_sample.NOTE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in report.html


def in_order(figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The scorecard comes first on the page."""
    return sorted(figures, key=lambda figure: bool(figure["name"] != "scorecard"))


EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'"


def test_text_of_manifests_results_and_files_stays_text(report: Report) -> None:
    """A name with markup enters every place in which the page has text, and adds no element and no script."""
    index = indices.load(report.figures)
    loaded = indices.load_results(index, report.results)
    harmless = Reader(report.html)
    named = {run: replaced(run, manifest=EVIL, label=EVIL) for run in loaded}
    figures = [
        replaced(f, title=EVIL, caption=EVIL, notes=[EVIL] * len(f.notes), results=[named[r] for r in f.results])
        for f in index.figures
    ]
    html = page.render(
        replaced(index, figures=figures),
        {named[run]: replace(result, data=result.data | {"outcome": EVIL}) for run, result in loaded.items()},
        report.figures,
    )
    evil = Reader(html)
    assert EVIL not in html
    assert {tag for tag, _ in evil.tags} <= {tag for tag, _ in harmless.tags}
    kinds = Counter(attributes.get("type", "") for attributes, _ in evil.scripts)
    assert kinds["module"] == kinds[""] == 1
    assert [a for _, attributes in evil.tags for a in attributes if a.startswith("on")] == []
    assert len([tag for tag, _ in evil.tags if tag == "img"]) == len(figures)


def replaced(model: Any, **changes: Any) -> Any:
    return model.model_copy(update=changes)


def data_of(reader: Reader, identity: str) -> Any:
    (text,) = [text for attributes, text in reader.scripts if attributes.get("id") == identity]
    return json.loads(text)


def test_every_run_has_its_configuration_counters_and_times(report: Report, reader: Reader) -> None:
    details = data_of(reader, "details")
    sources = {(run["manifest"], run["digest"][:16]) for f in report.index["figures"] for run in f["results"]}
    assert set(details["runs"]) == {f"run-{manifest}-{digest}" for manifest, digest in sources}
    lists = [of for of in details["runs"].values() if of["manifest"] == "list"]
    run = next(of for of in lists if dict(of["configuration"])["device"] == "snapshot-paper-mss")
    counted = dict(zip(details["counters"], run["counters"], strict=True))
    assert (counted["time-ps"], counted["cache-hits"]) == (4 * 10**9, 2 * 123_456)
    stated = dict(run["configuration"])
    assert (stated["device"], stated["scale"], stated["seed"]) == ("snapshot-paper-mss", "1/64", "0")
    assert [sum(cpu) for cpu in run["cpus"]] == [4 * 10**9, 3 * 10**9]  # all of each CPU's time
    assert run["cpus"][1][[name for name, _ in details["places"]].index("idle")] == 10**9


def test_a_run_without_times_of_cpus_has_no_map(reader: Reader) -> None:
    details = data_of(reader, "details")
    assert [of["cpus"] for of in details["runs"].values() if of["manifest"] == "persist"] == [[]]


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
    run = render.runs(bases.find("kyoto"))[0]
    outcome = {"outcome": "ok", "rows": [], "rois": []}
    found = machines.Machines([results.store(tmp_path / "r.json", run, report_sample.KEYS, outcome)])
    changes = next(iter(found.machines.values())).changes
    assert "device cache_size = 512 KiB (profile: 2 MiB)" in changes
    assert "cpu llc_ways = 16 (profile: 11)" in changes
    assert "flash_read" not in changes


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
    images = tool("pdfimages", "-list", report.out / "report.pdf").splitlines()[2:]  # without the head of the table
    widths_px = {int(image.split()[3]) for image in images}
    assert widths_px <= {COLOUR_BAR_PX}
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
