# SPDX-License-Identifier: BSD-3-Clause
"""The prose of documents and comments: short sentences that name their subject, and tables that read at a glance.

tests/prose/ counts sentences and has the rules of language, which `tests/lint.sh` checks on every file. The 90th
percentile here is the least length that nine of ten sentences do not exceed.
"""

import math
import re
from pathlib import Path

import pytest

from prose import style, texts
from prose.texts import INLINE_CODE, LINK, sentences, without_code, words
from testbed.paths import REPO

DOCUMENTS = sorted([REPO / "README.md", *(REPO / "docs").rglob("*.md")])
P90_WORDS_MAX = 25
CELL_CHARACTERS_MAX = 300
UNESCAPED_BAR = re.compile(r"(?<!\\)\|")


def cells(text: str) -> list[str]:
    """The cells of every table as a reader sees them: links as their text, code without its quotes."""
    rows = [line for line in without_code(text).splitlines() if line.startswith("|")]
    seen = [LINK.sub(r"\1", INLINE_CODE.sub(r"\g<code>", row)) for row in rows]
    return [cell.strip() for row in seen for cell in UNESCAPED_BAR.split(row)[1:-1]]


def percentile_90(lengths: list[int]) -> int:
    return sorted(lengths)[math.ceil(0.9 * len(lengths)) - 1]


def faults(text: str) -> list[str]:
    """The faults of a page, longest sentences first."""
    found = sorted(sentences(text), key=words, reverse=True)
    lengths = [words(sentence) for sentence in found]
    said = []
    if percentile_90(lengths) > P90_WORDS_MAX:
        longest = [f"{words(sentence)}: {sentence}" for sentence in found if words(sentence) > P90_WORDS_MAX]
        said.append("\n".join([f"90th percentile {percentile_90(lengths)} words, at most {P90_WORDS_MAX}", *longest]))
    long = [cell for cell in cells(text) if len(cell) > CELL_CHARACTERS_MAX]
    return said + [f"a table cell of {len(cell)} characters, at most {CELL_CHARACTERS_MAX}: {cell}" for cell in long]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(REPO)))
def test_pages_read_easily(path: Path) -> None:
    said = faults(path.read_text())
    assert said == [], "\n".join(said)


def test_code_headings_tables_and_comments_are_no_sentences() -> None:
    code = "```console\n$ make it\n```\n"
    page = f"# A heading\n<!-- one -->\n{code}One two.\n\n    four five six\n\n| a b | c |\n|---|---|\n"
    assert sentences(page) == ["One two."]


def test_sentences_end_at_full_stops_and_with_their_block() -> None:
    page = (
        "One two three. Four (five.) Six\nseven:\n\n- eight nine\n  ten\n- eleven\n1. twelve\n\nAt 0.1 s it ends? Yes."
    )
    lengths = [words(sentence) for sentence in sentences(page)]
    assert lengths == [3, 2, 2, 3, 1, 1, 5, 1]


def test_a_full_stop_before_a_small_letter_ends_nothing() -> None:
    assert len(sentences("The file kvs.c. it is, and no. of them.")) == 1


def test_an_abbreviation_ends_nothing_before_a_capital_either() -> None:
    assert [words(s) for s in sentences("See a page, e.g. Linux (i.e. Debian). Cf. Redis vs. LMDB.")] == [7, 4]
    assert len(sentences("It has no legs. Redis has.")) == 2


def test_code_is_one_word_and_a_link_its_text() -> None:
    assert [words(s) for s in sentences("Run `make it all` as [the page](docs/a.md) says - `x. Y` - now.")] == [8]


def test_a_bold_title_is_no_sentence() -> None:
    assert [words(s) for s in sentences("**Scale.** It divides sizes.\n\n**No** title. So two.")] == [3, 2, 2]


def test_cells_are_measured_as_they_are_seen() -> None:
    assert cells("| [ab](cd.md) | `e` |\n|---|---|\n| f \\| g | |\n") == ["ab", "e", "---", "---", "f \\| g", ""]


def test_each_limit_is_held_and_no_more() -> None:
    of = {n: " ".join(["w"] * n) + "." for n in (1, 25, 26)}
    assert faults("\n\n".join([of[1]] * 9 + [of[26]])) == []
    assert [fault[:18] for fault in faults("\n\n".join([of[1]] * 8 + [of[26]] * 2))] == ["90th percentile 26"]
    assert faults("\n\n".join([of[1]] * 8 + [of[25]] * 2)) == []
    assert faults(f"One.\n\n| {'c' * 300} |\n") == []
    assert [fault[:27] for fault in faults(f"One.\n\n| {'c' * 301} |\n")] == ["a table cell of 301 charact"]


def of(name: str, source: str, folder: Path) -> list[str]:
    """The sentences of a file with this name and text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return [sentence.words for sentence in style.sentences(path)]


def test_texts_of_python_are_comments_docstrings_and_messages(tmp_path: Path) -> None:
    source = (
        '"""What has no size is refused."""\n'
        "# The pass rejects it\n"
        "# if there is one. Who asks? Nobody whose store failed.\n"
        'what = "what is a string # and no comment"  # a remark on who reads it\n'
        'raise OSError(f"{what} is not what it was")\n'
        'x = option(help="what it does")\n'
    )
    assert sorted(filter(style.FREE_RELATIVE.search, of("a.py", source, tmp_path))) == [
        "CODE is not what it was",
        "Nobody whose store failed.",
        "What has no size is refused.",
        "a remark on who reads it",
        "what it does",
    ]


@pytest.mark.parametrize("name", ["a.c", "a.hpp", "A.java"])
def test_texts_of_c_are_its_comments(name: str, tmp_path: Path) -> None:
    source = (
        "// SPDX-License-Identifier: BSD-3-Clause\n//\n// One sentence goes\n// over two lines.\n"
        'int what = f("// what no comment is"); // a remark beside code\n'
        "x = 1;\n// and the next comment is another text\n"
        "/*\n * A block with two\n * lines. And two sentences.\n */\n"
    )
    assert sorted(of(name, source, tmp_path)) == [
        "A block with two lines.",
        "And two sentences.",
        "One sentence goes over two lines.",
        "a remark beside code",
        "and the next comment is another text",
    ]


@pytest.mark.parametrize("name", ["a.sh", "a.toml", "CMakeLists.txt", "Makefile", "script"])
def test_texts_of_settings_and_shell_scripts_are_their_comments(name: str, tmp_path: Path) -> None:
    source = (
        "#!/bin/bash\n# SPDX-License-Identifier: BSD-3-Clause\n# One sentence goes\n# over two lines.\n"
        "echo 'a # in quotes' ${#x} # a remark beside code\n"
    )
    assert of(name, source, tmp_path) == ["One sentence goes over two lines.", "a remark beside code"]


def test_other_files_have_no_texts(tmp_path: Path) -> None:
    assert of("a.csv", "# what is it all about\n", tmp_path) == []


def made(folder: str, name: str, bad: int, good: int) -> list[style.Sentence]:
    path = REPO / folder / name
    lines = ["What it has is lost."] * bad + ["A line is lost."] * good
    return [style.Sentence(path, 1, line) for line in lines]


def test_shares_are_by_folder_and_kind() -> None:
    found = [
        *made("docs/howto", "a.md", 1, 3),
        *made("snapshot-lib/pass", "a.cpp", 2, 6),
        *made("ansible", "a.sh", 1, 1),
    ]
    assert [(share.folder, share.kind, share.total, len(share.bad)) for share in style.shares(found)] == [
        ("ansible", "shell and settings", 2, 1),
        ("docs/howto", "documents", 4, 1),
        ("snapshot-lib/pass", "C and its kin", 8, 2),
    ]


def test_code_may_have_one_free_relative_in_a_hundred_sentences_and_documents_two() -> None:
    assert style.too_many(made("snapshot-lib/pass", "a.cpp", 2, 198)) == []
    assert len(style.too_many(made("snapshot-lib/pass", "a.cpp", 3, 197))) == 1
    assert style.too_many(made("docs/howto", "a.md", 4, 196)) == []
    assert len(style.too_many(made("docs/howto", "a.md", 5, 195))) == 1


def test_one_free_relative_in_a_small_folder_is_no_fault() -> None:
    assert style.too_many(made("analysis", "a.py", 1, 3)) == []
    (fault,) = style.too_many(made("analysis", "a.py", 2, 2))
    assert fault.splitlines()[1:] == ["    analysis/a.py:1: What it has is lost."] * 2


def linted(*lines: str) -> list[str]:
    return style.proselint([style.Sentence(REPO / "docs/a.md", row, line) for row, line in enumerate(lines, 1)])


def test_proselint_finds_faults_and_names_their_sentence() -> None:
    found = linted("A good sentence.", "See the the page.", "A last sentence.")
    assert [fault.splitlines()[0] for fault in found] == ["docs/a.md:2: See the the page."]


def test_proselint_knows_our_preferred_forms() -> None:
    (fault,) = linted("Call it in order to end.")
    assert fault.endswith("testbed.preferred: write 'to' instead of 'in order to'")


def test_repeated_code_and_numbers_are_no_repeated_words() -> None:
    assert linted("`a` `b`", "CODE CODE of 10 10", "ends with word", "word begins") == []


def test_every_text_obeys_the_rules_of_language() -> None:
    found = style.faults(style.files())
    assert found == [], "\n".join(found)


def test_the_kinds_of_files_with_prose_are_known() -> None:
    kinds = {style.kind(path) for path in style.files() if texts.of(path)}
    assert kinds == {style.DOCUMENTS, style.PYTHON, style.C, style.SETTINGS}
