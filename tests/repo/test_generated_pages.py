# SPDX-License-Identifier: BSD-3-Clause
"""The pages that are made from the code are those that the present code makes."""

import pytest

from analysis.documents import reference


@pytest.mark.parametrize("name", reference.PAGES)
def test_no_generated_page_is_stale(name: str) -> None:
    assert (reference.FOLDER / name).read_text() == reference.PAGES[name](), f"make it again: {reference.COMMAND}"


def test_every_option_of_a_command_has_a_row() -> None:
    text = reference.options()
    section = text.partition("\n## testbed exec\n")[2].partition("\n## ")[0]
    assert "| `--stdin, -i` |" in section and "| `--cpus` | `N` |" in section
    assert "\n## testbed image export\n" in text


def test_every_counter_has_a_row() -> None:
    assert "| `cache_misses` | device-cache misses, reads and writes |" in reference.counters()
    assert reference.counters().count("\n| `") > 40


def test_a_long_text_is_cut_at_a_word() -> None:
    said = reference.cell("word " * 100)
    assert said.endswith("word …") and len(said) <= reference.HELP_CHARACTERS_MAX + 2
    assert reference.cell("a | b\n  <c>") == "a \\| b &lt;c>"
