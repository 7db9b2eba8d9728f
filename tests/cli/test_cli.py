# SPDX-License-Identifier: BSD-3-Clause
"""The command from the user's view: exit statuses, one sentence for each error, JSON beside tables."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from analysis.catalogue import verify
from conftest import MANIFEST
from testbed import version
from testbed.cli import main
from testbed.replay.replayer import open_replayer


def testbed(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "testbed", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)


testbed.__test__ = False  # type: ignore[attr-defined]

NOTHING_BUILT = """
from testbed.cli import main
def open_session(**_): raise AssertionError("it builds")
main.open_session = open_session
main.main()
"""
BAD_MANIFESTS = [
    ("scale = 64", "scal = 64", "unknown key 'scal'"),
    ("[matrix]", '[device.override]\nlink_latency = "-1ns"\n[matrix]', "'-1ns' is negative"),
    (
        "[matrix]",
        '[device.override]\ncache_size = "64GiB"\n[matrix]',
        "key 'cache_size' (64 GiB) must not exceed capacity",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_MANIFESTS)
def test_a_bad_manifest_is_one_sentence_and_status_2(small_manifest: Path, old: str, new: str, message: str) -> None:
    """The error precedes any build for a guest; the replayer, which judges the manifest, is built before the test."""
    open_replayer()
    small_manifest.write_text(MANIFEST.replace(old, new))
    done = subprocess.run([sys.executable, "-c", NOTHING_BUILT, "run", small_manifest], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"testbed: {small_manifest}: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_manifest_that_is_no_plain_text_is_one_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 3000 + "]" * 3000)
    for name, said in {
        "fifo": "it is neither a file nor a folder",
        "deep.toml": "its values are nested too deeply",
        "a" * 300: "no manifest",
    }.items():
        done = testbed("run", str(tmp_path / name))
        assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def test_a_manifest_may_begin_with_a_byte_order_mark(small_manifest: Path) -> None:
    plain = testbed("run", "--dry-run", str(small_manifest))
    small_manifest.write_bytes(b"\xef\xbb\xbf" + small_manifest.read_bytes())
    marked = testbed("run", "--dry-run", str(small_manifest))
    assert (marked.returncode, marked.stdout) == (0, plain.stdout)


def test_output_that_cannot_be_written_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "testbed", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (1, "testbed: standard output: No space left on device\n")


def test_a_folder_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    gone = "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); from testbed.cli.main import main; "
    command: list[str | Path] = [sys.executable, "-c", gone + "sys.argv[1:] = ['exec', '--', 'true']; main()", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "testbed: this host: No such file or directory\n")


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True)


def test_the_version_names_the_tag_and_the_commit(tmp_path: Path) -> None:
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "--message", "one")
    assert re.fullmatch("[0-9a-f]{7,}", version.commit(tmp_path))
    git(tmp_path, "tag", "v1.2")
    git(tmp_path, "tag", "another")
    assert version.commit(tmp_path) == "v1.2"
    git(tmp_path, "commit", "--allow-empty", "--message", "two")
    assert re.fullmatch("v1.2-1-g[0-9a-f]{7,}", version.commit(tmp_path))
    (tmp_path / "archive").mkdir()  # below a repository that is not the testbed's
    assert version.commit(tmp_path / "archive") == ""
    assert "this is not a clone" in version.text(tmp_path / "archive")


def test_version_is_an_option_of_the_command() -> None:
    done = testbed("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{version.text()}\n", "")


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_has_one_reader(name: str) -> None:
    done = testbed("exec", "--stdin", "--script", name)
    assert (done.returncode, "both read standard input" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("interval", ["-1", "0", "inf", "nan"])
def test_a_watch_needs_an_interval(interval: str) -> None:
    assert testbed("top", "--interval", interval).returncode == 2


def test_a_program_that_does_not_exist() -> None:
    done = testbed("exec", "--", "no-such-program")
    assert (done.returncode, "program 'no-such-program' is not on the PATH" in done.stderr) == (2, True)


def test_an_interrupt_is_one_sentence_and_status_130() -> None:
    program = "def stop(_): raise KeyboardInterrupt\nfrom testbed.cli import main\nmain.bases.find = stop\nmain.main()"
    done = subprocess.run([sys.executable, "-c", program, "run", "latency"], capture_output=True, text=True)
    sentence = "testbed: interrupted; finished results are kept and the next run goes on from them\n"
    assert (done.returncode, done.stderr, done.stdout) == (130, sentence, "")


def test_sigterm_ends_the_build_that_the_command_has_started(tmp_path: Path) -> None:
    """The test sends SIGTERM after an asyncio loop has run, because the loop resets SIGTERM to its default action."""
    program = f"""
import asyncio, os, signal, sys
from dataclasses import replace
from pathlib import Path
from testbed.build import components
from testbed.cli import main
from testbed.run.runner import drive

class Sleeps(components.Component):
    def command(self, *words):
        return ["sh", "-c", "sleep 100 & echo $! > {tmp_path}/child; sleep 0.5; kill -TERM $PPID; wait"]

def build(_):
    drive(asyncio.sleep(0))
    one = components.COMPONENTS["qemu"]
    sleeps = Sleeps(**dict(vars(one), needs=()))
    components._Builder(sleeps, {{}}, Path("{tmp_path}/log"))(Path("{tmp_path}/out"), Path("{tmp_path}/work"))

main.bases.find = build
main.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "run", "kv-ycsb"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, "interrupted" in done.stderr) == (130, True), done
    child = int((tmp_path / "child").read_text())
    status = Path(f"/proc/{child}/stat")
    assert not status.exists() or status.read_text().split()[2] == "Z", "the build goes on"


def test_an_unknown_command_and_option() -> None:
    assert testbed("rum").returncode == 2
    assert testbed("run", "--no-such-option", "latency").returncode == 2


def test_an_unknown_component() -> None:
    done = testbed("build", "kernel")
    assert (done.returncode, "no component 'kernel'" in done.stderr) == (2, True)


def test_the_runs_of_a_manifest_as_table_and_json(small_manifest: Path, tmp_path: Path) -> None:
    done = testbed("run", str(small_manifest), "--dry-run", "--json", str(tmp_path / "runs.json"))
    assert done.returncode == 0
    assert "snapshot" in done.stdout
    runs = json.loads((tmp_path / "runs.json").read_text())
    assert [run["run"] for run in runs] == ["snapshot", "pmdk", "volatile"]


def test_what_figures_would_run(tmp_path: Path) -> None:
    """One figure needs its own runs; all figures also need the experiments that test causes."""
    counts = []
    for names in (["list"], []):
        done = testbed(
            *("figures", *names, "--scale", "standard", "--dry-run", "--json", str(tmp_path / "runs.json")),
            TESTBED_RESULTS=str(tmp_path / "results"),
        )
        assert done.returncode == 0, done.stderr
        runs = json.loads((tmp_path / "runs.json").read_text())
        assert {run["state"] for run in runs} == {"missing"}
        counts.append(len(runs))
    of_figures = [name for name in verify.load(verify.file_of("quick")) if not name.startswith(verify.SEVERAL_CPUS)]
    assert counts == [16, len(of_figures)]


def test_a_truncated_result_is_named(tmp_path: Path) -> None:
    damaged = tmp_path / "results" / "small" / "x.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text('{"checksum": ')
    done = testbed("results", TESTBED_RESULTS=str(tmp_path / "results"))
    assert done.returncode == 2
    assert f"result {damaged} is not whole JSON" in done.stderr
    assert damaged.exists()


def test_a_json_path_that_cannot_be_written(small_manifest: Path) -> None:
    done = testbed("run", str(small_manifest), "--dry-run", "--json", "/proc/no/such/file.json")
    assert done.returncode == 2
    assert "cannot write /proc/no/such/file.json" in done.stderr


def test_a_shell_needs_a_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "testbed", "shell"], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, "needs a terminal" in done.stderr) == (2, True)


COMMANDS = sorted(get_command(main.app).commands)  # type: ignore[attr-defined]
WITHOUT_A_TABLE = {"image", "kernel", "man", "module", "replay", "scheduler", "shell", "top", "worker"}


def test_there_are_commands() -> None:
    assert set(COMMANDS) >= {"run", "sweep", "exec", "status", *WITHOUT_A_TABLE}


def test_no_command_waits_for_libraries_that_draw_before_it_draws() -> None:
    """The import of these libraries takes longer than everything else together."""
    code = "import sys, testbed.cli.main; print([name for name in ('jinja2', 'matplotlib') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_its_table_can_be_had_as_json(command: str) -> None:
    done = testbed(command, "--help")
    assert done.returncode == 0
    assert len(get_command(main.app).commands[command].help.splitlines()[0]) > 30  # type: ignore[attr-defined]
    assert ("--json" in done.stdout) == (command not in WITHOUT_A_TABLE)


def test_help_keeps_what_stands_in_brackets() -> None:
    """A table of a manifest such as [program] used to be taken for markup."""
    seen = set()
    for name, command in get_command(main.app).commands.items():  # type: ignore[attr-defined]
        texts = [command.help or "", *(getattr(option, "help", None) or "" for option in command.params)]
        tables = set(re.findall(r"\[[a-z.]+\]", " ".join(texts)))
        said = testbed(name, "--help", COLUMNS="200").stdout if tables else ""
        assert {table for table in tables if table not in said} == set(), name
        seen |= tables
    assert seen >= {"[program]", "[replay.grid]"}


def test_doctor_finds_this_host_fit(tmp_path: Path) -> None:
    done = testbed("doctor", "--json", str(tmp_path / "doctor.json"))
    assert done.returncode == 0, done.stdout
    assert all(check["ok"] for check in json.loads((tmp_path / "doctor.json").read_text()))


def test_doctor_says_that_there_is_no_path(tmp_path: Path) -> None:
    done = testbed("doctor", "--json", str(tmp_path / "doctor.json"), PATH="")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert "is PATH set?" in (tmp_path / "doctor.json").read_text()


@pytest.mark.parametrize(
    ("address", "message"),
    [("tcp://127.0.0.1:9", "no Dask scheduler answers there"), ("host", "is no address; write it as tls://HOST:8786")],
)
def test_a_scheduler_that_is_not_there_is_said_before_anything_is_built(address: str, message: str) -> None:
    for done in (testbed("run", "latency", "--scheduler", address), testbed("status", TESTBED_SCHEDULER=address)):
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
