# SPDX-License-Identifier: BSD-3-Clause
"""A host that reaches a port of Dask can run programs as Dask's user, so no stranger may reach one.

The hosts are network namespaces (tests/rigs/cluster/hosts.sh): `head` at 192.0.2.1, and `worker1`, where the intruder
is. A machine that cannot make them fails these tests.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rigs.cluster.cluster_lab import (
    HOME,
    INTRUDER,
    MOCKED,
    PATIENCE_S,
    Lab,
    fill_with_mocks,
    hosts,
    result_bytes,
    sign_for_days,
    wait_for,
    write_mock_manifest,
)
from testbed.build import components
from testbed.errors import TestbedError
from testbed.guest.qemu_line import WATCH_SOCKET
from testbed.guest.session import Session
from testbed.paths import REPO, cache_root
from testbed.run import trust, worker

HEAD = "192.0.2.1"
PYTHON = REPO / ".venv/bin/python"
LOOKS = (("-Hltn",), ("-Hlun",), ("-Hlun",))
SIZE = ("--guests", "1", "--memory", "4GiB")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with hosts(tmp_path_factory.mktemp("trust"), 1) as lab:
        fill_with_mocks(lab.path("head", HOME / "cache"), components.keys(MOCKED))
        yield lab


@pytest.fixture
def started(lab: Lab) -> Iterator[list["subprocess.Popen[str]"]]:
    """Services on the head, which end with the test."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        lab.on("head", "pkill", "-f", "distributed.cli", check=False)
        process.communicate()


def testbed(lab: Lab, *words: str | Path) -> "subprocess.Popen[str]":
    where = (f"TESTBED_CACHE={HOME}/cache", f"TESTBED_RESULTS={lab.folder}/results")
    return lab.start("env", "-C", REPO, *where, PYTHON, "-m", "testbed", *words)


testbed.__test__ = False  # type: ignore[attr-defined] # pytest: not a test, whatever the name begins with


def listening(lab: Lab, host: str = "head") -> list[tuple[str, str]]:
    """The address, without and with its port, of every listening socket of a host.

    A UDP socket counts if a second look finds it, too. Dask asks the kernel for its own address by `connect` on a UDP
    socket, which binds the socket to a port of every interface for the microseconds until it is connected.
    """
    tcp, *udp = ([line.split()[3] for line in lab.on(host, "ss", *options).stdout.splitlines()] for options in LOOKS)
    stayed = [where for where in udp[0] if where in udp[1]]
    return [(where.rpartition(":")[0], where) for where in tcp + stayed]


def test_a_socket_of_udp_that_waits_for_others_is_seen(lab: Lab) -> None:
    """`listening` leaves out momentary UDP sockets, but must see one that stays."""
    waiting = "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 4321)); input()"
    waiter = lab.start(PYTHON, "-c", waiting)
    wait_for("the socket", lambda: listening(lab) == [("0.0.0.0", "0.0.0.0:4321")])
    waiter.communicate("\n", timeout=PATIENCE_S)
    assert listening(lab) == []


def start_cluster(lab: Lab, started: list["subprocess.Popen[str]"], address: str, *options: str | Path) -> None:
    """Start a scheduler and a worker on the head; return when the worker has joined."""
    host = address.partition("://")[2].rpartition(":")[0]
    started.append(testbed(lab, "scheduler", "--host", host, *options))
    wait_for("the scheduler", lambda: any(where.endswith(":8786") for _, where in listening(lab)))
    started.append(testbed(lab, "worker", address, *SIZE, *options))
    wait_for("scheduler, worker, its nanny and their pages", lambda: len(listening(lab)) >= 5)


def intrusions(lab: Lab, scheme: str, certificates: Path | str = "-") -> list[str]:
    """The outcomes of the intruder's attempts at every listening port of the head."""
    ports = sorted({where.rpartition(":")[2] for _, where in listening(lab)})
    addresses = [f"{scheme}://{HEAD}:{port}" for port in ports]
    return lab.on("worker1", PYTHON, INTRUDER, str(certificates), *addresses).stdout.splitlines()


def test_without_certificates_no_other_host_reaches_scheduler_or_worker(
    lab: Lab, started: list["subprocess.Popen[str]"]
) -> None:
    start_cluster(lab, started, "tcp://127.0.0.1:8786")
    assert {where for where, _ in listening(lab)} == {"127.0.0.1"}
    assert set(intrusions(lab, "tcp")) == {"refused"}


def test_who_trusts_the_network_is_open_to_it(lab: Lab, started: list["subprocess.Popen[str]"]) -> None:
    """With the flag, scheduler, worker and nanny run the intruder's program, which shows that the intruder works."""
    start_cluster(lab, started, f"tcp://{HEAD}:8786", "--trust-network")
    assert {where for where, _ in listening(lab)} == {HEAD, "127.0.0.1"}
    assert len([came for came in intrusions(lab, "tcp") if came.startswith("ran as process")]) == 3


def test_with_certificates_only_their_holders_get_in(
    lab: Lab, started: list["subprocess.Popen[str]"], tmp_path: Path
) -> None:
    """A host without a certificate, or with one from another authority, is refused; a holder's run is made."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        trust.make(folder, "test")
    start_cluster(lab, started, f"tls://{HEAD}:8786", "--tls", ours)
    assert {where for where, _ in listening(lab)} == {HEAD, "127.0.0.1"}
    assert set(intrusions(lab, "tcp")) == {"refused"}
    assert set(intrusions(lab, "tls")) == {"refused"}
    assert set(intrusions(lab, "tls", theirs)) == {"refused"}
    assert "ran as process" in " ".join(intrusions(lab, "tls", ours))
    held = write_mock_manifest(tmp_path / "held.toml", runs=2, pause_s=0.1)
    where = ("--scheduler", f"tls://{HEAD}:8786", "--tls")
    assert "does not take ours" in refusal(testbed(lab, "run", held, *where, theirs))
    run = testbed(lab, "run", held, *where, ours)
    _, said = run.communicate(timeout=PATIENCE_S)
    assert (run.returncode, len(result_bytes(lab.folder / "results"))) == (0, 2), said


def refusal(process: "subprocess.Popen[str]") -> str:
    """The error of a command that must end with status 2 and one sentence."""
    _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said.count("\n")) == (2, 1), said
    return said


@pytest.mark.parametrize(
    "words",
    [
        ("run", "{few}"),
        ("exec", "--manifest", "{few}", "--", "sleep", "3"),
        ("overhead", "--runs", "40"),
        ("scheduler",),
        ("worker", "tcp://127.0.0.1:8786", *SIZE),
    ],
    ids=lambda words: words[0],
)
def test_no_command_listens_beyond_loopback(
    lab: Lab, started: list["subprocess.Popen[str]"], tmp_path: Path, words: tuple[str, ...]
) -> None:
    """The test looks at TCP, UDP and abstract sockets until the command ends, or until 5 s after its first socket."""
    few = write_mock_manifest(tmp_path / "few.toml", runs=1, pause_s=3)
    assert listening(lab) == []
    started.append(testbed(lab, *(word.format(few=few) for word in words)))
    seen, end_s = set[str](), time.monotonic() + PATIENCE_S
    while started[-1].poll() is None and time.monotonic() < end_s:
        found = {where for where, _ in listening(lab)}
        assert "@" not in lab.on("head", "ss", "-Hlx").stdout
        if found and not seen:
            end_s = time.monotonic() + 5
        seen |= found
    assert seen == (set() if words[0] == "exec" else {"127.0.0.1"})


@pytest.mark.guest
def test_a_guest_has_a_socket_in_a_folder_of_its_users_alone_and_no_other(
    lab: Lab,
    session: Session,  # noqa: ARG001 - its QEMU and guest are built
    tmp_path: Path,
) -> None:
    """QEMU opens no socket for a guest's network, a debugger or a display."""
    tmp_path.chmod(0o755)
    where = (f"TESTBED_CACHE={cache_root()}", f"TMPDIR={tmp_path}")
    guest = lab.start("env", "-C", REPO, *where, PYTHON, "-m", "testbed", "exec", "--", "true")
    seen = set[str]()
    while guest.poll() is None:
        assert listening(lab) == []
        sockets = {line.split()[4] for line in lab.on("head", "ss", "-Hlx").stdout.splitlines()}
        folders = {Path(name).parent for name in sockets if Path(name).exists()}
        assert [folder for folder in folders if folder.stat().st_mode & 0o077] == []
        seen |= {Path(name).name for name in sockets}
    _, said = guest.communicate()
    assert (guest.returncode, seen) == (0, {WATCH_SOCKET}), said


# ---- Refusals before any socket listens ----


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (trust.TLS, trust.TRUST_NETWORK):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("address", ["tcp://192.0.2.1:8786", "tcp://0.0.0.0:8786", "tcp://[2001:db8::1]:8786"])
def test_a_scheduler_that_anybody_could_pose_as_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients and workers refuse it alike, unless the user trusts the network."""
    with pytest.raises(TestbedError, match=r"is not encrypted: .*use TLS .*or say --trust-network"):
        worker.check_reachable(address)
    with pytest.raises(TestbedError, match="is not encrypted"):
        worker.command(address, 1, "4GiB", [])
    monkeypatch.setenv(trust.TRUST_NETWORK, "1")
    assert trust.check_connection(address).scheme == "tcp"


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:8786"])
def test_loopback_needs_no_certificate(address: str) -> None:
    words = worker.command(address, 1, "4GiB", [])
    assert words[words.index("--host") + 1] in ("127.0.0.1", "[::1]")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_a_port_for_others_is_refused(host: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands: tuple[Callable[[], object], ...] = (
        lambda: worker.command("tcp://127.0.0.1:8786", 1, "4GiB", [], host),
        lambda: worker.scheduler_command(host, 8786, []),
    )
    for command in commands:
        with pytest.raises(
            TestbedError, match=f"at {host} anyone who reaches the port could run programs as you; use TLS"
        ):
            command()
    trust.make(tmp_path / "tls", "test")
    monkeypatch.setenv(trust.TLS, str(tmp_path / "tls"))
    assert "--protocol tls" in " ".join(worker.scheduler_command(host, 8786, []))


@pytest.mark.parametrize(
    "word", ["--host", "--interface=eth0", "--dashboard-address=:8787", "--listen-address", "--jupyter"]
)
def test_dask_is_not_told_otherwise(word: str) -> None:
    with pytest.raises(TestbedError, match=f"{word.partition('=')[0]} is not for Dask: give --host"):
        worker.command("tcp://127.0.0.1:8786", 1, "4GiB", [word])
    with pytest.raises(TestbedError, match="is not for Dask"):
        worker.scheduler_command("127.0.0.1", 8786, [word])


def test_an_address_of_another_kind_is_refused() -> None:
    for address in ("ws://127.0.0.1:8786", "inproc://x:1", "127.0.0.1:8786", "tcp://127.0.0.1"):
        with pytest.raises(TestbedError, match="is no address; write it as tls://HOST:8786"):
            trust.check_connection(address)


def test_an_encrypted_address_needs_certificates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With certificates every address must be encrypted, except on loopback."""
    with pytest.raises(TestbedError, match="needs certificates: testbed certificates FOLDER"):
        trust.check_connection("tls://127.0.0.1:8786")
    trust.make(tmp_path, "test")
    monkeypatch.setenv(trust.TLS, str(tmp_path))
    with pytest.raises(TestbedError, match="is not encrypted"):
        trust.check_connection("tcp://192.0.2.1:8786")
    assert "--tls-ca-file" not in " ".join(worker.command("tcp://127.0.0.1:8786", 1, "4GiB", []))
    assert f"--tls-ca-file={tmp_path}/ca.crt" in worker.command("tls://127.0.0.1:8786", 1, "4GiB", [])
    assert trust.security().require_encryption


# ---- Certificates ----


def test_keys_are_their_owners_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keys are private under any umask, and a key that others may read is refused."""
    folder = tmp_path / "tls"
    subprocess.run(["sh", "-c", f"umask 0; exec {trust.SCRIPT} alone {folder} test"], check=True)
    assert {path.name: path.stat().st_mode & 0o777 for path in (folder, folder / "host.key", folder / "ca.key")} == {
        "tls": 0o700, "host.key": 0o600, "ca.key": 0o600,
    }  # fmt: skip
    monkeypatch.setenv(trust.TLS, str(folder))
    assert trust.certificates() == folder
    (folder / "host.key").chmod(0o640)
    with pytest.raises(TestbedError, match=r"others may read host.key; chmod 600 "):
        trust.certificates()
    (folder / "host.key").unlink()
    with pytest.raises(TestbedError, match=r"host.key cannot be read; make it by: testbed certificates "):
        trust.certificates()


def digests(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_certificate_is_renewed_in_its_last_month(tmp_path: Path) -> None:
    """Authority and key stay the same, so hosts that do not know the new certificate still talk to this one."""
    folder = tmp_path / "tls"
    assert trust.make(folder, "test").startswith("made, valid until ")
    first = digests(folder)
    assert trust.make(folder, "test").startswith("kept, valid until ")
    assert digests(folder) == first
    for days, word in ((32, "kept"), (29, "made")):
        sign_for_days(folder, days)
        assert trust.make(folder, "test").startswith(word)
    last = digests(folder)
    assert [name for name in first if first[name] != last[name]] == ["host.crt"]


def test_an_authority_is_made_anew_in_its_last_month(tmp_path: Path) -> None:
    """The certificate is made anew with it."""
    folder = tmp_path / "tls"
    trust.make(folder, "test")
    for days, word in ((32, "kept"), (29, "made")):
        sign_for_days(folder, days, "authority")
        first = digests(folder)
        assert trust.make(folder, "test").startswith(word)
        assert {name for name in first if first[name] != digests(folder)[name]} <= {"ca.key", "ca.crt", "host.crt"}
        assert (digests(folder)["ca.crt"] == first["ca.crt"]) == (word == "kept")
    assert trust.make(folder, "test").startswith("kept")


def test_a_certificate_of_another_authority_is_replaced(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        trust.make(folder, "test")
    (ours / "host.crt").write_bytes((theirs / "host.crt").read_bytes())
    assert trust.make(ours, "test").startswith("made")
    verify: list[str | Path] = ["openssl", "verify", "-x509_strict", "-CAfile", ours / "ca.crt", ours / "host.crt"]
    assert subprocess.run(verify, capture_output=True).returncode == 0


def test_a_copy_without_the_authoritys_key_stays(tmp_path: Path) -> None:
    trust.make(tmp_path, "test")
    (tmp_path / "ca.key").unlink()
    before = digests(tmp_path)
    assert trust.make(tmp_path, "test").startswith("kept")
    assert digests(tmp_path) == before


def test_a_name_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="name 'a/b' is none of a host"):
        trust.make(tmp_path / "tls", "a/b")


def test_the_folder_of_a_worker_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's default, /tmp/dask-scratch-space, may be another user's. The folder stays for as long as the process."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert worker.with_folder(["x", "--local-directory=/y"]) == ["x", "--local-directory=/y"]
    program = (
        "import os, sys; from testbed.run import worker; command = worker.with_folder(['/bin/sleep', '60']); "
        "print(command[-1], flush=True); os.execv(command[0], command[:2])"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout
    folder = Path(process.stdout.readline().strip())
    assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
    from testbed import scratch

    scratch.remove_orphans()
    assert folder.exists()
    process.kill()
    process.wait()
    scratch.remove_orphans()
    assert not folder.exists()
