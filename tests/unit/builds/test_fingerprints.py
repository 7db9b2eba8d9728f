# SPDX-License-Identifier: BSD-3-Clause
"""Answers from resolving package lists are reused until the lists or the question change."""

import os
import time
from pathlib import Path

import pytest

from testbed.build import components
from testbed.build.components import COMPONENTS
from testbed.build.fingerprints import LISTS_FRESH_S, remembered


def ask_counting(cache: Path, question: str, asked: list[str]) -> str:
    def ask() -> str:
        asked.append(question)
        return f"answer {len(asked)}"

    return remembered(cache, question, ask)


def read_lists(cache: Path, age_s: float = 0) -> None:
    mark = cache / "debian-lists" / "fresh"
    mark.parent.mkdir(exist_ok=True)
    mark.touch()
    os.utime(mark, (time.time() - age_s,) * 2)


def test_an_answer_holds_as_long_as_the_lists(tmp_path: Path) -> None:
    asked: list[str] = []
    read_lists(tmp_path)
    assert [ask_counting(tmp_path, question, asked) for question in "abab"] == ["answer 1", "answer 2"] * 2
    read_lists(tmp_path)  # newer lists
    assert ask_counting(tmp_path, "a", asked) == "answer 3"


def test_without_fresh_lists_nothing_is_remembered(tmp_path: Path) -> None:
    asked: list[str] = []
    ask_counting(tmp_path, "a", asked)
    read_lists(tmp_path, age_s=LISTS_FRESH_S + 60)
    ask_counting(tmp_path, "a", asked)
    assert len(asked) == 2


def test_lists_that_are_read_while_asking_give_no_answer_to_remember(tmp_path: Path) -> None:
    read_lists(tmp_path, age_s=60)

    def answer_while_they_are_read() -> str:
        read_lists(tmp_path)
        return "between"

    assert remembered(tmp_path, "a", answer_while_they_are_read) == "between"
    assert remembered(tmp_path, "a", lambda: "now") == "now"


def write_compiler(path: Path, version: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)


def test_qemu_is_asked_about_again_once_the_compiler_or_a_variable_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(components, "cache_root", lambda: tmp_path)

    def ask(component: components.Component, _: object) -> str:
        asked.append(component.name)
        return f"{len(asked)}"

    monkeypatch.setattr(components, "_ask", ask)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name in ("TESTBED_QEMU_TARBALL", "CC"):
        monkeypatch.delenv(name, raising=False)
    read_lists(tmp_path)

    def key() -> str:
        return components._fingerprint(COMPONENTS["qemu"], [])

    write_compiler(tmp_path / "bin" / "cc", "gcc 1")
    monkeypatch.setenv("TESTBED_RESULTS", "a")
    first = key()
    monkeypatch.setenv("TESTBED_RESULTS", "b")
    assert key() == first and len(asked) == 1
    write_compiler(tmp_path / "bin" / "cc", "gcc 2, of a later day")
    assert key() != first
    monkeypatch.setenv("TESTBED_QEMU_TARBALL", "/tmp/qemu.tar")
    key()
    monkeypatch.setenv("CC", "clang-19")
    key()
    assert len(asked) == 4
    assert components._fingerprint(COMPONENTS["qemu-stock"], []) == "5", "another environment"
