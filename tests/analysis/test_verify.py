# SPDX-License-Identifier: BSD-3-Clause
"""`testbed verify`: digests change with measurements and with nothing else, and differences are named."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from analysis.catalogue import spreads, verify
from analysis.commands import verify as command
from conftest import MockExecutor
from testbed.build import components
from testbed.cli import main
from testbed.errors import TestbedError
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.results import results

ROI = {"id": 1, "begin-ps": 1000, "end-ps": 5000, "counters": {"loads": 7}}
NAMES = ["list/snapshot-paper-mss-snapshot", "list/snapshot-paper-mss-pmdk"]


def session(roi: dict[str, Any] = ROI, key: str = "k", row: int = 1) -> Session:
    def answer(spec: GuestSpec) -> GuestOutcome:
        shift = spec.guest.cpu.seed  # a seed moves the row
        return GuestOutcome("ok", 0, boot={"ms": key}, rows=[{"roi_ns": row + shift}], rois=[roi])

    return Session(MockExecutor(answer), {"qemu": key})


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(verify, "EXPERIMENTS", tmp_path)
    monkeypatch.setattr(components, "guest_builds", lambda: {"libc6": "2.41-12", "xfsprogs": "6.13.0-2"})


def words(other: Session) -> list[str]:
    path, runs = verify.file_of("quick"), verify.pick(NAMES, "quick")
    verify.update(session(), runs, path)
    return [v.word for v in verify.compare(other, runs, verify.load(path))]


def test_the_same_measurement_is_the_same_on_other_builds_and_boots() -> None:
    later = ROI | {"begin-ps": 3000, "end-ps": 7000}
    assert words(session(later, key="other")) == ["same", "same"]


@pytest.mark.parametrize(
    "other",
    [
        session(row=2),
        session(ROI | {"counters": {"loads": 8}}),
        session(ROI | {"end-ps": 5001}),
    ],
    ids=["row", "counter", "time"],
)
def test_another_measurement_differs(other: Session) -> None:
    assert words(other) == ["DIFFERS", "DIFFERS"]


def test_verify_runs_anew_and_leaves_the_results_alone(tmp_path: Path) -> None:
    other = session()
    assert words(other) == ["same", "same"]
    assert isinstance(other.executor, MockExecutor) and len(other.executor.started) == 2
    assert len(results.load_all(tmp_path / "results")) == 2


def test_the_command_names_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "open_session", lambda **_: session())
    assert CliRunner().invoke(main.app, ["verify", "--update", *NAMES]).exit_code == 0
    assert CliRunner().invoke(main.app, ["verify", *NAMES]).exit_code == 0
    monkeypatch.setattr(command, "open_session", lambda **_: session(row=2))
    done = CliRunner().invoke(main.app, ["verify", NAMES[0]])
    assert f"{NAMES[0]}" in done.output and "DIFFERS" in done.output
    assert done.exception is not None
    assert getattr(done.exception, "exit_status", None) == 1


def test_builds_that_changed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "open_session", lambda **_: session())
    assert CliRunner().invoke(main.app, ["verify", "--update", *NAMES]).exit_code == 0
    assert verify.other_builds(verify.file_of("quick")) == []
    now = {"libc6": "2.41-13", "cxl": "81-1", "sources/qemu": "0123456789ab" + "0" * 52}
    monkeypatch.setattr(components, "guest_builds", lambda: now)
    assert CliRunner().invoke(main.app, ["verify", *NAMES]).exit_code == 0
    monkeypatch.setattr(command, "open_session", lambda **_: session(row=2))
    done = CliRunner().invoke(main.app, ["verify", NAMES[0]])
    changed = ["cxl none -> 81-1", "libc6 2.41-12 -> 2.41-13", "sources/qemu none -> 0123456789ab"]
    changed.append("xfsprogs 6.13.0-2 -> none")
    assert verify.other_builds(verify.file_of("quick")) == changed
    assert all(line in done.output for line in changed)
    assert "other packages or sources" in str(done.exception)


def test_without_the_file_of_builds_the_error_names_it() -> None:
    verify.update(session(), verify.pick(NAMES, "quick"), verify.file_of("quick"))
    verify.builds_of(verify.file_of("quick")).unlink()
    with pytest.raises(TestbedError, match=r"cannot read .*quick.builds"):
        verify.other_builds(verify.file_of("quick"))


def test_the_builds_of_the_guest_come_from_its_builders(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "libc6=2.41-12\nlibpmem1=1.13.1-1.1+b1\npool/main/l/lmdb.tar.gz 0123\n\n"
    monkeypatch.undo()
    monkeypatch.setattr(components, "_fingerprint", lambda component, _: lines if component.name == "tools" else "")
    wanted = {"libc6": "2.41-12", "libpmem1": "1.13.1-1.1+b1", "pool/main/l/lmdb.tar.gz": "0123"}
    assert components.guest_packages() == wanted
    monkeypatch.setattr(components, "hash_inputs", lambda component: f"files of {component.name}")
    builds = components.guest_builds()
    assert builds.items() >= wanted.items()
    assert builds["sources/tbfs"] == "files of tbfs"
    assert "sources/qemu" in builds and "sources/replay" not in builds


def test_a_run_without_a_line_is_named() -> None:
    path, runs = verify.file_of("quick"), verify.pick(NAMES, "quick")
    verify.update(session(), runs[:1], path)
    verdicts = verify.compare(session(), runs, verify.load(path))
    assert [v.word for v in verdicts] == ["same", "not in the file"]


def test_an_update_drops_lines_of_runs_that_no_figure_has() -> None:
    path, runs = verify.file_of("quick"), verify.pick(NAMES, "quick")
    path.write_text(verify.text_of({"gone/run": "0" * 64, NAMES[1]: "1" * 64}))
    verify.update(session(), runs[:1], path)
    assert sorted(verify.load(path)) == sorted(NAMES)


def test_names_are_figures_or_patterns() -> None:
    assert {run.manifest for run in verify.pick(["list"], "quick")} == {"list"}
    assert [verify.name_of(run) for run in verify.pick(["list/*-mss-pmdk"], "quick")] == [NAMES[1]]
    assert len(verify.pick([], "quick")) > 100
    with pytest.raises(TestbedError, match=r"no figure and no run 'nothing'; figures: .*list"):
        verify.pick(["nothing"], "quick")


@pytest.mark.parametrize(("text", "message"), [("abc  list/x\n", "is not a digest"), (None, "--update writes it")])
def test_a_bad_file_is_one_sentence(text: str | None, message: str) -> None:
    path = verify.file_of("quick")
    if text is not None:
        path.write_text(text)
    with pytest.raises(TestbedError, match=message):
        verify.load(path)


# ---- Ranges over seeds ----


def updated(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(command, "open_session", lambda **_: session())
    assert CliRunner().invoke(main.app, ["verify", "--update", *words, *NAMES]).exit_code == 0


def verified(monkeypatch: pytest.MonkeyPatch, row: int, *words: str) -> Any:
    monkeypatch.setattr(command, "open_session", lambda **_: session(row=row))
    return CliRunner().invoke(main.app, ["verify", *words, NAMES[0]])


def other_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "guest_builds", lambda: {"libc6": "2.41-13", "xfsprogs": "6.13.0-2"})


def test_update_with_seeds_writes_each_number_s_range(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    updated(monkeypatch, "--seeds", "3")
    path = spreads.path_of(verify.file_of("quick"))
    lines = path.read_text().splitlines()
    assert path == tmp_path / "quick.spread.csv"
    assert f"{NAMES[0]},roi_ns,3,1,2,3" in lines
    assert f"{NAMES[0]},time,3,4000,4000,4000" in lines
    of_seed_0 = next(result for result in results.load_all(tmp_path / "results") if result.seed == 0)
    assert verify.load(verify.file_of("quick"))[NAMES[0]] == verify.digest(of_seed_0)


def test_ranges_of_other_runs_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    updated(monkeypatch, "--seeds", "3")
    runs = verify.pick(NAMES[1:], "quick")
    verify.update(session(row=7), runs, verify.file_of("quick"), 2)
    ranges = spreads.load(spreads.path_of(verify.file_of("quick")))
    assert {name: found["roi_ns"].seeds for name, found in ranges.items()} == {NAMES[0]: 3, NAMES[1]: 2}


def test_with_other_builds_a_number_in_its_range_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    updated(monkeypatch, "--seeds", "3")
    other_builds(monkeypatch)
    done = verified(monkeypatch, 3)
    assert done.exit_code == 0, done.output
    assert "0 of 1 runs as in quick.sha256" in done.output
    assert "1 more with every number within its range" in done.output


def test_with_other_builds_a_number_that_left_its_range_is_listed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    updated(monkeypatch, "--seeds", "3")
    other_builds(monkeypatch)
    done = verified(monkeypatch, 4, "--json", str(tmp_path / "out.json"))
    assert getattr(done.exception, "exit_status", None) == 1
    assert "1 numbers left their seeds" in done.output and "roi_ns" in done.output and "libc6" in done.output
    [verdict] = json.loads((tmp_path / "out.json").read_text())
    assert verdict["left"] == [{"number": "roi_ns", "measured": 4, "median": 2, "low": 1, "high": 3}]


def test_with_the_same_builds_the_bytes_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    updated(monkeypatch, "--seeds", "3")
    done = verified(monkeypatch, 2)
    assert getattr(done.exception, "exit_status", None) == 1
    assert "DIFFERS" in done.output and "left" not in done.output


def test_a_run_without_ranges_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    updated(monkeypatch)
    other_builds(monkeypatch)
    assert "DIFFERS" in verified(monkeypatch, 2).output


def test_seeds_are_for_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    updated(monkeypatch)
    done = verified(monkeypatch, 1, "--seeds", "3")
    assert getattr(done.exception, "exit_status", None) == 2
    assert "--seeds 3: it is for --update" in str(done.exception)


@pytest.mark.parametrize("line", ["list/run,roi_ns,3,1,2", "list/run,roi_ns,three,1,2,3"])
def test_a_damaged_line_of_ranges_is_named(line: str) -> None:
    path = spreads.path_of(verify.file_of("quick"))
    path.write_text(f"{','.join(spreads.COLUMNS)}\n{line}\n")
    with pytest.raises(TestbedError, match=r"quick.spread.csv: 'list/run,roi_ns.*restore that line"):
        spreads.load(path)
