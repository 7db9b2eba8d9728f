# SPDX-License-Identifier: BSD-3-Clause
"""Public C headers as Markdown, for the site: each declaration with the comment before it, and a row for each field."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..data import markdown

COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
DEFINE = re.compile(r"#define +(\w+) +([^\n]*?)[ \t]*(?:/\*(.*?)\*/)?$", re.MULTILINE)
SKIPPED = re.compile(r'(?:#[^\n]*|extern "C" \{|\}(?= *\n)|_Static_assert\([^;]*;)')  # among others guards of inclusion
FIELD = re.compile(r"^\s*(?P<code>[^\n/]*?)[;,]\s*(?:/\*(?P<said>.*?)\*/)?$", re.MULTILINE)
NAME = re.compile(r"(\w+)\s*\(")
TAG = re.compile(r"((?:struct|enum) \w+)\s*\{")


class Item(NamedTuple):
    """A declaration, or a comment that belongs to none."""

    name: str  # empty for a comment
    code: str
    said: str
    fields: list[tuple[str, str]]  # code and comment


def text_of(comment: str) -> str:
    """Return a comment without its stars and its common indent."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip().splitlines()]
    return "\n".join(line.rstrip() for line in lines).strip()


def closing(text: str, start: int) -> int:
    """Return the position behind the brace that closes the one at the start."""
    depth = 0
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position + 1
    raise ValueError("a brace has no end")


def items(text: str) -> Iterator[Item]:
    """Yield the declarations of a header in their order. A comment belongs to the declaration on the next line."""
    position, said = 0, ""
    while found := re.compile(r"\S").search(text, position):
        blank = text.count("\n", position, found.start()) > 1
        position = found.start()
        if said and (blank or text.startswith(("#ifdef", "#endif", "#if", "/*"), position)):
            yield Item("", "", said, [])
            said = ""
        if comment := COMMENT.match(text, position):
            position, said = comment.end(), text_of(comment[1])
        elif define := DEFINE.match(text, position):
            position = define.end()
            yield Item(define[1], f"#define {define[1]} {define[2]}", text_of(define[3] or "") or said, [])
            said = said if text.startswith("\n#define", position) else ""
        elif skipped := SKIPPED.match(text, position):
            position, said = skipped.end(), ""
        else:
            item, position = declaration(text, position, said)
            said = ""
            yield item


def declaration(text: str, start: int, said: str) -> tuple[Item, int]:
    """Read a declaration: a struct or enum with its fields, or a function without its body; and the position behind."""
    end = min(found for found in (text.find(";", start), text.find("{", start)) if found >= 0)
    head = text[start:end]
    if tag := TAG.match(text, start):
        behind = closing(text, end)
        body = text[end + 1 : behind - 1]
        fields = [(field["code"], text_of(field["said"] or "")) for field in FIELD.finditer(body)]
        end_of_field = "," if tag[1].startswith("enum") else ";"
        lines = "\n".join(f"    {code}{end_of_field}" for code, _ in fields)
        return Item(tag[1], f"{tag[1]} {{\n{lines}\n}};", said, fields), text.index(";", behind) + 1
    name = NAME.search(head)
    code = re.sub(r"^static inline ", "", " ".join(head.split()))
    behind = closing(text, end) if text[end] == "{" else end + 1
    return Item(f"{name[1]}()" if name else code, f"{code};", said, []), behind


def shown(item: Item) -> str:
    if not item.name:
        return f"{item.said}\n"
    told = [(code, said) for code, said in item.fields if said]
    rows = markdown.table(("field", "meaning"), [[f"`{code}`", said.replace("\n", " ")] for code, said in told])
    parts = [f"### {item.name}", f"```c\n{item.code}\n```", item.said, rows if told else ""]
    return "\n\n".join(part for part in parts if part) + "\n"


def page(path: Path) -> str:
    """Return the Markdown of a header: the comment at its head, then its declarations."""
    return "\n".join(shown(item) for item in items(path.read_text()) if "SPDX" not in item.said)
