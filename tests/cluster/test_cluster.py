# SPDX-License-Identifier: BSD-3-Clause
"""A Dask cluster of worker processes with mock guests, each worker on another loopback address, as on another host."""

import asyncio
import multiprocessing
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import MANIFEST, MockExecutor, QuietReporter
from rigs.cluster.cluster_rig import Cluster, open_cluster, wait_until, watched
from rigs.crash.crash_rig import NO_FLUSH, TEXT, Played
from testbed.crash import plan as plans
from testbed.crash.campaign import Campaign
from testbed.crash.plan import Programs
from testbed.crash.report import Report
from testbed.errors import TestbedError
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import render
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.render import Run
from testbed.paths import REPO
from testbed.results import results
from testbed.run import worker
from testbed.run.fleet import Say
from testbed.run.runner import drive, run_all
from testbed.studies import overhead

KEYS = {"qemu": "q" * 64, "base": "b" * 64, "buildroot": "r" * 64}
HERE = Capacity(guests=2, memory_mib=8192)
PRELOAD = REPO / "tests/rigs/cluster/mock_worker.py"


def add_mock(cluster: Cluster, host: str, cache: Path | None = None, **more: str) -> None:
    """Add a worker with room for two mock guests."""
    environment = {"MOCK_LOG": str(log_of(cluster)), "TESTBED_CACHE": str(cache or cluster.folder / "cache")}
    cluster.add(host, 2, "--preload", str(PRELOAD), **environment, PYTHONPATH=str(REPO / "tests"), **more)


def log_of(cluster: Cluster) -> Path:
    return cluster.folder / "guests.log"


def guests(cluster: Cluster, word: str) -> list[list[str]]:
    """The log lines of the mock guests that begin with `word`: word, process, and the words of the command."""
    log = log_of(cluster)
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.split() for line in lines if line.startswith(word)]


def has_said(cluster: Cluster, word: str, *command: str) -> bool:
    """Whether a mock guest of this command logged the word; two workers log in any order."""
    return list(command) in [words for _, _, *words in guests(cluster, word)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers that have the components."""
    folder = tmp_path_factory.mktemp("cluster")
    for name, key in KEYS.items():
        if name != "buildroot":
            (folder / "cache" / f"{name}-{key[:16]}").mkdir(parents=True)
    with open_cluster(folder) as cluster:
        for host in ("127.0.0.2", "127.0.0.3"):
            add_mock(cluster, host)
        for host in ("127.0.0.2", "127.0.0.3"):
            cluster.wait_for(host)
        yield cluster


def mock_manifest(folder: Path, command: str, matrix: str) -> list[Run]:
    path = folder / "mock.toml"
    path.write_text(f'{MANIFEST.partition("[workload]")[0]}[workload]\ncommand = "{command}"\n[matrix]\n{matrix}\n')
    return render.runs(path)


def rows(spec: GuestSpec) -> GuestOutcome:
    """The outcome that the mock guests of the workers return."""
    assert spec.job
    words = spec.job.script.partition("exec mock ")[2].split()
    return GuestOutcome("ok", 0, rows=[{"words": words, "n": n} for n in range(3)])


def run_there(cluster: Cluster, runs: list[Run], root: Path, reporter: QuietReporter) -> list[results.Result]:
    return drive(run_all(runs, Session(MockExecutor(), KEYS, cluster.address), root, reporter))


def test_a_worker_that_is_killed_costs_no_run_and_no_byte(cluster: Cluster, tmp_path: Path) -> None:
    """Its runs start again elsewhere, with a message; the files equal the files of runs in this process."""
    runs = mock_manifest(tmp_path, "mock {s} {n}", 's = ["0.3", "0.4"]\nn = [1, 2, 3, 4]')
    victim, reporter = cluster.workers["127.0.0.2"], QuietReporter()
    reporter.on_start = lambda _: victim.kill() if len(reporter.started) == 6 else None
    done = run_there(cluster, runs, tmp_path / "there", reporter)
    assert any("lost on 127.0.0.2; running it once more, on 127.0.0.3" in text for text in reporter.said)
    assert {process for _, process, *_ in guests(cluster, "start")} == {str(p.pid) for p in cluster.workers.values()}
    here = drive(run_all(runs, Session(MockExecutor(rows), KEYS, here=HERE), tmp_path / "here", QuietReporter()))
    assert [r.path.read_bytes() for r in done] == [r.path.read_bytes() for r in here]
    assert len(results.load_all(tmp_path / "there")) == 8


def test_a_lost_guest_is_run_once_more(cluster: Cluster, tmp_path: Path) -> None:
    runs, reporter = mock_manifest(tmp_path, f"mock lost {tmp_path}/{{n}}", "n = [1]"), QuietReporter()
    assert [result.outcome for result in run_there(cluster, runs, tmp_path / "r", reporter)] == ["ok"]
    assert any(re.match(r"1: lost on 127\.0\.0\.\d; running it once more, on 127", text) for text in reporter.said)


def test_an_interrupt_ends_the_guests_of_the_workers(cluster: Cluster, tmp_path: Path) -> None:
    runs, root = mock_manifest(tmp_path, "mock {s} interrupted", 's = ["0", "600"]'), tmp_path / "r"

    def stop_when_one_is_done(task: asyncio.Task[object]) -> None:
        if len(list(root.rglob("*.json"))) == 1 and has_said(cluster, "start", "600", "interrupted"):
            task.cancel()

    work = run_all(runs, Session(MockExecutor(), KEYS, cluster.address), root, QuietReporter())
    with pytest.raises(KeyboardInterrupt):
        drive(watched(work, stop_when_one_is_done))
    wait_until(lambda: has_said(cluster, "cancelled", "600", "interrupted"))
    assert [result.point for result in results.load_all(root)] == [{"s": "0"}]


def crash_test(cluster: Cluster, folder: Path, guest: GuestConfig, say: Say) -> tuple[Report, Report]:
    """The reports of a crash test on the cluster and in this process."""
    origin = folder / "ring.toml"
    origin.write_text(TEXT)
    here = Session(MockExecutor(Played(NO_FLUSH)), KEYS)
    campaign = Campaign(plans.load(origin), origin, guest, Programs({}, {}, ()), here, tell=say)
    there = replace(campaign, session=replace(here, scheduler=cluster.address))
    return drive(there.run()), drive(campaign.run())


def test_a_crash_test_reports_the_same_from_a_cluster(
    cluster: Cluster, tmp_path: Path, quick_guest: GuestConfig
) -> None:
    """A worker prepares the media once; a worker with other media is left out."""
    add_mock(cluster, "127.0.0.6", MOCK_MEDIA="others")
    cluster.wait_for("127.0.0.6")
    said: list[str] = []
    there, here = crash_test(cluster, tmp_path, quick_guest, said.append)
    assert there.violations and there.as_data() == here.as_data()
    assert any(
        re.match(r"worker 127.0.0.6 is left out: it cannot prepare \S+ring.toml: its setup leaves other media", text)
        for text in said
    )
    stranger = str(cluster.workers["127.0.0.6"].pid)
    assert [stranger, "copy"] not in [words[1:] for words in guests(cluster, "start")]
    setups = [process for _, process, *words in guests(cluster, "start") if words == ["setup"]]
    assert len(setups) == len(set(setups)) > 1
    cluster.workers["127.0.0.6"].kill()
    cluster.workers["127.0.0.6"].wait()


def run_orphans(address: str, folder: Path) -> None:
    """The client of two long runs, for a separate process."""
    runs = mock_manifest(folder, "mock {s} orphan", 's = ["600", "601"]')
    drive(run_all(runs, Session(MockExecutor(), KEYS, address), folder / "r", QuietReporter()))


def test_a_client_that_is_killed_leaves_no_guest(cluster: Cluster, tmp_path: Path) -> None:
    client = multiprocessing.get_context("spawn").Process(target=run_orphans, args=(cluster.address, tmp_path))
    client.start()
    wait_until(lambda: [words[-1] for words in guests(cluster, "start")].count("orphan") == 2)
    client.kill()
    wait_until(lambda: [words[-1] for words in guests(cluster, "cancelled")].count("orphan") == 2)


def test_a_worker_with_other_components_is_left_out(cluster: Cluster, tmp_path: Path) -> None:
    add_mock(cluster, "127.0.0.4", cache=tmp_path / "empty")
    cluster.wait_for("127.0.0.4")
    runs, reporter = mock_manifest(tmp_path, "mock {s} other", 's = ["0", "0.1", "0.2"]'), QuietReporter()
    assert len(run_there(cluster, runs, tmp_path / "r", reporter)) == 3
    assert any(text.startswith("worker 127.0.0.4 is left out: it lacks base-bbbb") for text in reporter.said)
    stranger = str(cluster.workers["127.0.0.4"].pid)
    assert stranger not in {process for _, process, *_ in guests(cluster, "start")}


def test_a_worker_that_cannot_get_the_packages_is_left_out(cluster: Cluster, tmp_path: Path) -> None:
    """The other workers make the runs, because their mock guests need no package."""
    cluster.add("127.0.0.5", 2, TESTBED_CACHE=str(cluster.folder / "cache"))
    cluster.wait_for("127.0.0.5")
    plain, reporter = mock_manifest(tmp_path, "mock 0.5 {n}", f"n = {list(range(8))}"), QuietReporter()
    runs = [replace(run, program=replace(run.job, packages=("no-such-package=1",))) for run in plain]
    assert len(run_there(cluster, runs, tmp_path / "r", reporter)) == 8
    (said,) = (text for text in reporter.said if text.startswith("worker 127.0.0.5 is left out"))
    assert re.search(r"it cannot get the Debian packages of \S+mock.toml: ", said)
    cluster.workers["127.0.0.5"].kill()  # it has no mock guests for later tests
    cluster.workers["127.0.0.5"].wait()


def test_no_worker_with_the_components_is_one_sentence(cluster: Cluster, tmp_path: Path) -> None:
    runs, work = mock_manifest(tmp_path, "mock 0", "n = [1]"), QuietReporter()
    with pytest.raises(TestbedError, match=r"no worker can make these runs; .* lacks .*qemu-xxxx.*run `testbed build`"):
        drive(run_all(runs, Session(MockExecutor(), KEYS | {"qemu": "x" * 64}, cluster.address), tmp_path / "r", work))


def test_a_run_that_no_worker_has_memory_for_is_named(cluster: Cluster, tmp_path: Path) -> None:
    mock_manifest(tmp_path, "mock 0", "n = [1]")
    path = tmp_path / "mock.toml"
    path.write_text(path.read_text().replace("[cpu]", '[guest]\nmemory = "64GiB"\n[cpu]'))
    with pytest.raises(TestbedError, match=r"mock.toml: key 'guest.memory': run 1 needs 67328 MiB .* 8192 MiB"):
        run_there(cluster, render.runs(path), tmp_path / "r", QuietReporter())


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:9", "no Dask scheduler answers there; start one by `testbed scheduler`"),
        ("host", "'host' is no address; write it as tls://HOST:8786"),
        ("tcp://host:port", "is no address"),
    ],
)
def test_an_unreachable_scheduler_is_one_sentence_within_seconds(
    small_manifest: Path, tmp_path: Path, address: str, message: str
) -> None:
    started = time.monotonic()
    with pytest.raises(TestbedError, match=re.escape(message)) as caught:
        drive(run_all(render.runs(small_manifest), Session(MockExecutor(), KEYS, address), tmp_path, QuietReporter()))
    assert (caught.value.exit_status, time.monotonic() - started < 10) == (2, True)


def test_distribution_is_measured_in_three_ways() -> None:
    ways = overhead.measure(3)
    assert [way.way.partition(" (")[0] for way in ways] == [
        "called directly",
        "cluster in this process",
        "2 workers on loopback",
    ]


def test_a_worker_states_what_its_host_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.guest.capacity.of_this_host", lambda: Capacity(guests=4, memory_mib=9000))
    words = " ".join(worker.command("tcp://localhost:1", None, None, ["--name", "x"]))
    assert "dask_worker tcp://localhost:1 --host 127.0.0.1 " in words
    assert "--nworkers 1 --nthreads 4" in words
    assert words.endswith("--resources guest=4,memory_mib=9000 --name x")
    assert "guest=1,memory_mib=2048" in " ".join(worker.command("tcp://localhost:1", 1, "2GiB", []))
    for memory, message in (
        ("1GB", "--memory: '1GB' is not a number and one of B"),
        ("5MiB", "5 MiB of memory holds no"),
    ):
        with pytest.raises(TestbedError, match=message):
            worker.command("tcp://localhost:1", 1, memory, [])


def test_a_scheduler_that_goes_away_is_one_sentence_and_finished_results_are_kept(
    cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The last test of this file, because it ends the cluster."""
    runs, root = mock_manifest(tmp_path, "mock {s} gone", 's = ["0", "600"]'), tmp_path / "r"

    def kill_when_one_is_done(_: asyncio.Task[object]) -> None:
        if len(list(root.rglob("*.json"))) == 1 and has_said(cluster, "start", "600", "gone"):
            cluster.scheduler.kill()

    work = run_all(runs, Session(MockExecutor(), KEYS, cluster.address), root, QuietReporter())
    with pytest.raises(TestbedError, match="the Dask scheduler went away; finished results are kept"):
        drive(watched(work, kill_when_one_is_done))
    assert [result.point for result in results.load_all(root)] == [{"s": "0"}]
    assert capfd.readouterr().err == ""
