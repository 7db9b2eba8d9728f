# SPDX-License-Identifier: BSD-3-Clause
"""Results: found by the words that a user types, compared, explained; and the status of a manifest's runs."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from conftest import MockExecutor, QuietReporter
from testbed.cli import tables
from testbed.errors import RunFailed, TestbedError
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import render
from testbed.results import compare, explain, lookup, results, status
from testbed.results.host_times import HostTimes
from testbed.results.results import Result
from testbed.run.progress import ProgressBar
from testbed.run.runner import drive, run_all

KEYS = {"qemu": "q" * 64, "base": "b" * 64}
HERE = Capacity(guests=2, memory_mib=8192)


def answer(spec: GuestSpec) -> GuestOutcome:
    """pmdk fails; volatile takes half of snapshot's time and reports an additional counter."""
    assert spec.job
    if "pmdk" in spec.job.script:
        return GuestOutcome("failed", 2, stderr=b"no such option")
    is_fast = "volatile" in spec.job.script
    counters = {"loads": 10} | ({"stores": 5} if is_fast else {})
    roi = {"id": 1, "begin-ps": 100, "end-ps": 150 if is_fast else 200, "counters": counters}
    return GuestOutcome("ok", 0, rows=[{"ns": 3 if is_fast else 4}], rois=[roi])


@pytest.fixture
def root(small_manifest: Path, tmp_path: Path) -> Path:
    """A folder of two results and a failure."""
    work = run_all(
        render.runs(small_manifest), Session(MockExecutor(answer), KEYS, here=HERE), tmp_path / "r", QuietReporter()
    )
    with pytest.raises(RunFailed):
        drive(work)
    return tmp_path / "r"


def test_what_a_program_printed_can_be_seen(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = results.load(next(root.rglob("snapshot-*.json")))
    said = {"stdout": "one\n", "stderr": "two\n"}
    tables.show_output([Result(result.path, result.data | said)])
    assert capsys.readouterr() == ("one\n", "two\n")
    tables.show_output([Result(result.path, result.data | said)] * 2)
    assert capsys.readouterr() == (f"==> {result.path} <==\none\n" * 2, "two\n" * 2)


def names(found: list[Result]) -> list[str]:
    return [result.point["engine"] for result in found]


def test_a_result_is_found_by_what_names_it(root: Path) -> None:
    path = next(root.rglob("snapshot-*.json"))
    key = lookup.hash_of(path)
    for text in (str(path), "small/snapshot", f"small/{path.stem}", f"small/{path.name}", key, key[:8]):
        assert names(lookup.find(root, text)) == ["snapshot"], text
    for text in ("small", str(root), str(root / "small")):
        assert names(lookup.find(root, text)) == ["snapshot", "volatile"], text


@pytest.mark.parametrize("text", ["nothing", "small/pmdk", "small/snap", "ffff", "abc", "/no/such.json", ""])
def test_what_names_no_result_is_said(root: Path, tmp_path: Path, text: str) -> None:
    with pytest.raises(TestbedError, match=f"no result '{text}' in .*; `testbed results` lists the existing ones"):
        lookup.find(root if text else tmp_path / "empty", text)


def test_what_names_two_results_is_said_where_one_is_wanted(root: Path) -> None:
    with pytest.raises(
        TestbedError, match=r"'small' names 2 results; say which by its hash: [0-9a-f]{16}, [0-9a-f]{16}"
    ):
        lookup.find_one(root, "small")


def test_two_results_differ_in_inputs_then_rows_then_counters(root: Path) -> None:
    one, two = (lookup.find_one(root, f"small/{engine}") for engine in ("snapshot", "volatile"))
    found = [(d.part, d.key, d.a, d.b, d.ratio) for d in compare.differences(one, two)]
    assert found == [
        ("identity", "argv.2", "snapshot", "volatile", None),
        ("rows", "0.ns", 4, 3, 0.75),
        ("region", "length-ps", 100, 50, 0.5),
        ("region", "stores", None, 5, None),
    ]
    assert compare.differences(one, one) == []


def test_folders_are_compared_by_point(root: Path, small_manifest: Path, tmp_path: Path) -> None:
    """One clone has another QEMU, one has the same QEMU but another result; both have fewer results."""
    runs, mine = render.runs(small_manifest), results.load_all(root)
    for name, keys in (("other", KEYS | {"qemu": "x"}), ("same", KEYS)):
        data = results.guest_data(GuestOutcome("ok", 0))
        results.store(results.path_for(tmp_path / name, runs[0], keys), runs[0], keys, data)
    states = {name: compare.pairs(mine, results.load_all(tmp_path / name)) for name in ("other", "same")}
    assert [pair.state for pair in states["other"]] == ["other inputs", "only in A"]
    assert [pair.state for pair in states["same"]] == ["NOT REPRODUCED: same inputs, other result", "only in A"]
    assert [pair.state for pair in compare.pairs(mine, mine)] == ["same", "same"]


def test_a_hash_is_explained_by_everything_that_entered_it(root: Path) -> None:
    result = lookup.find_one(root, "small/snapshot")
    text = io.StringIO()
    Console(file=text, width=200).print(explain.tree(result))
    for key, _ in compare.leaves(result.data["identity"]["machine"]):
        assert f" {key.rpartition('.')[2]} " in text.getvalue()
    for words in (
        f"{lookup.hash_of(result.path)} is the hash of",
        "kv --engine snapshot --records 100",
        "cache_size = 2 MiB",
    ):
        assert words in text.getvalue()


def test_a_file_under_another_name_is_told_from_the_one_that_was_hashed(root: Path) -> None:
    path = next(root.rglob("snapshot-*.json"))
    renamed = path.rename(path.with_name("snapshot-0123456789abcdef.json"))
    text = io.StringIO()
    Console(file=text, width=200).print(explain.tree(results.load(renamed)))
    assert f"0123456789abcdef is NOT (that is {lookup.hash_of(path)}) the hash of" in text.getvalue()


def test_status_tells_what_is_there_what_failed_and_what_is_damaged(root: Path, small_manifest: Path) -> None:
    runs = render.runs(small_manifest)
    next(root.rglob("volatile-*.json")).write_text("{}")
    found = list(status.states(runs, KEYS, root))
    assert [state.word for state in found] == ["there", "failed: failed", "damaged"]
    assert (found[1].path.suffix, (found[1].path / "stderr.txt").read_text()) == (".failed", "no such option")
    assert status.Tally.of(found).counts() == (1, 0, 2)
    assert [state.word for state in status.states(runs, KEYS | {"qemu": "x"}, root)] == ["missing"] * 3


def test_a_dry_run_guesses_from_what_runs_took(small_manifest: Path, tmp_path: Path) -> None:
    runs = render.runs(small_manifest)

    def summary() -> str:
        return status.Tally.of(status.states(runs, KEYS, tmp_path)).summary(at_once=2)

    assert summary() == "0 of 3 are there (hits), 3 to run (misses)"
    HostTimes(tmp_path).note(runs[0], 100.0)
    HostTimes(tmp_path).note(runs[1], 20.0)
    assert summary() == "0 of 3 are there (hits), 3 to run (misses), about 2 min at 2 guests a time"


def test_a_damaged_file_of_host_times_costs_guesses_only(small_manifest: Path, tmp_path: Path) -> None:
    (tmp_path / "host-times.jsonl").write_text('{"manifest": "small')
    assert HostTimes(tmp_path).guess(render.runs(small_manifest)[0]) is None


def test_the_time_left_falls_as_runs_finish(
    small_manifest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, times = render.runs(small_manifest), HostTimes(tmp_path)
    for run in runs:
        times.note(run, 60.0)
    with ProgressBar(runs, "small", times) as bar:
        for run in runs:
            bar.start(run)
            bar.finish(run, "ok", cached=False)
            times.note(run, 60.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["small snapshot: ok (about 2 min left)", "small pmdk: ok (about 60 s left)", "small volatile: ok"]
