# SPDX-License-Identifier: BSD-3-Clause
"""Every function of libc and libstdc++ that may write through a pointer is tracked, refused or left for a reason.

writers_test.py ABI.DEF UNTRACKED.DEF: the functions come from clang's syntax tree of all headers of libc6-dev and from
the exports of the libraries; each must be in one list, and each entry of a list must still be a function.
"""

from __future__ import annotations

import fnmatch
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEADERS = Path("/usr/include")
# Not for programs: parts of other headers, other machines, and one that needs macros of its includer.
PRIVATE = re.compile(r"^(bits|gnu|finclude)/|/bits/|^sys/(elf|vm86)\.h$|^regexp\.h$")
LIBRARIES = ["c", "m", "resolv", "anl", "thread_db", "util", "rt", "pthread", "dl"]
# The functions under these names depend on glibc's version.
VERSIONED = re.compile(r"^(__isoc23_\w+|strlc(py|at))$")


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exported(library: Path) -> set[str]:
    symbols = re.findall(r" [TWiV] (\S+)", output("nm", "-D", "--defined-only", str(library)))
    return {symbol.split("@")[0] for symbol in symbols}


def library(name: str) -> Path:
    return Path(output("clang-19", f"-print-file-name={name}").strip())


def libc_symbols() -> set[str]:
    paths = [next(iter(sorted(library("libc.so.6").parent.glob(f"lib{name}.so.*"))), None) for name in LIBRARIES]
    return set().union(*(exported(path) for path in paths if path))


def public_headers() -> list[str]:
    files = output("dpkg", "-L", "libc6-dev").split()
    names = {re.sub(r"^/usr/include/(x86_64-linux-gnu/)?", "", name) for name in files if name.endswith(".h")}
    return sorted(name for name in names if not PRIVATE.search(name))


def syntax_tree() -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write("#define _GNU_SOURCE 1\n" + "".join(f"#include <{name}>\n" for name in public_headers()))
        source.flush()
        flags = ["-std=gnu17", "-O2", "-D_FORTIFY_SOURCE=2", "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json"]
        tree: dict[str, Any] = json.loads(output("clang-19", *flags, source.name))
    return tree


def pointee(spelled: str) -> str | None:
    """The memory that is written through a parameter of this type: None if nothing is."""
    kind = re.sub(r"\b(__)?restrict\b|\s", "", re.sub(r"\bconst\b", " const ", spelled).replace("const ", "const#"))
    kind = kind.replace("#", "").removesuffix("const")
    if "(" in kind or not kind.endswith(("*", "]")):
        return None
    target = re.sub(r"(\*|\[\w*\])$", "", kind)
    return None if target.endswith("const") or re.match(r"const[^*]*$", target) else target


@dataclass
class Lists:
    tracked: list[str]
    refused: dict[str, str] = field(default_factory=dict)  # reason of each
    left: dict[str, str] = field(default_factory=dict)
    left_cxx: dict[str, str] = field(default_factory=dict)
    opaque: set[str] = field(default_factory=set)


def read_lists(abi: str, untracked: str) -> Lists:
    lists = Lists(re.findall(r"^SNAPSHOT_ABI_LIBC\((\w+)\)$", abi, re.MULTILINE))
    for kind, body in re.findall(
        r"^SNAPSHOT_(REFUSED|LEFT|LEFT_CXX|OPAQUE)\(\s*(\".*?)\)$", untracked, re.MULTILINE | re.DOTALL
    ):
        reason, *texts = re.findall(r'"([^"]*)"', body)
        text = "".join(texts)
        if kind == "OPAQUE":
            lists.opaque |= set(text.split())
        elif kind == "REFUSED":
            lists.refused |= {word.split(":")[0]: reason for word in text.split()}
        elif kind == "LEFT":
            lists.left |= dict.fromkeys(text.split(), reason)
        else:
            lists.left_cxx |= dict.fromkeys((word.strip() for word in text.split(";")), reason)
    return lists


def function_type(spelled: str) -> bool:
    return "(" in spelled


def pointer_target(spelled: str) -> str:
    return re.sub(r"(\*\s*(restrict|__restrict|const)?|\[\w*\])$", "", spelled).strip().removesuffix("const").strip()


class Records:
    """Structures and unions of the headers: which of them lead to memory that a callee may write."""

    def __init__(self, nodes: list[dict[str, Any]], opaque: set[str]) -> None:
        self.opaque = opaque
        self.fields: dict[str, list[dict[str, Any]]] = {}
        self.of_typedef: dict[str, str] = {}
        for node in nodes:
            self.collect(node)

    def collect(self, node: dict[str, Any]) -> None:
        if node["kind"] == "TypedefDecl":
            self.of_typedef[node["name"]] = node["type"].get("desugaredQualType", node["type"]["qualType"])
        if node["kind"] != "RecordDecl" or not node.get("completeDefinition"):
            return
        fields = [inner for inner in node.get("inner", []) if inner["kind"] == "FieldDecl"]
        for inner in node.get("inner", []):
            self.collect(inner)
            if inner["kind"] == "RecordDecl" and "name" not in inner:  # its fields are used as the outer structure's
                fields += [field for field in inner.get("inner", []) if field["kind"] == "FieldDecl"]
        if "name" in node:
            self.fields[f"{node['tagUsed']} {node['name']}"] = fields
        self.fields[node["id"]] = fields

    def record_of(self, spelled: str) -> str:
        name = re.sub(r"\b(const|volatile|restrict|__restrict)\b", "", spelled).strip()
        for _ in range(8):
            if name not in self.of_typedef or self.of_typedef[name] == name:
                return name
            name = re.sub(r"\bconst\b", "", self.of_typedef[name]).strip()
        return name

    def leads_to_memory(self, spelled: str, seen: frozenset[str] = frozenset()) -> bool:
        """True if a value of this type has, in it or behind a const pointer, a pointer that is not const."""
        record = self.record_of(spelled.removesuffix("const").strip())
        if record in seen or record.replace(" ", "") in self.opaque:
            return False
        for part in self.fields.get(record, []):
            spellings = [part["type"][key] for key in ("qualType", "desugaredQualType") if key in part["type"]]
            kind = re.sub(r"\[\d*\]$", "", spellings[-1]).strip()
            if function_type(kind) or self.opaque.intersection(s.replace(" ", "").rstrip("*") for s in spellings):
                continue
            if pointee(kind) or self.leads_to_memory(kind.removesuffix("*"), seen | {record}):
                return True
        return False


def writes_through(kind: dict[str, Any], records: Records) -> bool:
    """True if a function may write through a parameter of this type, be it by way of a structure that is const."""
    spellings = [kind[key] for key in ("qualType", "desugaredQualType") if key in kind]
    targets = [pointee(spelling) for spelling in spellings]
    if records.opaque.intersection([*targets, *spellings]):
        return False
    if targets[-1] or ("*const" in spellings[-1].replace(" ", "") and pointee(pointer_target(spellings[-1]))):
        return True
    return not function_type(spellings[-1]) and records.leads_to_memory(pointer_target(spellings[-1]))


def libc_writers(symbols: set[str], opaque: set[str]) -> set[str]:
    """Functions of the headers, by the linker's name, that may write through an argument.

    An argument is a pointer to something that is not const, a structure with such a pointer, a pointer to such a
    structure, or whatever stands for the dots of a variadic function.
    """
    writers = set()
    nodes = syntax_tree()["inner"]
    records = Records(nodes, opaque)
    for node in nodes:
        name = node.get("mangledName", node.get("name"))
        if node["kind"] != "FunctionDecl" or name not in symbols:
            continue
        parameters = [inner.get("type", {}) for inner in node.get("inner", []) if inner["kind"] == "ParmVarDecl"]
        if node.get("variadic") or any(writes_through(kind, records) for kind in parameters):
            writers.add(name)
    return writers


def memberships(name: str, lists: list[dict[str, str]]) -> list[str]:
    """Which entries a name is covered by."""
    return [
        entry
        for entries in lists
        for entry in entries
        if name == entry or ("*" in entry and fnmatch.fnmatchcase(name, entry))
    ]


def libc_problems(lists: Lists) -> tuple[int, list[str]]:
    symbols = libc_symbols()
    writers = libc_writers(symbols, lists.opaque)
    problems = []
    for name in sorted(writers):
        entries = memberships(name, [lists.refused, lists.left]) + [n for n in lists.tracked if n == name]
        if len(entries) != 1:
            problems.append(f"{name} is in {len(entries)} lists: {', '.join(entries) or 'abi.def and untracked.def'}")
    for name in [*lists.refused, *lists.left]:
        if not VERSIONED.match(name) and not fnmatch.filter(symbols, name):
            problems.append(f"{name} is in untracked.def, but no function of libc")
    known = symbols | exported(library("libstdc++.so.6")) | exported(library("libatomic.so.1"))
    problems += [
        f"{n} is in abi.def, but no function" for n in lists.tracked if n not in known and not VERSIONED.match(n)
    ]
    problems += [f"{n} is tracked and refused" for n in lists.tracked if n in lists.refused]
    return len(writers), problems


def plain_name(demangled: str) -> str:
    """Without template arguments, parameters and the return type: std::basic_istream::get."""
    name = re.sub(r"operator(<=>|<<=?|>>=?|<=?|>=?|->\*?|\(\))", "operator", demangled).replace(
        "(anonymous namespace)", ""
    )
    name = re.sub(r"\[abi:\w+\]", "", name)
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    name = re.sub(r"operator (\w)", r"operator_\1", name)
    while (shorter := re.sub(r"\([^()]*\)( const|&| volatile)*", "", name)) != name:
        name = shorter
    return name.removesuffix("&").removesuffix("&").strip().split(" ")[-1]


def libstdcxx_problems(lists: Lists) -> tuple[int, list[str]]:
    symbols = sorted(exported(library("libstdc++.so.6")) - set(lists.tracked))
    names = subprocess.run(
        ["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True
    ).stdout.split("\n")
    problems, used = [], set()
    for symbol, name in zip(symbols, names, strict=False):
        if not symbol.startswith(("_ZN", "_ZS", "_Zn", "_Zd", "_ZT", "__cxa", "__gxx", "__dyn")):
            continue
        if re.match(r"(non-virtual thunk|virtual thunk|vtable|VTT|typeinfo|guard variable)", name):
            continue
        name = plain_name(name)
        entries = memberships(name, [lists.left_cxx])
        used |= set(entries)
        if len(entries) != 1:
            problems.append(f"{name} is in {len(entries)} lists: {'; '.join(entries) or 'abi.def and untracked.def'}")
    problems += [
        f"{entry} is in untracked.def, but nothing of libstdc++" for entry in lists.left_cxx if entry not in used
    ]
    return len(symbols), problems


def main() -> None:
    lists = read_lists(Path(sys.argv[1]).read_text(), Path(sys.argv[2]).read_text())
    writers, problems = libc_problems(lists)
    functions, more = libstdcxx_problems(lists)
    if problems or more or writers < 800 or functions < 1000:
        raise SystemExit("\n".join(problems + more) or "the headers have no functions")
    print(f"{writers} functions of libc write, {len(lists.refused)} are refused; {functions} functions of libstdc++")


if __name__ == "__main__":
    main()
