# SPDX-License-Identifier: BSD-3-Clause
"""The prose of documents and comments: short sentences that name their subject, and tables that read at a glance.

Few sentences turn on a free *what*, *who* or *whose*, which a reader has to resolve before the sentence makes sense.
"The pass rejects a store of unknown size" needs no second reading. Questions may have these words.

Rules of counting:

- Prose is all text except code blocks (between fences or indented by four spaces), headings, comments and tables.
- A block is a paragraph or an item of a list; no sentence goes beyond its block.
- A sentence ends with its block, and at `.`, `?` or `!` (with the end of a quotation, a bracket or emphasis after it)
  before a space and anything but a lower-case letter. The full stop of an abbreviation ("e.g. Linux") does not end a
  sentence. A title in bold at the begin of a block ("**Scale.**") is not a sentence.
- A word is text between spaces that has a letter or a digit. Inline code is one word, a link counts as its text.
- The 90th percentile is the least length that nine of ten sentences do not exceed.
"""

import ast
import io
import math
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from testbed.paths import REPO

DOCUMENTS = sorted([REPO / "README.md", *(REPO / "docs").rglob("*.md")])
P90_WORDS_MAX = 25
CELL_CHARACTERS_MAX = 300

FREE_RELATIVE = re.compile(r"\b(what|who|whoever|whose)\b(?!.*\?\s*$)", re.IGNORECASE)
PYTHON = sorted(path for room in ("analysis", "experiments", "tests") for path in (REPO / room).rglob("*.py"))
COMMENTS_MAX = 0.01  # of the sentences
DOCUMENTS_MAX = 0.02
WORDS_MIN = 3  # a shorter remark is no sentence

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
    """The cells of every table as a reader sees them: links as their text, code without its quotes."""
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
    """A block with code as one word and links as their text, without a bold title and full stops of abbreviations."""
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


def docstrings(source: str) -> Iterator[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))
    yield from filter(None, (ast.get_docstring(node) for node in nodes))


def comments(source: str) -> Iterator[str]:
    """Lines of comments that follow each other are one text; a remark beside code begins another."""
    block, last_row = "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and "SPDX" not in token.string:
            row, text = token.start[0], token.string.lstrip("# ")
            if row != last_row + 1 or token.line[: token.start[1]].strip():
                yield block
                block = ""
            block, last_row = f"{block} {text}", row
    yield block


def sentences_of_code(source: str) -> list[str]:
    texts = [text for kind in (docstrings, comments) for text in kind(source)]
    found = [sentence for text in texts for sentence in sentences(re.sub(r"[ \t]*\n[ \t]*", "\n", text))]
    return [sentence for sentence in found if len(sentence.split()) >= WORDS_MIN]


def free_relatives(found: Iterable[str]) -> list[str]:
    return [sentence for sentence in found if FREE_RELATIVE.search(sentence)]


def test_comments_in_python_name_their_subject() -> None:
    found = [(path, sentence) for path in PYTHON for sentence in sentences_of_code(path.read_text())]
    bad = [f"{path.relative_to(REPO)}: {text}" for path, text in found if FREE_RELATIVE.search(text)]
    print(f"{len(bad)} of {len(found)} sentences turn on a free relative")
    assert len(bad) <= COMMENTS_MAX * len(found), "\n".join(bad)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(REPO)))
def test_documents_name_their_subject(path: Path) -> None:
    found = sentences(path.read_text())
    bad = free_relatives(found)
    assert len(bad) <= max(1, DOCUMENTS_MAX * len(found)), "\n".join(bad)


def test_a_free_relative_is_found_in_comments_and_docstrings_and_not_in_code() -> None:
    source = (
        '"""What has no size is refused."""\n'
        "# The pass rejects it\n"
        "# if there is one. Who asks? Nobody whose store failed.\n"
        'what = "what is a string"  # a remark on who reads it\n'
    )
    assert free_relatives(sentences_of_code(source)) == [
        "What has no size is refused.",
        "Nobody whose store failed.",
        "a remark on who reads it",
    ]
