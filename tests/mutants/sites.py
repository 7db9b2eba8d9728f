# SPDX-License-Identifier: BSD-3-Clause
"""The site table: places of a subject's sources that can be mutated, found in the compiler's syntax tree."""

import itertools
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutants.subjects import Subject

Node = dict[str, Any]
STATEMENTS = {"CallExpr", "AtomicExpr", "IfStmt", "ForStmt", "WhileStmt", "DoStmt", "BinaryOperator", "CompoundStmt"}


@dataclass
class Range:
    begin: int
    end: int
    value: str = ""  # result of a dropped call in this range, if not the site's


@dataclass
class Site:
    key: str  # file, function, kind, text and number of its kind; independent of line numbers
    kind: str  # drop, no-lock or swap
    file: str
    line: int
    ranges: list[Range]
    value: str = "0"  # result of a dropped call; "" for a dropped statement
    number: int = -1


@dataclass
class Function:
    file: str
    name: str
    body: Node
    calls: set[str] = field(default_factory=set)


def locate(tree: Node, main: str) -> None:
    """Store the file in each location; clang names it only if it differs from the file of the previous location."""
    current = main

    def walk(node: Any) -> None:
        nonlocal current
        if isinstance(node, list):
            for entry in node:
                walk(entry)
        elif isinstance(node, dict):
            if "offset" in node:
                current = node.get("file", current)
                node["file"] = current
            for key, entry in node.items():
                if key != "includedFrom" and isinstance(entry, dict | list):
                    walk(entry)

    walk(tree)


def descend(node: Node) -> Iterator[Node]:
    yield node
    for child in node.get("inner", ()):
        yield from descend(child)


def callee(node: Node) -> str | None:
    """Name of the declaration that a call refers to; None for a call through any other expression, as a member."""
    if node.get("kind") != "CallExpr":
        return None
    at: Node = node["inner"][0]
    while at.get("kind") in ("ImplicitCastExpr", "ParenExpr") and at.get("inner"):
        at = at["inner"][0]
    return at.get("referencedDecl", {}).get("name") if at.get("kind") == "DeclRefExpr" else None


def closing(text: str, at: int) -> int:
    """End of a parenthesis that opens at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i + 1
    raise ValueError("a parenthesis without its end")


def source_range(node: Node, text: str) -> Range | None:
    ends = [node.get("range", {}).get(end, {}) for end in ("begin", "end")]
    first, last = (end.get("expansionLoc", end) for end in ends)
    if "offset" not in first or "offset" not in last:
        return None
    end = last["offset"] + last["tokLen"]
    if "expansionLoc" in ends[1] and (more := re.match(r"\s*\(", text[end:])):
        end = closing(text, end + more.end() - 1)
    return Range(first["offset"], end)


class Finder:
    """Collects the sites of one function."""

    def __init__(self, subject: Subject, persisting: set[str], function: Function, text: str) -> None:
        self.subject, self.persisting, self.function, self.text = subject, persisting, function, text
        self.dropped = {*subject.persists, *subject.drops, *subject.fails, *(n for pair in subject.locks for n in pair)}
        self.found: list[tuple[str, str, list[Range], str]] = []  # kind, text, ranges, value
        self.locks: list[tuple[str, Range, str]] = []

    def sites(self) -> list[tuple[str, str, list[Range], str]]:
        self.visit(self.function.body)
        self.pair_locks()
        return self.found

    def visit(self, node: Node) -> None:
        kind, inner = node.get("kind"), node.get("inner", [])
        if kind == "CompoundStmt":
            self.swaps(inner)
        elif kind in ("CallExpr", "AtomicExpr"):
            self.call(node)
        elif kind in ("DoStmt", "GCCAsmStmt"):
            self.fence(node)
        for child in inner:
            self.visit(child)

    def call(self, node: Node) -> None:
        where = source_range(node, self.text)
        name = re.match(r"\w+", self.text[where.begin : where.end]) if where else None
        if not where or not name or name[0] not in self.dropped:
            return
        value = "1" if name[0] in self.subject.fails else "0"
        if node.get("type", {}).get("qualType") == "void":
            value = "(void)0"
        if form := dict(self.subject.values).get(name[0]):
            value = form.format(self.words(where).partition("(")[2].removesuffix(")"))
        if any(name[0] in pair for pair in self.subject.locks):
            self.locks.append((name[0], where, value))
        else:
            self.add("drop", self.words(where), [where], value)

    def fence(self, node: Node) -> None:
        """Add a fence of the kernel, which is a macro that expands to a statement."""
        where = source_range(node, self.text)
        if where and (name := re.match(r"\w+", self.text[where.begin : where.end])) and name[0] in self.subject.fences:
            self.add("drop", self.words(where), [where], "")

    def pair_locks(self) -> None:
        """The locks and unlocks of the same object in the function are one site: dropped alone, either would hang."""
        groups: dict[tuple[str, str], tuple[str, list[Range]]] = {}
        for name, where, value in self.locks:
            lock, unlock = next(pair for pair in self.subject.locks if name in pair)
            where.value = value
            group = (unlock or lock, self.words(where).partition("(")[2])
            groups.setdefault(group, (lock, []))[1].append(where)
        for (_, rest), (name, ranges) in groups.items():
            self.add("no-lock", f"{name}({rest}", ranges, "")

    def words(self, where: Range) -> str:
        return " ".join(self.text[where.begin : where.end].split())

    def add(self, kind: str, text: str, ranges: list[Range], value: str) -> None:
        self.found.append((kind, text, ranges, value))

    def persists(self, node: Node) -> bool:
        return node.get("kind") in STATEMENTS and any(callee(child) in self.persisting for child in descend(node))

    def swaps(self, statements: list[Node]) -> None:
        for first, second in itertools.pairwise(statements):
            if not (self.persists(first) and self.persists(second)):
                continue
            ranges = [r for node in (first, second) if (r := source_range(node, self.text))]
            if len(ranges) < 2 or ranges[0].end > ranges[1].begin:
                continue
            for where in ranges:
                if more := re.match(r"\s*;", self.text[where.end :]):
                    where.end += more.end()
            words = " <-> ".join(self.words(where)[:90] for where in ranges)
            if "#" not in self.text[ranges[0].begin : ranges[1].end]:
                self.add("swap", words, ranges, "")


class Table:
    """Functions of a subject, from the syntax trees of its translation units."""

    def __init__(self, subject: Subject, tree: Path) -> None:
        self.subject, self.tree = subject, tree
        self.files = {str(p.resolve()): str(p.relative_to(tree)) for g in subject.sources for p in tree.glob(g)}
        self.functions: dict[tuple[str, int], Function] = {}

    def read(self, command: list[str], directory: Path, source: Path) -> None:
        run = subprocess.run([*command, "-Xclang", "-ast-dump=json"], cwd=directory, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"mutants: {source}: clang found no syntax tree:\n{run.stderr}")
        tree = json.loads(run.stdout)
        locate(tree, str(source))
        for node in tree["inner"]:
            begin = node.get("range", {}).get("begin", {})
            begin = begin.get("expansionLoc", begin)
            self.add(node, str((directory / begin.get("file", "")).resolve()))

    def add(self, node: Node, path: str) -> None:
        """Add a declaration in a file if it is a function of the subject."""
        body = [child for child in node.get("inner", ()) if child.get("kind") == "CompoundStmt"]
        begin = node.get("range", {}).get("begin", {})
        begin = begin.get("expansionLoc", begin)
        file = self.files.get(path)
        if node.get("kind") == "FunctionDecl" and body and file:
            calls = {name for n in descend(body[0]) if (name := callee(n))}
            self.functions[file, begin["offset"]] = Function(file, node["name"], body[0], calls)

    def persisting(self) -> set[str]:
        """Functions that store, flush or fence, directly or through others."""
        names = set(self.subject.persists)
        while more := {f.name for f in self.functions.values() if f.calls & names} - names:
            names |= more
        return names

    def sites(self) -> list[Site]:
        persisting, found = self.persisting(), []
        seen: dict[str, int] = {}
        for _, function in sorted(self.functions.items()):
            text = (self.tree / function.file).read_text()
            for kind, words, ranges, value in Finder(self.subject, persisting, function, text).sites():
                base = f"{Path(function.file).name} {function.name}: {kind} {words}"
                seen[base] = seen.get(base, 0) + 1
                line = text.count("\n", 0, ranges[0].begin) + 1
                found.append(Site(f"{base} #{seen[base]}", kind, function.file, line, ranges, value))
        unique = {(s.file, s.kind, s.ranges[0].begin, s.ranges[-1].end): s for s in reversed(found)}
        ordered = sorted(unique.values(), key=lambda s: (s.file, s.ranges[0].begin, s.kind))
        for number, site in enumerate(ordered):
            site.number = number
        return ordered
