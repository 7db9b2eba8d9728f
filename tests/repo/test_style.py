# SPDX-License-Identifier: BSD-3-Clause
"""The style of the repository, as tests over its files."""

import ast
import re
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

from analysis.catalogue.entries import FIGURES, STUDIES
from analysis.scorecard import causes
from testbed.manifest import bases
from testbed.paths import REPO

FUNCTION_LINES_MAX = 70
TEXT = {".py", ".sh", ".c", ".h", ".cpp", ".hpp", ".cc", ".toml", ".yml", ".md", ".cfg", ".patch", ".txt", ".cmake", ""}
NO_SPDX = re.compile(
    r"^(LICENSES/|guest-image/image/overlay/etc/|.*\.(md|csv|lock|patch|ll|supp|json|txt|list)$|.*(series|/corpus/.*|/packages/.*)$)"
)

# Folders that become a part of QEMU or of Linux.
GPL = ("qemu-patches/", "guest-image/modules/fams/module/", "guest-image/modules/tbfs/module/")


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPO, capture_output=True, check=True).stdout.decode()
    return [path for name in listed.split("\0") if name and (path := REPO / name).is_file()]


def relative(path: Path) -> str:
    return str(path.relative_to(REPO))


def test_every_source_file_names_its_licence() -> None:
    bad = []
    for path in tracked():
        name = relative(path)
        if NO_SPDX.match(name) or path.stat().st_size == 0:
            continue
        wanted = "GPL-2.0-or-later" if name.startswith(GPL) else "BSD-3-Clause"
        head = "\n".join(path.read_text(errors="replace").splitlines()[:12])
        if f"SPDX-License-Identifier: {wanted}" not in head:
            bad.append(f"{name}: {wanted} is missing in the first lines")
    assert bad == []


def test_nothing_names_a_machine_or_a_registry() -> None:
    words = ["/wo" + "rk/", "/fa" + "rm/", "deb.debi" + "an.org", "pypi." + "org", "pythonhost" + "ed"]
    home = r'(?<![\w}*/"])/ro' + "ot/"  # of this machine; $work/root and the guest's own are allowed
    pattern = re.compile("|".join([*map(re.escape, words), home]))
    bad = [
        f"{relative(path)}:{number}"
        for path in tracked()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert bad == []


def test_python_functions_are_short() -> None:
    bad = []
    for path in tracked():
        if path.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    bad.append(f"{relative(path)}: {node.name} has {lines} lines")
    assert bad == []


def c_function_lengths(text: str) -> list[int]:
    """Lines from each `{` to its `}` in column 0."""
    lengths, start = [], None
    for number, line in enumerate(text.splitlines()):
        if line == "{" or (line.endswith(") {") and line[:1].isalpha()):
            start = number
        elif line == "}" and start is not None:
            lengths.append(number - start + 1)
            start = None
    return lengths


def test_c_functions_are_short() -> None:
    bad = []
    for path in tracked():
        if path.suffix in (".c", ".cc", ".cpp", ".h", ".hpp"):
            longest = max(c_function_lengths(path.read_text()), default=0)
            if longest > FUNCTION_LINES_MAX:
                bad.append(f"{relative(path)}: a function has {longest} lines")
    assert bad == []


def test_nothing_is_left_to_do() -> None:
    """Lines that a patch does not add belong to the patched project."""
    pattern = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|pytest\.mark\.(sk" + r"ip|xf" + r"ail)")
    bad = []
    for path in tracked():
        lines = path.read_text(errors="replace").splitlines() if path.suffix in TEXT else []
        ours = [line for line in lines if path.suffix != ".patch" or not line.startswith((" ", "-"))]
        if pattern.search("\n".join(ours)):
            bad.append(relative(path))
    assert bad == []


def looked_up(python: str) -> set[str]:
    """The constants that the program passes to find(): names of manifests, among others."""
    calls = (node for node in ast.walk(ast.parse(python)) if isinstance(node, ast.Call))
    found = (call.args for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "find")
    return {str(word.value) for words in found for word in words if isinstance(word, ast.Constant)}


def run_by(document: str) -> set[str]:
    """The words of the commands in a document that take a manifest."""
    lines = re.findall(r"testbed (?:run|sweep|status|build) ([^`\n#]*)", document)
    return {word for line in lines for word in line.split()}


def test_every_manifest_is_used() -> None:
    """A manifest that no figure, study, test of a cause, program or documented command runs is dead.

    Other occurrences of its name do not count, because the name may be an ordinary word.
    """
    used = {name for entry in (*FIGURES, *STUDIES) for name in (*entry.manifests, *entry.sweeps)} | set(
        causes.manifests()
    )
    readers = {".py": looked_up, ".md": run_by}
    for path in tracked():
        if path.suffix in readers:
            used |= readers[path.suffix](path.read_text(errors="replace"))
    assert [path.stem for path in bases.shipped() if path.stem not in used] == []


def test_a_manifest_whose_name_is_only_a_word_is_not_used() -> None:
    assert looked_up('"speed"\nx = {"wear": 1}\nsort("list")\ntext.find(y)') == set()
    assert looked_up('bases.find("speed")') == {"speed"}
    assert run_by("the `list` of wear at full speed; `testbed results list`") == set()
    assert run_by("`testbed run wear --scale 8` and\n$ testbed sweep list --replay # of speed") >= {"wear", "list"}
    assert "speed" not in run_by("$ testbed sweep list --replay # of speed")


C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
C_SUFFIXES = (".c", ".cc", ".cpp", ".h", ".hpp")


def c_comments(text: str) -> list[str]:
    return [token for token in C_TOKEN.findall(text) if token[0] == "/"]


def without_c_comments(text: str) -> str:
    return C_TOKEN.sub(lambda token: " " if token[0][0] == "/" else token[0], text)


def python_comments(path: Path) -> list[str]:
    """Comments and docstrings."""
    kinds = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    said = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]
    with path.open("rb") as file:
        return said + [token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT]


def python_names(text: str) -> set[str]:
    """The names that the code defines or uses."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        found |= {str(getattr(node, key)) for key in ("name", "id", "attr") if hasattr(node, key)}
    return found


def names_in_code(paths: list[Path]) -> set[str]:
    """Every word of the sources outside comments; for upstream's sources, every word of the patches."""
    found: set[str] = set()
    for path in paths:
        text = path.read_text(errors="replace")
        if path.suffix in C_SUFFIXES:
            found.update(re.findall(r"\w+", without_c_comments(text)))
        elif path.suffix == ".py":
            found |= python_names(text)
        elif path.suffix == ".patch":
            found.update(re.findall(r"\w+", text))
    return found


def functions_named(path: Path) -> list[str]:
    """Every name() in comments, and in the inline code of documents."""
    if path.suffix in C_SUFFIXES:
        return re.findall(r"\b([A-Za-z_]\w*)\(\)", "\n".join(c_comments(path.read_text())))
    if path.suffix == ".py":
        return re.findall(r"\b([A-Za-z_]\w*)\(\)", "\n".join(python_comments(path)))
    return re.findall(r"`(?:\w+(?:\.|::))*(\w+)\(\)`", path.read_text()) if path.suffix == ".md" else []


def test_functions_that_comments_and_documents_name_exist() -> None:
    paths = tracked()
    known, named = names_in_code(paths), [(relative(path), name) for path in paths for name in functions_named(path)]
    assert len(named) > 100
    assert [f"{where}: {name}() is nowhere" for where, name in named if name not in known] == []


def declarations(header: str) -> list[str]:
    """Externs and prototypes at the begin of a line, each on one line."""
    found = re.findall(r"^(?:extern [^;{}]*|[a-z][\w \*]*\([^;{}]*\));", without_c_comments(header), re.MULTILINE)
    return [" ".join(declaration.split()) for declaration in found]


def test_headers_declare_everything_once() -> None:
    bad, seen = [], 0
    for path in tracked():
        if path.suffix in (".h", ".hpp"):
            counted = Counter(declarations(path.read_text()))
            seen += len(counted)
            bad += [f"{relative(path)}: {what} {times} times" for what, times in counted.items() if times > 1]
    assert seen > 400
    assert bad == []
