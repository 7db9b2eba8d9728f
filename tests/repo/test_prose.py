# SPDX-License-Identifier: BSD-3-Clause
"""The prose of the documents: short sentences, and tables whose cells can be read at a glance.

What is counted:

- Prose is what is no code block (between fences or indented by four spaces), no heading, no comment and no table.
- A block is a paragraph or an item of a list; no sentence goes beyond its block.
- A sentence ends with its block, and at `.`, `?` or `!` (and what closes a quotation, a bracket or emphasis after it)
  before a space and anything but a lower-case letter. The full stop of an abbreviation ("e.g. Linux") ends none. A
  title in bold at the begin of a block ("**Scale.**") is none.
- A word is what stands between spaces and has a letter or a digit. Inline code is one word, a link counts as its text.
- The 90th percentile is the least length that nine of ten sentences do not exceed.
"""

import math
import re
from pathlib import Path
from statistics import median

import pytest

from testbed.paths import REPO

DOCUMENTS = sorted([REPO / "README.md", *(REPO / "docs").glob("*.md")])
MEDIAN_WORDS_MAX = 15
P90_WORDS_MAX = 26
CELL_CHARACTERS_MAX = 300

FENCED = re.compile(r"^```.*?^```[^\n]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
INLINE_CODE = re.compile(r"(`+)(?P<code>.+?)\1", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d+\.) +")
BOLD_TITLE = re.compile(r"^\*\*[^*]+[.:]\*\*\s*")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|cf|vs)\.", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.?!])[)\"”*_]*\s+(?![a-z])")
UNESCAPED_BAR = re.compile(r"(?<!\\)\|")


def without_code(text: str) -> str:
    return re.sub(r"^ {4,}.*$", "", COMMENT.sub("", FENCED.sub("", text)), flags=re.MULTILINE)


def cells(text: str) -> list[str]:
    """Of every table, as a reader sees them: links as their text, code without its quotes."""
    rows = [line for line in without_code(text).splitlines() if line.startswith("|")]
    seen = [LINK.sub(r"\1", INLINE_CODE.sub(r"\g<code>", row)) for row in rows]
    return [cell.strip() for row in seen for cell in UNESCAPED_BAR.split(row)[1:-1]]


def blocks(text: str) -> list[str]:
    """Paragraphs and items of lists, each on one line."""
    found: list[list[str]] = [[]]
    for line in without_code(text).splitlines():
        if not line.strip() or line.startswith(("#", "|")):
            found.append([])
        elif ITEM.match(line):
            found.append([ITEM.sub("", line)])
        else:
            found[-1].append(line.strip())
    return [" ".join(lines) for lines in found if lines]


def plain(block: str) -> str:
    """Without a title, and with no full stop but those that end a sentence or stand within a word."""
    shown = LINK.sub(r"\1", INLINE_CODE.sub("CODE", block))
    return ABBREVIATION.sub(r"\1", BOLD_TITLE.sub("", shown))


def sentences(text: str) -> list[str]:
    parts = [part for block in blocks(text) for part in SENTENCE_END.split(plain(block))]
    return [part for part in parts if words(part) > 0]


def words(sentence: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def percentile_90(lengths: list[int]) -> int:
    return sorted(lengths)[math.ceil(0.9 * len(lengths)) - 1]


def faults(text: str) -> list[str]:
    """What is wrong with a page, worst sentences first."""
    found = sorted(sentences(text), key=words, reverse=True)
    lengths = [words(sentence) for sentence in found]
    said = []
    if median(lengths) > MEDIAN_WORDS_MAX:
        said.append(f"median {median(lengths)} words a sentence, at most {MEDIAN_WORDS_MAX}")
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
    of = {n: " ".join(["w"] * n) + "." for n in (1, 15, 16, 26, 27)}
    assert faults("\n\n".join([of[15]] * 10)) == []
    assert [fault[:9] for fault in faults("\n\n".join([of[16]] * 10))] == ["median 16"]
    assert faults("\n\n".join([of[1]] * 9 + [of[27]])) == []
    assert [fault[:18] for fault in faults("\n\n".join([of[1]] * 8 + [of[27]] * 2))] == ["90th percentile 27"]
    assert faults("\n\n".join([of[1]] * 8 + [of[26]] * 2)) == []
    assert faults(f"One.\n\n| {'c' * 300} |\n") == []
    assert [fault[:27] for fault in faults(f"One.\n\n| {'c' * 301} |\n")] == ["a table cell of 301 charact"]
