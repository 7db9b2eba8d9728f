# SPDX-License-Identifier: BSD-3-Clause
"""The parts of pages that the site makes from the code: each has its place, and its content."""

from analysis.documents import reference, site
from testbed.crash import findings


def test_every_part_has_one_place_and_every_place_a_part() -> None:
    pages = [path.read_text() for path in site.DOCS.rglob("*.md")]
    assert sorted(name for page in pages for name in site.GENERATED.findall(page)) == sorted(reference.PARTS)


def test_every_wrapped_function_is_listed() -> None:
    text = reference.writers()
    assert text.count("**") == 2 * 17 and text.count("`") > 2 * 600
    assert "`memcpy`" in text and "`pthread_cond_wait`" in text and "__memcpy_chk" not in text


def test_every_option_of_a_command_has_a_row() -> None:
    text = reference.options()
    section = text.partition("\n## testbed exec\n")[2].partition("\n## ")[0]
    assert "| `--stdin, -i` |" in section and "| `--cpus` | `N` |" in section
    assert "\n## testbed image export\n" in text


def test_every_counter_has_a_row() -> None:
    assert "| `cache_misses` | device-cache misses, reads and writes |" in reference.counters()
    assert reference.counters().count("\n| `") > 40


def test_every_finding_of_a_crash_test_has_a_row() -> None:
    text = reference.findings()
    assert text.count("\n| `") == len(findings.load())
    assert "\n## tbfs\n" in text and "| `kv-redo --every` | KV store on Snapshot" in text


def test_a_long_text_is_cut_at_a_word() -> None:
    said = reference.cell("word " * 100)
    assert said.endswith("word …") and len(said) <= reference.HELP_CHARACTERS_MAX + 2
    assert reference.cell("a | b\n  <c>") == "a \\| b &lt;c>"
