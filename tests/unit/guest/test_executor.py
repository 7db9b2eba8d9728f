# SPDX-License-Identifier: BSD-3-Clause
"""Outcomes of a QEMU that ends on its own, with a mock in its place."""

import base64
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import MANIFEST, QuietReporter
from testbed import canonical
from testbed.errors import RunFailed
from testbed.guest import boots
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestOutcome, GuestSpec, QemuExecutor, Said, read_outcome
from testbed.guest.machine import End
from testbed.guest.qemu_line import Images
from testbed.guest.session import Session
from testbed.manifest import render
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.results import results
from testbed.run.runner import drive, run_all

HERE = Capacity(guests=2, memory_mib=2**16)


@pytest.fixture
def executor(images: Images) -> QemuExecutor:
    return QemuExecutor(images)


def test_a_copy_that_is_killed_before_it_says_that_it_began_is_lost(executor: QemuExecutor, guest: GuestConfig) -> None:
    guest = replace(guest, timeout_s=20.0)
    _, copies = ways(executor, [GuestSpec(guest, script_job(words)) for words in ("true --stillborn", "true")])
    assert [outcome.outcome for outcome in copies] == ["lost", "ok"]


def test_much_output_is_read_in_proportion_to_it() -> None:
    """The output used to be copied for each of its lines: 64 MB took 700 GB of copies. The test measures CPU time."""
    piece, begun_s = bytes(range(256)) * 12, time.process_time()
    line = json.dumps({"type": "output", "stream": "stdout", "base64": base64.b64encode(piece).decode()}).encode()
    lines = 64 * 10**6 // len(piece)
    outcome = read_outcome(Said(results=b"\n".join([line] * lines)), End())
    assert outcome.stdout == piece * lines
    assert time.process_time() - begun_s < 30


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"output","stream":"stdin","base64":"eA=="}',
        b'{"type":"output","stream":["stdout"],"base64":"eA=="}',
        b'{"type":"output","stream":"stdout","base64":"x"}',
        b'{"type":"output","stream":"stdout"}',
        b'["output"]',
    ],
)
def test_what_is_no_output_is_none(line: bytes) -> None:
    outcome = read_outcome(Said(results=line), End())
    assert (outcome.stdout, outcome.stderr) == (b"", b"")


def test_a_panic_says_why() -> None:
    """The error used to show five lines of the stack, without the reason."""
    stack = "".join(f"[    1.{n}]  frame{n}+0x1/0x2\n" for n in range(30))
    console = (
        "[    0.1] Linux\n[    1.0] BUG: kernel NULL pointer dereference, address: 0000000000000008\n"
        f"[    1.1] #PF: error\n[    1.2] Kernel panic - not syncing: Fatal exception\n{stack}"
    )
    outcome = read_outcome(Said(console=console.encode()), End(panicked=True))
    said = (
        "BUG: kernel NULL pointer dereference, address: 0000000000000008; Kernel panic - not syncing: Fatal exception"
    )
    assert (outcome.outcome, outcome.error) == ("panic", said)
    killed = "[    1.2] Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b"
    assert read_outcome(Said(console=killed.encode()), End()).error == killed.partition("] ")[2]


def test_who_watches_is_called_each_time_that_a_guest_asks_for_a_job(
    executor: QemuExecutor, guest: GuestConfig
) -> None:
    seconds: list[float] = []
    spec = GuestSpec(guest, script_job("true --asks 3"))
    outcome = drive(executor.run(spec, asked=lambda qemu: seconds.append(qemu.cpu_seconds())))
    assert outcome.outcome == "ok"
    assert len(seconds) == 1 + 3
    assert 0 < seconds[0] <= seconds[-1] < 20
    assert seconds == sorted(seconds)


def with_seed(guest: GuestConfig, seed: int) -> GuestConfig:
    return replace(guest, device=replace(guest.device, cache_seed=seed))


def ways(executor: QemuExecutor, specs: list[GuestSpec]) -> list[list[GuestOutcome]]:
    """The outcomes of guests that boot for one run each, and of guests that share boots."""

    async def both() -> list[list[GuestOutcome]]:
        alone = [await executor.run(spec) for spec in specs]
        async with boots.shared(executor, 1) as shared:
            return [alone, [await shared.run(spec) for spec in specs]]

    return drive(both())


def test_the_words_of_a_qemu_that_aborts_are_kept(executor: QemuExecutor, guest: GuestConfig) -> None:
    jobs = [script_job("true --abort first"), script_job("true --abort second"), script_job("true")]
    alone, copies = ways(executor, [GuestSpec(guest, job) for job in jobs])
    for outcomes in (alone, copies):
        assert [outcome.outcome for outcome in outcomes] == ["lost", "lost", "ok"]
        said = [f"mock guest: an assertion\nmock guest: {word}\n" for word in ("first", "second")]
        assert [outcome.qemu for outcome in outcomes] == [*said, ""]
    assert alone[0].error == "QEMU was ended by SIGABRT: mock guest: first"
    assert copies[1].error == "the copy of QEMU that ran it ended: mock guest: second"


def test_the_words_of_a_qemu_that_does_not_start_are_kept(executor: QemuExecutor, guest: GuestConfig) -> None:
    for outcomes in ways(executor, [GuestSpec(with_seed(guest, 666), script_job("true"))]):
        assert (outcomes[0].outcome, outcomes[0].qemu) == ("lost", "mock guest: cache_seed cannot be 666\n")
        assert outcomes[0].error == "QEMU did not start: mock guest: cache_seed cannot be 666"


NO_MESSAGES = [
    *("5", "[1]", "null", "{", '{"type":5}', '{"type":"result"}', '{"type":"exit","status":"x"}', "[" * 100_000),
    *('{"type":"exit","status":1e999}', '{"type":"output","stream":"stdout","base64":"?"}', '{"type":"output"}'),
    *('{"type":"output","stream":1,"base64":1}', '{"type":"boot","\\ud800":1}', "\udcff"),
]


@pytest.mark.parametrize("line", NO_MESSAGES)
def test_whatever_a_guest_writes_there_is_an_outcome(line: str) -> None:
    said = f'{line}\n{{"type":"exit","status":0}}\n'.encode(errors="surrogateescape")
    outcome = read_outcome(Said(results=said), End())
    assert (outcome.outcome, outcome.rows) == ("ok", [])
    canonical.digest(results.guest_data(outcome))


@pytest.mark.parametrize("row", ["NaN", '{"x": -Infinity}', '"\\ud800"', "word", '{"a": 1} {"b": 2}', ""])
def test_a_row_that_no_result_can_hold_is_said_and_the_others_stay(row: str) -> None:
    """NaN used to end the whole sweep with a traceback."""
    lines = [f'{{"type":"result","data":{text}}}' for text in ('{"a":1}', row)]
    outcome = read_outcome(Said(results="\n".join([*lines, '{"type":"exit","status":0}']).encode()), End())
    assert (outcome.outcome, outcome.rows) == ("ok", [{"a": 1}])
    assert outcome.stderr.decode() == f"testbed: no JSON, so no row: {row}\n"
    canonical.digest(results.guest_data(outcome))


def test_a_qemu_that_is_not_there_is_one_sentence(tmp_path: Path, guest: GuestConfig) -> None:
    executor = QemuExecutor(Images(tmp_path / "none", tmp_path, tmp_path / "none", initrds=()))
    for outcomes in ways(executor, [GuestSpec(guest, script_job("true"))]):
        assert "none" in outcomes[0].error


def test_a_run_that_ends_qemu_leaves_the_others_alone_and_its_words_are_kept(
    executor: QemuExecutor, small_manifest: Path, tmp_path: Path
) -> None:
    """QEMU aborts at one point, does not start at two, and succeeds at one."""
    head = MANIFEST.partition("[workload]")[0] + '[device.override]\ncache_seed = "{seed}"\n'
    workload = '[workload]\ncommand = "/bin/true x{words}"\n'
    small_manifest.write_text(f'{head}{workload}[matrix]\nseed = [1, 666]\nwords = ["--abort boom", "fine"]\n')
    with pytest.raises(RunFailed) as caught:
        drive(run_all(render.runs(small_manifest), Session(executor, {}, here=HERE), tmp_path / "r", QuietReporter()))
    message = str(caught.value)
    assert message.startswith("3 of 4 runs gave no result: 1---abort boom: lost, ")
    assert "mock guest: boom (see " in message
    assert message.count("lost, QEMU did not start: mock guest: cache_seed cannot be 666 (see ") == 2
    kept = sorted(path.read_text() for path in (tmp_path / "r").rglob("*.failed/qemu.txt"))
    assert kept == ["mock guest: an assertion\nmock guest: boom\n", *["mock guest: cache_seed cannot be 666\n"] * 2]
    assert [result.point["words"] for result in results.load_all(tmp_path / "r")] == ["fine"]
