# SPDX-License-Identifier: BSD-3-Clause
"""The hosts that may send work to this host, and the hosts to which it sends work.

Dask runs all code that it receives: a host that reaches the port of a scheduler or a worker can run programs as its
user, and so can a host that poses as a scheduler to workers and clients. So a port is on loopback, or every connection
uses TLS and both ends show a certificate of one private authority, or the user states that the network is private.
"""

import ipaddress
import os
import socket
import ssl
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import RunFailed, TestbedError
from ..paths import REPO

if TYPE_CHECKING:
    from distributed import Security

TLS, TRUST_NETWORK = "TESTBED_TLS", "TESTBED_TRUST_NETWORK"  # set by --tls and --trust-network for all of a process
CA, CERTIFICATE, KEY = "ca.crt", "host.crt", "host.key"  # files in the folder of --tls
SCRIPT = REPO / "ansible/roles/testbed_tls/files/tls.sh"
REMEDY = "use TLS (testbed certificates FOLDER, then --tls FOLDER and tls://HOST:8786), or say --trust-network"


@dataclass(frozen=True)
class Address:
    """Where a scheduler listens."""

    scheme: str
    host: str
    port: int

    @property
    def is_tls(self) -> bool:
        return self.scheme == "tls"


def parse(address: str) -> Address:
    """Parse a scheduler's address; refuse an invalid one before a caller waits for a connection."""
    try:
        parts = urlsplit(address)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:  # the port is no number
        scheme, host, port = "", None, None
    if scheme not in ("tcp", "tls") or not host or not port:
        raise TestbedError(f"scheduler '{address}' is no address; write it as tls://HOST:8786 or tcp://127.0.0.1:8786")
    return Address(scheme, host, port)


def check_connection(address: str) -> Address:
    """Refuse a scheduler that another host on the network could impersonate or eavesdrop on."""
    there = parse(address)
    if there.is_tls:
        if not has_certificates("client"):
            raise TestbedError(
                f"{address} needs certificates: testbed certificates FOLDER, then --tls FOLDER at both ends"
            )
    elif not (is_loopback(there.host) or trusts_network()):
        raise TestbedError(
            f"{address} is not encrypted: anyone on its network could run programs as you here and there; {REMEDY}"
        )
    return there


def check_listening(host: str, encrypted: bool) -> None:
    """Refuse to open a port to other hosts without certificates, unless the user trusts the network."""
    if not (encrypted or is_loopback(host) or trusts_network()):
        raise TestbedError(f"at {host} anyone who reaches the port could run programs as you; {REMEDY}")


def is_loopback(host: str) -> bool:
    """Whether a host, given by address or name, is loopback, which only this host can reach."""
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(where[0]).partition("%")[0]).is_loopback for *_, where in found)


def trusts_network() -> bool:
    return os.environ.get(TRUST_NETWORK, "") not in ("", "0")


def address_towards(there: Address) -> str:
    """This host's address on the route to that host."""
    try:
        family, _, _, _, where = socket.getaddrinfo(there.host, there.port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:  # sends nothing
            probe.connect(where)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise TestbedError(f"no way to the scheduler's host {there.host}: {error.strerror or error}") from error


# ---- Certificates ----


def certificates() -> Path | None:
    """The folder of --tls, checked; None without the option."""
    if not os.environ.get(TLS):
        return None
    folder = Path(os.environ[TLS]).expanduser().absolute()
    for name in (CA, CERTIFICATE, KEY):
        if not os.access(folder / name, os.R_OK):
            raise TestbedError(f"--tls {folder}: {name} cannot be read; make it by: testbed certificates {folder}")
    if stat.S_IMODE((folder / KEY).stat().st_mode) & 0o077:
        raise TestbedError(f"--tls {folder}: others may read {KEY}; chmod 600 {folder / KEY}, or make another one")
    return folder


def dask_options() -> list[str]:
    """The options of a Dask command that name the certificates."""
    folder = certificates()
    if not folder:
        return []
    return [f"--tls-ca-file={folder / CA}", f"--tls-cert={folder / CERTIFICATE}", f"--tls-key={folder / KEY}"]


def has_certificates(role: str) -> bool:
    """Whether a role has certificates, from --tls or from Dask's own configuration."""
    tls = security().get_tls_config_for_role(role)
    return bool(tls["ca_file"] and tls["cert"])


def security() -> "Security":
    """The security settings for Dask in this process."""
    from distributed import Security  # slow to load, and most commands need none

    folder = certificates()
    if not folder:
        return Security()
    paths: dict[str, Any] = {"tls_ca_file": str(folder / CA)}
    for role in ("client", "scheduler", "worker"):
        paths |= {f"tls_{role}_cert": str(folder / CERTIFICATE), f"tls_{role}_key": str(folder / KEY)}
    return Security(require_encryption=True, **paths)


def check_greeting(there: Address, timeout_s: float) -> None:
    """Refuse a scheduler without a certificate of our authority, or one that rejects ours. OSError if none answers."""
    with socket.create_connection((there.host, there.port), timeout=timeout_s) as plain:
        if not there.is_tls:
            return
        try:
            with security().get_connection_args("client")["ssl_context"].wrap_socket(plain) as encrypted:
                encrypted.recv(1)  # Dask's scheduler sends first, after it has checked the certificate
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or (error.reason or str(error)).lower().replace("_", " ")
            raise TestbedError(
                f"tls://{there.host}:{there.port} has no certificate of the authority that signed ours, or does not "
                f"take ours ({reason}); give both ends certificates of one: testbed certificates FOLDER"
            ) from error


def make(folder: Path, name: str) -> str:
    """Make an authority and a certificate signed by it in the folder; keep valid ones. Returns a short report."""
    done = subprocess.run([SCRIPT, "alone", folder, name], capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["openssl failed"])[-1]
        raise (TestbedError if done.returncode == 2 else RunFailed)(f"cannot make certificates in {folder}: {said}")
    return done.stdout.strip()
