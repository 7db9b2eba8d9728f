# SPDX-License-Identifier: BSD-3-Clause
"""The mutation test: its site table and schemata for a small source, and a sample of the mutants of fams."""

import subprocess
from pathlib import Path

import pytest

from mutants import run
from mutants.rewrite import Rewriter
from mutants.sites import Site, Table
from mutants.subjects import Subject
from testbed.paths import REPO

SOURCE = """\
#define WORD(text) text
void store(int), flush(int), fence(void);
int lock(int), unlock(int);
static void both(int a) {
    store(a);
    flush(a);
}
int commit(int a) {
    lock(1);
    both(WORD(a));
    fence();
    unlock(1);
    return a;
}
"""
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
static int chosen;
int mutant(int number) { return number == chosen; }
void store(int a) { printf("store%d ", a); }
void flush(int a) { printf("flush%d ", a); }
void fence(void) { printf("fence "); }
int lock(int a) { return printf("lock%d ", a); }
int unlock(int a) { return printf("unlock%d ", a); }
int commit(int a);
int main(int count, char **words) { chosen = count > 1 ? atoi(words[1]) : -1; return commit(7) - 7; }
"""


def sites_of(folder: Path) -> list[Site]:
    (folder / "a.c").write_text(SOURCE)
    persists = frozenset({"store", "flush", "fence"})
    locks = (("share", "unlock"), ("lock", "unlock"))
    table = Table(Subject("small", "", (), ("a.c",), persists, locks), folder)
    table.read(["clang-19", "-fsyntax-only", str(folder / "a.c")], folder, folder / "a.c")
    return table.sites()


def test_each_mutant_does_what_its_key_says(tmp_path: Path) -> None:
    sites = sites_of(tmp_path)
    (tmp_path / "b.c").write_text(Rewriter(SOURCE, sites).whole() + PROGRAM)
    subprocess.run(["clang-19", "-w", str(tmp_path / "b.c"), "-o", str(tmp_path / "b")], check=True)

    def printed(number: int) -> str:
        return subprocess.run([tmp_path / "b", str(number)], capture_output=True, text=True, check=True).stdout.strip()

    assert printed(-1) == "lock1 store7 flush7 fence unlock1"
    assert {site.key.removeprefix("a.c "): printed(site.number) for site in sites} == {
        "both: drop store(a) #1": "lock1 flush7 fence unlock1",
        "both: swap store(a); <-> flush(a); #1": "lock1 flush7 store7 fence unlock1",
        "both: drop flush(a) #1": "lock1 store7 fence unlock1",
        "commit: no-lock lock(1) #1": "store7 flush7 fence",
        "commit: swap both(WORD(a)); <-> fence(); #1": "lock1 fence store7 flush7 unlock1",
        "commit: drop fence() #1": "lock1 store7 flush7 unlock1",
    }


def test_a_time_limit_counts_only_if_the_test_keeps_it_without_the_mutant(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the test without the mutant exceeds the limit, the host is slow: the limit doubles until the test keeps it."""
    site = Site("a.c: drop fence() #1", "drop", "a.c", 1, [], number=3)
    monkeypatch.setattr(run, "LIMIT_LEAST_S", 0.4)

    def said_by(script: str) -> str:
        return run.fails(run.Test("t", ["sh", "-c", script], str(tmp_path), {}), site)

    assert said_by("test -z $MUTANT || exec sleep 60") == "time limit"
    assert said_by("sleep 0.6") == ""
    assert said_by("sleep 0.6; test -z $MUTANT") == "status 1"


def test_a_sample_of_the_mutants_of_fams_is_caught() -> None:
    command: list[str | Path] = [REPO / "tests/mutants.sh", "fams-core", "--sample", "4", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
