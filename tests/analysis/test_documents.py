# SPDX-License-Identifier: BSD-3-Clause
"""Results in documents come from the committed numbers, and these numbers from results of the committed digests."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.catalogue import entries as catalogue
from analysis.catalogue import verify
from analysis.data import markdown, state
from analysis.data.drawn import Comparison
from analysis.documents import pages as documents
from analysis.documents import pictures, quick_numbers, ratio_tables, site, study_parts, study_tables
from analysis.documents.quick_numbers import Numbers
from analysis.scorecard import causes
from testbed import canonical
from testbed.errors import TestbedError
from testbed.paths import REPO
from testbed.results.results import Result


def numbers_of(*comparisons: Comparison, then: float | None = None) -> Numbers:
    cause = causes.Cause(figure="*", text="with another clock", run="turbo")
    tests = (
        {}
        if then is None
        else {(c.figure, c.group, c.what): causes.Tested(c, cause, "turbo/A", then) for c in comparisons}
    )
    return Numbers(comparisons, tests)


def kv(workload: str, ours: float, comparable: bool = True) -> Comparison:
    return Comparison("kv-ycsb", f"kv {workload}, snapshot-paper-mss", "pmdk", "s", ours, 10.0, comparable)


# ---- Committed files ----


def test_the_numbers_are_of_the_committed_digests() -> None:
    for path in (quick_numbers.PATH, quick_numbers.CLAIMS_PATH):
        assert quick_numbers.stated_digest(path) == quick_numbers.digest_of_digests(), (
            f"{path} is of other results than {verify.file_of('quick')}: {quick_numbers.REMEDY}"
        )


def test_the_documents_parts_are_of_the_numbers() -> None:
    text = documents.PAGE.read_text()
    assert documents.written(text, quick_numbers.load()) == text, quick_numbers.REMEDY


def test_every_figure_with_published_numbers_has_a_table() -> None:
    marked = Counter(markdown.names(documents.PAGE.read_text(), documents.COMMAND))
    figures = {c.figure for c in quick_numbers.load().comparisons if c.comparable}
    assert marked == Counter(["counts", "claims", *figures])


def test_every_comparable_number_is_in_one_row() -> None:
    numbers = quick_numbers.load()
    for figure in ratio_tables.WORKLOADS:
        rows = ratio_tables.rows(numbers.of(figure))
        members = [c for row in rows for c in row.members]
        assert Counter(members) == Counter(c for c in numbers.of(figure) if c.comparable)
        assert len({(row.engine, row.workloads) for row in rows}) == len(rows)


def test_the_readme_prints_these_numbers() -> None:
    text = (REPO / "README.md").read_text()
    seconds = {(c.group[3], c.what): (c.ours, c.published) for c in quick_numbers.load().of("kv-ycsb")}
    for workload, ours, published, star in pictures.kv_rows():
        assert re.search(
            rf"^{workload} +{ours:.2f} \({published:.2f}\){re.escape(star)} +[\d.]+ ms$", text, re.MULTILINE
        )
        shown = [f"{a:.3g} \\({b:.3g}\\)" for a, b in (seconds[workload, "snapshot"], seconds[workload, "pmdk"])]
        assert re.search(rf"^{workload} +{shown[0]}\*? +{shown[1]}\*?$", text, re.MULTILINE), shown


# ---- Tables ----


def test_a_row_has_the_least_and_the_most_of_its_numbers() -> None:
    (row,) = ratio_tables.rows([kv("A", 8.0), kv("F", 20.0), kv("G", 15.0)])
    assert (row.engine, row.workloads) == ("pmdk, memory-semantic SSD", "A, F, G: updates")
    assert ratio_tables.ratios(row) == "0.80 to 2.00"
    assert [ratio_tables.ratio(value) for value in (0.1, 0.0123, 12.345)] == ["0.10", "0.012", "12.35"]


def test_what_is_not_comparable_is_in_no_row() -> None:
    assert [len(row.members) for row in ratio_tables.rows([kv("A", 8.0), kv("G", 8.0, comparable=False)])] == [1]


@pytest.mark.parametrize(
    ("ours", "then", "said"),
    [
        (20.0, 14.14, "with another clock: 50 %"),
        (20.0, 19.9, "not known"),
        (20.0, 30.0, "not known"),
        (20.0, None, "not known"),
        (10.5, 10.0, "within 10 %"),
    ],
)
def test_a_cause_stands_where_a_test_found_one(ours: float, then: float | None, said: str) -> None:
    numbers = numbers_of(kv("A", ours), then=then)
    assert ratio_tables.known(ratio_tables.rows(numbers.comparisons)[0], numbers) == said


def test_what_holds_of_some_says_of_how_many() -> None:
    far, near = kv("A", 20.0), kv("G", 10.5)
    numbers = numbers_of(far, near, then=14.14)
    row = ratio_tables.rows(numbers.comparisons)[0]
    assert ratio_tables.known(row, numbers) == "with another clock (1 of 2): 50 %; within 10 % (1 of 2)"


def test_a_part_is_made_anew_and_the_rest_stays() -> None:
    page = "a\n\n<!-- by python -m analysis.documents: kv-ycsb -->\n\nold\n\n<!-- to here -->\n\nb\n"
    made = documents.written(page, numbers_of(kv("A", 20.0)))
    assert made.startswith("a\n\n<!--") and made.endswith("\n\n<!-- to here -->\n\nb\n")
    assert "| pmdk, memory-semantic SSD | A, F, G: updates | 2.00 | not known |" in made
    assert "old" not in made


# ---- The file ----


def test_numbers_are_read_as_they_were_written(tmp_path: Path) -> None:
    numbers = numbers_of(kv("A", 20.0), kv("E", 3.0, comparable=False), then=14.14)
    numbers = replace(numbers, claims=[["HDPM", "reads stay, as before", "no", "8 times", "not tested"]])
    path, judged = tmp_path / "quick.csv", tmp_path / "quick-claims.csv"
    path.write_text(quick_numbers.text_of(numbers, "d" * 64))
    judged.write_text(quick_numbers.text_of_claims(numbers, "d" * 64))
    read = quick_numbers.load(path, judged)
    assert read.claims == numbers.claims
    said = documents.part("claims", read)
    assert said.startswith("1 claim") and "| HDPM | reads stay, as before | no | 8 times | not tested |" in said
    assert list(read.comparisons) == list(numbers.comparisons)
    assert [(t.cause.text, t.run, t.then) for t in read.best.values()] == [("with another clock", "turbo/A", 14.14)] * 2
    assert quick_numbers.stated_digest(path) == "d" * 64


@pytest.mark.parametrize("edit", [("ours", "hours"), ("20,10", "many,10"), ("14.14", "")])
def test_a_damaged_file_is_named_with_the_remedy(edit: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "quick.csv"
    path.write_text(quick_numbers.text_of(numbers_of(kv("A", 20.0), then=14.14), "d" * 64).replace(*edit))
    with pytest.raises(TestbedError, match=r"quick.csv is damaged .*make figures"):
        quick_numbers.load(path)


@pytest.mark.parametrize("text", ["", "system,published\nHDPM,reads stay\n"])
def test_damaged_claims_are_named_with_the_remedy(text: str, tmp_path: Path) -> None:
    path = tmp_path / "quick-claims.csv"
    path.write_text(text)
    with pytest.raises(TestbedError, match=r"quick-claims.csv is damaged .*make figures"):
        quick_numbers.load(claims_path=path)


# ---- From results ----


def result_of(path: Path, rows: list[dict[str, Any]]) -> Result:
    data = {"manifest": "kv", "outcome": "ok", "exit_status": 0, "rows": rows, "rois": []}
    return Result(path, data | {"checksum": canonical.digest(data)})


def test_results_that_the_digests_do_not_know_are_refused(tmp_path: Path) -> None:
    result = result_of(tmp_path / "A-pmdk-0123.json", [{"roi_ns": 5}])
    committed = {"kv/A-pmdk": verify.digest(result)}
    quick_numbers.check_digests([result], committed)
    moved = replace(result, data=result.data | {"rows": [{"roi_ns": 6}]})
    for found, known in ((moved, committed), (result, {})):
        with pytest.raises(TestbedError, match=r"differs from the digest in .*quick.sha256 of kv/A-pmdk"):
            quick_numbers.check_digests([found], known)


@pytest.mark.parametrize(
    "index",
    [
        "",
        "{}",
        json.dumps({"scale": "quick", "figures": [{"name": "list"}]}),
        json.dumps({"scale": "full", "figures": [{"name": "scorecard"}, {"name": "claims"}]}),
        json.dumps({"scale": "quick", "figures": [{"name": "scorecard"}]}),
    ],
)
def test_other_figures_than_all_at_quick_scale_are_refused(index: str, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text(index)
    with pytest.raises(TestbedError, match="make figures, then"):
        quick_numbers.gathered(tmp_path)


# ---- Studies ----

RESULT_PAGES = sorted((REPO / "docs/results").glob("*.md"))


def test_each_study_and_each_table_is_on_one_page() -> None:
    """Figures need no plot on a page: their published numbers are on the page `figures`."""
    named = Counter(name for page in RESULT_PAGES for name in site.RESULT.findall(page.read_text()))
    figures = {entry.name for entry in catalogue.FIGURES}
    assert {name for name in named if name not in figures} == {
        *study_tables.TABLES,
        *(e.name for e in catalogue.STUDIES),
    }
    assert set(named) <= set(study_parts.names())
    assert max(named.values()) == 1


def drawn(folder: Path, table: str) -> None:
    (folder / "recovery.svg").write_text("<svg/>")
    (folder / "recovery.txt").write_text(table)


def test_a_part_of_a_study_is_its_plot_its_state_and_its_table_folded(tmp_path: Path) -> None:
    drawn(tmp_path, "Recovery\n1 ms\nState: QEMU 1234abcd; image bbbbbbbb; seed 0; scale 1/64.\n")
    part = study_parts.part("recovery", tmp_path)
    plot, said, *folded = part.split("\n\n")
    assert (plot, said) == (
        "![recovery](figures/recovery.svg)",
        "State: QEMU 1234abcd; image bbbbbbbb; seed 0; scale 1/64.",
    )
    assert folded[0].startswith("<details") and "1 ms" in folded[1] and folded[-1] == "</details>"
    assert study_parts.plots(tmp_path) == {"results/figures/recovery.svg": tmp_path / "recovery.svg"}


def test_a_part_without_results_is_the_command_that_makes_it(tmp_path: Path) -> None:
    assert "`testbed figures recovery`" in study_parts.part("recovery", tmp_path)
    assert "`testbed run lmdb`" in study_parts.part("lmdb", root=tmp_path)
    with pytest.raises(KeyError, match="recoveri"):
        study_parts.part("recoveri", tmp_path)


def test_a_part_of_a_table_has_the_state_of_its_results(tmp_path: Path) -> None:
    for updates in study_tables.UPDATES:
        for engine, time_ns in (("msync", 300_000), ("snapshot", 100_000)):
            store(tmp_path / "lmdb" / f"{updates}-{engine}.json", {"updates": updates, "engine": engine}, time_ns)
    part = study_parts.part("lmdb", root=tmp_path)
    assert part.startswith("State: QEMU aaaaaaaa; image bbbbbbbb; seed 0; scale full.\n\n<details")
    assert "| 16 | 3.0 | 1.0 | 3.0 |" in part


def store(path: Path, point: dict[str, str], time_ns: int) -> None:
    machine = {"cpu": {}, "components": {"qemu": "a" * 64, "base": "b" * 64}}
    row = {"roi_ns": time_ns, "transactions": 100}
    data = {"manifest": "lmdb", "scale": 1, "identity": {"machine": machine}, "point": point, "rows": [row], "rois": []}
    path.parent.mkdir(exist_ok=True)
    path.write_text(canonical.dumps(data | {"checksum": canonical.digest(data)}))


def test_a_state_lists_builds_seeds_and_scales() -> None:
    def made(seed: int, scale: int, qemu: str) -> Result:
        machine = {"cpu": {"seed": seed}, "components": {"qemu": qemu * 16, "base": "b" * 64}}
        return Result(Path("r.json"), {"identity": {"machine": machine}, "scale": scale})

    assert state.text([]) == ""
    assert state.text([made(0, 64, "1234")]) == "State: QEMU 12341234; image bbbbbbbb; seed 0; scale 1/64."
    several = [made(0, 1, "5678"), made(2, 64, "1234")]
    assert state.text(several) == "State: QEMU 12341234, 56785678; image bbbbbbbb; seeds 0 to 2; scale full, 1/64."


def measured(path: Path, point: dict[str, str], **row: int) -> Result:
    return Result(path, {"manifest": "m", "point": point, "rows": [{"phase": "load"}, row]})


def test_a_commit_costs_what_updates_take_above_reads(tmp_path: Path) -> None:
    made = [
        measured(
            tmp_path / "x.json",
            {"protocol": p, "workload": w},
            roi_ns=ns,
            commits=n,
            fences=2 * n,
            log_bytes=192 * n,
            data_bytes=64 * n,
        )
        for p in ("redo", "line", "undo", "undo-nv")
        for w, ns, n in (("A", 2_000_000, 5), ("C", 1_000_000, 0), ("G", 3_000_000, 10))
    ]
    assert (
        study_tables.protocols(made).splitlines()[2]
        == "| `redo` | 2.0 ms | 1.0 ms | 3.0 ms | 200000 ns | 2 | 192 | 64 |"
    )


def test_transactions_are_compared_with_those_on_snapshot(tmp_path: Path) -> None:
    made = [
        measured(tmp_path / "x.json", {"updates": updates, "engine": engine}, roi_ns=ns, transactions=100)
        for updates in study_tables.UPDATES
        for engine, ns in (("msync", 300_000), ("snapshot", 100_000))
    ]
    assert study_tables.lmdb(made).splitlines()[2:] == [f"| {n} | 3.0 | 1.0 | 3.0 |" for n in ("1", "16", "128")]


def test_results_of_two_states_are_refused(tmp_path: Path) -> None:
    twice = [measured(tmp_path / f"{n}.json", {"updates": "1"}, roi_ns=1) for n in (1, 2)]
    with pytest.raises(TestbedError, match="remove results of other states"):
        study_tables.rows(twice, "updates")


def test_bad_words_end_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert documents.main(["figures"]) == 2
    assert "usage: python -m analysis.documents [calibration]" in capsys.readouterr().err


def test_an_empty_part_is_filled_and_what_follows_stays() -> None:
    parts = "".join(
        f"<!-- by python -m of.ours: {name} -->\n\n{old}{markdown.END}\n\nAfter {name}.\n"
        for name, old in (("one", ""), ("two", "old\n\n"))
    )
    made = markdown.with_parts(parts, "of.ours", lambda name: f"new {name}")
    for name in ("one", "two"):
        assert f": {name} -->\n\nnew {name}\n\n{markdown.END}\n\nAfter {name}.\n" in made
    assert "old" not in made
