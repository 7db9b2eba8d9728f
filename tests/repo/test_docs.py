# SPDX-License-Identifier: BSD-3-Clause
"""The commands in the documents work, and the targets of their links exist."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from conftest import CALIBRATION_RESULTS, MockExecutor, QuietReporter
from mutants.__main__ import arguments
from mutants.subjects import SUBJECTS
from rigs import report_sample
from rigs.cluster.cluster_lab import (
    HOME,
    INTRUDER,
    MOCKED,
    PATIENCE_S,
    Lab,
    fill_with_mocks,
    hosts,
    result_bytes,
    wait_for,
    write_mock_manifest,
)
from rigs.guest.tbfs_rig import write_xfstests
from rigs.trace_writer import small_trace
from testbed.build import components
from testbed.cli.main import app
from testbed.crash import shipped
from testbed.guest.session import Session
from testbed.manifest import bases, render
from testbed.paths import REPO
from testbed.run.runner import drive, run_all

DOCUMENTS = sorted([REPO / "README.md", *(REPO / "docs").rglob("*.md")])
TUTORIALS = sorted((REPO / "docs/tutorial").glob("*.md"))  # test_tutorial.py executes them

# Every command belongs to the first kind that matches, and every kind has a test below.
KINDS = {
    "make": r"(SCALE=\w+ )?make ",
    "cluster": r"\.venv/bin/testbed (certificates|scheduler|worker)\b|.* (tcp|tls)://",
    "ansible": r"\.\./\.venv/bin/ansible-playbook ",
    "replay": r"testbed replay ",
    "results": r"testbed (explain|diff) ",
    "xfstests": r"testbed exec .*--file xfstests ",
    "testbed": r"(\.venv/bin/)?testbed ",
    "native": r"(cmake|ninja|ctest|snapcc) |build/|SNAPSHOT_\w+=",
    "coverage": r"tests/coverage\.sh",
    "mutants": r"tests/mutants\.sh ",
    "pytest": r"(\.venv/bin/python -m pytest|tests/python\.sh) ",
}
NATIVE = REPO / "build" / "native"  # tests/native.sh has built the targets of these commands here


def typed(path: Path) -> list[str]:
    """Every `$ ` line of a document's console blocks, without its comment."""
    blocks = re.findall(r"```console\n(.*?)```", path.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [re.sub(r"\s+# .*", "", line[2:]) for line in lines]


def kind_of(command: str) -> str:
    return next((kind for kind, pattern in KINDS.items() if re.match(pattern, command)), "of no kind")


def commands(kind: str, documents: list[Path] = DOCUMENTS) -> list[str]:
    """The documents' commands of one kind, each once, in reading order."""
    found = [command for path in documents if path not in TUTORIALS for command in typed(path)]
    return [command for command in dict.fromkeys(found) if kind_of(command) == kind]


def run(words: list[str], folder: Path = REPO, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "testbed", *words]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL, env=env)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_every_command_is_of_a_kind_that_is_tested(path: Path) -> None:
    """Commands must be in console blocks, because no test finds them elsewhere."""
    if path not in TUTORIALS:
        assert [command for command in typed(path) if kind_of(command) == "of no kind"] == []
    prose = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    hidden = [line for line in prose.splitlines() if line.startswith("    ") and kind_of(line.strip()) in KINDS]
    assert hidden == []


def test_every_kind_has_commands() -> None:
    """Without commands of its kind, a test below would pass without checking anything."""
    assert [kind for kind in KINDS if not commands(kind)] == []


@pytest.mark.parametrize("command", commands("make"))
def test_make_knows_the_verbs(command: str) -> None:
    subprocess.run(command.replace("make", "make -n"), shell=True, cwd=REPO, check=True, capture_output=True)


@pytest.mark.parametrize("command", commands("mutants"))
def test_mutants_have_the_options(command: str) -> None:
    assert arguments(shlex.split(command)[1:]).subject in SUBJECTS


@pytest.mark.parametrize("command", commands("pytest"))
def test_what_pytest_is_asked_for_exists(command: str) -> None:
    chosen = re.sub(KINDS["pytest"], "", command, count=1)
    subprocess.run([sys.executable, "-m", "pytest", "--collect-only", *shlex.split(chosen)], cwd=REPO, check=True)


PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|(?<![\w.-])[ABNX]\b|[…<*]|\.\.\.|[|]")  # a word that the reader replaces


def written(path: Path) -> list[str]:
    """The complete `testbed` commands of a page, each once: of its console blocks and its inline code."""
    inline = [code for code in re.findall(r"`(testbed [a-z][^`]*)`", path.read_text()) if not PLACEHOLDER.search(code)]
    blocks = [command for command in typed(path) if kind_of(command) in ("testbed", "results", "replay", "xfstests")]
    return list(dict.fromkeys([*blocks, *(re.sub(r"\s*\|\| .*", "", code) for code in inline)]))


def parsed(command: str) -> tuple[str, dict[str, Any]]:
    """Parse a command by the declarations of the command line, without running it: its name and its values."""
    words = shlex.split(re.sub(r"\s*\|\| .*", "", command))[1:]
    found: Any = typer.main.get_command(app)
    name = "testbed"
    while hasattr(found, "commands"):
        if not words or words[0] not in found.commands:
            return name, {}  # `testbed kernel` in a sentence
        name = words.pop(0)
        found = found.commands[name]
    if "--help" in words:
        return name, {}
    return name, dict(found.make_context(name, words).params)


def missing(command: str, page: Path) -> list[str]:
    """The manifests and files of a command that neither exist nor are made by an earlier part of the page."""
    name, values = parsed(command)
    files = [value for key in ("script", "file", "media") for value in as_list(values.get(key))]
    lost = [str(file) for file in files if key_made(str(file), page) and not (REPO / file).exists()]
    for value in as_list(values.get("manifest")):
        path = (REPO / str(value)) if str(value).endswith(".toml") else bases.find(str(value))
        lost += [str(value)] if not path.exists() and f"`{value}`:" not in page.read_text() else []
    if name == "crash" and values.get("test") and not str(values["test"]).endswith(".toml"):
        shipped.find(str(values["test"]))
    return lost


def as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def key_made(file: str, page: Path) -> bool:
    """Whether a file is expected in the clone: files of build/ and of the reader are made before."""
    return not file.startswith(("build/", "/")) and "/" in file and f"`{file}`:" not in page.read_text()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(REPO)))
def test_every_testbed_command_of_a_page_is_one_of_the_command_line(path: Path) -> None:
    """Options exist, values have their kinds, manifests and files exist. The tests below execute those of blocks."""
    blocks, faults = typed(path), []
    for command in written(path):
        try:
            faults += [f"{command}: {lost} does not exist" for lost in missing(command, path)]
        except Exception as error:
            named = command not in blocks and type(error).__name__ == "MissingParameter"  # in a sentence
            faults += [] if named else [f"{command}: {error}"]
    assert faults == []


def test_a_command_that_does_not_exist_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ testbed run no-such-manifest\n$ testbed run kv-ycsb --sedes 5\n```\n`testbed crash gone`"
    )
    assert written(page) == ["testbed run no-such-manifest", "testbed run kv-ycsb --sedes 5", "testbed crash gone"]
    for command in written(page):
        with pytest.raises(Exception, match=r"no-such-manifest|sedes|gone"):
            assert missing(command, page) == []


@pytest.mark.guest
@pytest.mark.parametrize("command", commands("testbed"))
def test_testbed_commands_work(command: str, tmp_path: Path) -> None:
    words = shlex.split(command)[1:]
    if words[0] in ("shell", "top"):  # need a terminal, or a running guest of this test, and say so
        assert run(words, TMPDIR=str(tmp_path)).returncode == 2
    elif words[0] in ("run", "sweep", "figures"):  # take minutes; a dry run checks that the runs are possible
        done = run(words if "--dry-run" in words else [*words, "--dry-run"])
        assert done.returncode == 0, done.stderr
    else:
        # `calibrate` reuses the results of test_calibration.py.
        of_calibration = {"TESTBED_RESULTS": str(CALIBRATION_RESULTS)} if words[0] == "calibrate" else {}
        done = run(words, REPO, **of_calibration)
        assert done.returncode == 0, done.stderr


@pytest.mark.guest
@pytest.mark.parametrize("command", commands("xfstests"))
def test_a_user_s_xfstests_get_two_devices(command: str, tmp_path: Path) -> None:
    """The user has to build xfstests; the test uses a stand-in."""
    (tmp_path / "guest-image").symlink_to(REPO / "guest-image")
    write_xfstests(tmp_path / "xfstests")
    done = run(shlex.split(command)[1:], tmp_path)
    assert "tbfs /tmp/test -g quick\nsound\nstatus 4\n" in done.stdout, done.stdout + done.stderr


def test_results_are_explained_and_compared(tmp_path: Path) -> None:
    """Mock guests give the results that the commands name; a difference ends with the documented status."""
    runs = [run for run in render.runs(bases.find("kv-ycsb")) if run.label in ("A-snapshot-1", "A-pmdk-1")]
    for root in (tmp_path / "results", tmp_path / "other-clone/results"):
        drive(run_all(runs, Session(MockExecutor(), {"qemu": "q" * 64}), root, QuietReporter()))
    (tmp_path / "here").mkdir()
    (tmp_path / "here/results").symlink_to(tmp_path / "results")
    for clone in ("here", "other-clone"):
        report_sample.write(tmp_path / clone / "build/figures", tmp_path / "sample")
    statuses = {}
    for command in commands("results"):
        words = [sys.executable, "-m", "testbed", *shlex.split(command)[1:]]
        environment = os.environ | {"TESTBED_RESULTS": str(tmp_path / "results")}
        done = subprocess.run(words, cwd=tmp_path / "here", env=environment, capture_output=True, text=True)
        statuses[command] = done.returncode
    assert sorted(statuses.items()) == [
        ("testbed diff build/figures ../other-clone/build/figures", 0),
        ("testbed diff kv-ycsb/A-snapshot-1 kv-ycsb/A-pmdk-1", 1),
        ("testbed diff results ../other-clone/results", 0),
        ("testbed explain kv-ycsb/A-snapshot-1", 0),
    ]


@pytest.mark.parametrize("command", commands("replay"))
def test_a_trace_is_replayed(command: str, tmp_path: Path) -> None:
    (tmp_path / "kv.trace").write_bytes(small_trace().bytes())
    (tmp_path / "points.txt").write_text("device.cache-size=2M\ndevice.flash-read=3us\n")
    words = [sys.executable, "-m", "testbed", *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    not_as_captured = "--check" in words  # no model wrote this trace; test_guest_replay.py has others
    assert (done.returncode, done.stdout != "") == (int(not_as_captured), True), done.stderr


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if commands("native", [p])], ids=lambda p: p.name)
def test_what_is_built_natively_works(path: Path, tmp_path: Path) -> None:
    """A document's commands run in order, as one script, on builds of tests/native.sh; builds stop before compiling."""
    script = [in_a_scratch_folder(command, tmp_path) for command in commands("native", [path])]
    example = REPO / "snapshot-lib/examples/counter.c"
    install = f"cmake --install {NATIVE}/snapshot-lib --prefix {tmp_path}/installed"
    before = [install, f"cp {example} ."] if any(line.startswith("snapcc ") for line in script) else []
    for part in ("snapshot-lib", "qemu-patches", "tests"):
        (tmp_path / part).symlink_to(REPO / part)
    environment = os.environ | {"PATH": f"{tmp_path}/installed/bin:{os.environ['PATH']}", "PMEM_IS_PMEM_FORCE": "1"}
    lines = "\n".join(["set -eu", *before, *script])
    done = subprocess.run(["bash", "-c", lines], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def in_a_scratch_folder(command: str, folder: Path) -> str:
    """A native command as the test runs it: a build is configured and lists its steps, a program is the built one."""
    command = command.replace("/dev/shm/", f"{folder}/")
    if re.match("cmake|ninja|ctest", command):
        return command.replace("ninja ", "ninja -n ").replace("ctest ", "ctest -N ")
    return re.sub(r"^(SNAPSHOT_\w+=\S+ )?build/", rf"\1{NATIVE}/", command)


def test_coverage_is_what_is_claimed() -> None:
    for command in commands("coverage"):
        done = subprocess.run(command, shell=True, cwd=REPO, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    for wrong, said in ((["coverage.sh", "memory/none.c"], "there is no"), (["native.sh", "model"], "no part model")):
        refused = subprocess.run([f"tests/{wrong[0]}", wrong[1]], cwd=REPO, capture_output=True, text=True)
        assert (refused.returncode, said in refused.stderr) == (2, True)


@pytest.mark.parametrize("command", commands("ansible"))
def test_playbooks_take_the_documented_options(command: str) -> None:
    words = shlex.split(command.replace("inventory.yml", "inventory.example.yml"))
    done = subprocess.run([*words, "--syntax-check"], cwd=REPO / "ansible", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Lab]:
    """A host in a separate network, with mocks of every component."""
    with hosts(tmp_path / "lab", 1) as lab:
        fill_with_mocks(lab.path("head", HOME / "cache"), components.keys(MOCKED))
        yield lab


def test_a_cluster_is_made_by_hand(host: Lab, tmp_path: Path) -> None:
    """First of this host, then of several, with a manifest of mock guests. Hosts without certificates are refused."""
    few = write_mock_manifest(tmp_path / "few.toml", runs=3, pause_s=0.1)
    services: list[subprocess.Popen[str]] = []
    made = 0
    for command in commands("cluster"):
        words = shlex.split(command.replace("HOST", host.address("head")).replace("kv-ycsb", str(few)))
        results = tmp_path / f"results-{made}"
        environment = ("-C", tmp_path, f"TESTBED_CACHE={HOME}/cache", f"TESTBED_RESULTS={results}")
        process = host.start("env", *environment, REPO / words[0], *words[1:])
        if words[1] in ("scheduler", "worker"):
            services.append(process)
            wait_for("the service", lambda: len(open_ports(host)) >= 2 * len(services))
        else:
            _, said = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, said
            made += len(result_bytes(results)) == 3
            assert refused_to_others(host)
    assert made == 2
    assert [process.poll() for process in services] == [None] * 4


def open_ports(host: Lab) -> list[str]:
    return [line.split()[3] for line in host.on("head", "ss", "-Hltn").stdout.splitlines()]


def refused_to_others(host: Lab) -> bool:
    """Whether every port of this host refuses another host without certificates."""
    ports = [where.rpartition(":")[2] for where in open_ports(host)]
    there = [f"{scheme}://{host.address('head')}:{port}" for port in ports for scheme in ("tcp", "tls")]
    tried = host.on("worker1", REPO / ".venv/bin/python", INTRUDER, "-", *there).stdout.splitlines()
    return tried == ["refused"] * len(there)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings: lower-case letters and digits, a hyphen for each space, no quotes of code."""
    headings = re.findall(r"^#+ +(.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links_to_no_heading(path: Path) -> list[str]:
    found = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", path.read_text())
    pages = [(path.parent / name if name else path, anchor) for name, anchor in found]
    return [f"{page.name}#{anchor}" for page, anchor in pages if anchor not in anchors(page.read_text())]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_to_headings_lead_to_one(path: Path) -> None:
    assert links_to_no_heading(path) == []


def test_a_link_to_a_heading_that_is_gone_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# What `a b` is\n```\n# code\n```\n[1](#what-a-b-is) [2](page.md#code) [3](page.md#gone)\n")
    assert links_to_no_heading(page) == ["page.md#code", "page.md#gone"]


def test_the_index_has_one_line_for_each_page() -> None:
    text = (REPO / "docs/README.md").read_text().partition("## What each page is for")[2]
    listed = re.findall(r"^\| \[\w[\w -]*\]\(([^)#]+)\)", text, re.MULTILINE)
    pages = [str(path.relative_to(REPO / "docs")) for path in DOCUMENTS if path.parents[1] == REPO / "docs"]
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_files_of_tests_that_a_document_names_exist(path: Path) -> None:
    """Paths are relative to the clone, or to the part that the document describes."""
    named = set(re.findall(r"(?<![\w/-])tests/[\w/.-]+\.(?:py|sh|cpp|hpp|c)\b", path.read_text()))
    homes = (REPO, REPO / "snapshot-lib", REPO / "qemu-patches/model")
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []


def test_ci_runs_the_readmes_test_command() -> None:
    assert "\nexec make test\n" in (REPO / ".ci" / "run").read_text()
    assert "make test" in commands("make")
