# SPDX-License-Identifier: BSD-3-Clause
"""The texts of a file that a reader sees: paragraphs of a document, or comments, docstrings and messages of code.

Rules of counting:

- Prose of a document is all text except code blocks (between fences or indented by four spaces), headings, comments and
  tables.
- A block is a paragraph or an item of a list; no sentence goes beyond its block.
- Comments on lines that follow each other are one text. A remark beside code begins another.
- A sentence ends with its block, and at `.`, `?` or `!` (with the end of a quotation, a bracket or emphasis after it)
  before a space and anything but a lower-case letter. The full stop of an abbreviation ("e.g. Linux") does not end a
  sentence. A title in bold at the begin of a block ("**Scale.**") is not a sentence.
- A word is text between spaces that has a letter or a digit. Inline code is one word, a link counts as its text.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

C_SUFFIXES = (".c", ".cc", ".cpp", ".h", ".hpp", ".java", ".js", ".rs")
HASH_SUFFIXES = (".sh", ".toml", ".yml", ".yaml", ".cmake", ".cfg")
HASH_NAMES = ("CMakeLists.txt", "Makefile", "Kbuild", "Dockerfile")

FENCED = re.compile(r"^```.*?^```[^\n]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
INLINE_CODE = re.compile(r"(`+)(?P<code>.+?)\1", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d+\.) +")
BOLD_TITLE = re.compile(r"^\*\*[^*]+[.:]\*\*\s*")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|cf|vs)\.", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.?!])[)\"”*_]*\s+(?![a-z])")
LICENCE = re.compile(r"SPDX-License-Identifier:[^\n]*")
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
PYTHON_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*', re.DOTALL
)
HASH_REMARK = re.compile(r"^(?P<code>(?:[^#'\"]|'[^']*'|\"[^\"]*\"|(?<=\S)#)*?)(?<!\S)#+(?!!)(?P<text>.*)$")


class Text(NamedTuple):
    """A text and the line of the file on which it begins."""

    line: int
    words: str


def without_code(text: str) -> str:
    """Return a document without code blocks and comments. Each keeps its lines, so that line numbers stay."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    return re.sub(r"^ {4,}.*$", "", COMMENT.sub(blank, FENCED.sub(blank, text)), flags=re.MULTILINE)


def blocks(text: str) -> list[Text]:
    """Paragraphs and items of lists, each on one line."""
    found: list[tuple[int, list[str]]] = [(1, [])]
    for number, line in enumerate(without_code(text).splitlines(), 1):
        if not line.strip() or line.startswith(("#", "|")):
            found.append((number + 1, []))
        elif ITEM.match(line):
            found.append((number, [ITEM.sub("", line)]))
        else:
            found[-1][1].append(line.strip())
    return [Text(number, " ".join(lines)) for number, lines in found if lines]


def plain(block: str) -> str:
    """A block with code as one word and links as their text, without a bold title and full stops of abbreviations."""
    shown = LINK.sub(r"\1", INLINE_CODE.sub("CODE", block))
    return ABBREVIATION.sub(r"\1", BOLD_TITLE.sub("", shown))


def words(sentence: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def sentences(text: str) -> list[str]:
    parts = [part for block in blocks(text) for part in SENTENCE_END.split(plain(block.words))]
    return [part for part in parts if words(part) > 0]


def joined(found: Iterable[tuple[int, bool, str]]) -> Iterator[Text]:
    """Join comments on lines that follow each other. Each is its line, whether it stands beside code, and its text."""
    first, last, lines = 1, 0, list[str]()
    for row, beside, text in found:
        if beside or row != last + 1:
            yield Text(first, "\n".join(lines))
            first, lines = row, []
        lines.append(text)
        last = row
    yield Text(first, "\n".join(lines))


def python_comments(source: str) -> Iterator[Text]:
    found = []
    line, position = 1, 0
    for token in PYTHON_TOKEN.finditer(source):
        if token[0].startswith("#"):
            line += source.count("\n", position, token.start())
            position = token.start()
            before = source[source.rfind("\n", 0, position) + 1 : position]
            found.append((line, bool(before.strip()), token[0].lstrip("# ")))
    return joined(found)


def python_strings(tree: ast.Module) -> Iterator[Text]:
    """Docstrings, and the texts of exceptions and of help; a value in a text counts as inline code."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if said := ast.get_docstring(node):
                yield Text(node.body[0].lineno, said)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from filter(None, map(message, node.exc.args))
        elif isinstance(node, ast.keyword) and node.arg == "help" and (help_text := message(node.value)):
            yield help_text


def message(node: ast.expr) -> Text | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return Text(node.lineno, node.value)
    if isinstance(node, ast.JoinedStr):
        return Text(node.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else "CODE" for p in node.values))
    return None


def of_python(source: str) -> list[Text]:
    return [*python_strings(ast.parse(source)), *python_comments(source)]


def of_c(source: str) -> list[Text]:
    """Comments of C and its kin."""
    found: list[tuple[int, bool, str]] = []
    whole: list[Text] = []
    row, position = 1, 0
    for token in C_TOKEN.finditer(source):
        row += source.count("\n", position, token.start())
        position = token.start()
        if token[0].startswith("//"):
            before = source[source.rfind("\n", 0, token.start()) + 1 : token.start()]
            found.append((row, bool(before.strip()), token[0].lstrip("/!< ")))
        elif token[0].startswith("/*"):
            lines = [re.sub(r"^\s*\*(?!/) ?", "", line) for line in token[0][2:-2].lstrip("*!<").splitlines()]
            whole.append(Text(row, "\n".join(line.strip() for line in lines)))
    return [*whole, *joined(found)]


def of_hash(source: str) -> list[Text]:
    """Comments of shell scripts, and of files of settings."""
    rows = [(row, HASH_REMARK.match(line)) for row, line in enumerate(source.splitlines(), 1)]
    return list(joined((row, bool(m["code"].strip()), m["text"].strip()) for row, m in rows if m))


def is_shell(source: str) -> bool:
    return bool(re.match(r"#!.*/(env )?(ba)?sh\b", source))


def of(path: Path) -> list[Text]:
    """The texts of a file; none if the file is of a kind without prose."""
    source = path.read_text(errors="replace")
    if path.suffix == ".md":
        return blocks(source)
    if path.suffix == ".py":
        found = of_python(source)
    elif path.suffix in C_SUFFIXES:
        found = of_c(source)
    elif path.suffix in HASH_SUFFIXES or path.name in HASH_NAMES or is_shell(source):
        found = of_hash(source)
    else:
        return []
    return [text for line, said in found if (text := Text(line, LICENCE.sub("", said).strip())).words]
