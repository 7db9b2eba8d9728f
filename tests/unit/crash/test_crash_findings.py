# SPDX-License-Identifier: BSD-3-Clause
"""The recorded counts of the crash tests that ship: what `testbed crash --update` writes, and bad files."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from testbed.cli import main
from testbed.crash import findings
from testbed.crash.findings import Finding
from testbed.crash.report import Report, Violation
from testbed.crash.states import Counts
from testbed.errors import TestbedError

BAD = Violation("0-ab", 0, (), (), "failed", "no record")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "findings.csv"
    made = {"records": Finding(7, 5, 0, 2, "q" * 8, "b" * 8), "kv-redo --every": Finding(24, 4, 2, 0, "r" * 8, "b" * 8)}
    findings.save(made, path)
    assert findings.load(path) == made
    rows = ["kv-redo --every,24,4,2,0,rrrrrrrr,bbbbbbbb", "records,7,5,0,2,qqqqqqqq,bbbbbbbb"]
    assert path.read_text().splitlines()[3:] == rows


def test_a_finding_has_the_counts_of_the_whole_test_and_the_builds() -> None:
    counts = Counts(points=5, points_in_part=1, combinations=9, tried=8, states=7)
    found = findings.of_report(Report(counts, [BAD, BAD]), {"qemu": "q" * 64, "base": "b" * 64, "tools": "t" * 64})
    assert found == Finding(7, 5, 1, 2, "q" * 8, "b" * 8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("test,states\n", "its columns are not test,states,points,points_in_part,violations,qemu,image"),
        ("test,states,points,points_in_part,violations,qemu,image\nx,1,2,many,0,,\n", "'x,1,2,many,0,,' is not test,"),
        ("test,states,points,points_in_part,violations,qemu,image\nx,1,2\n", "'x,1,2' is not test,"),
        (None, "cannot read"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "findings.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(TestbedError, match="restore that") as caught:
        findings.load(path)
    assert said in str(caught.value)


@pytest.mark.parametrize("words", [("--seed", "1"), ("--seeds", "2"), ("--state", "0-ab")])
def test_only_a_whole_test_with_the_seed_of_its_machine_is_recorded(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main.app, ["crash", "records", "--update", *words])
    assert isinstance(done.exception, TestbedError) and "--update is for a whole test" in str(done.exception)


def test_a_test_of_one_s_own_is_not_recorded(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("")
    done = CliRunner().invoke(main.app, ["crash", str(own), "--update"])
    assert isinstance(done.exception, TestbedError) and "a whole test that ships" in str(done.exception)
