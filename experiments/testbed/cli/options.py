# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands have."""

import os
from pathlib import Path
from typing import Annotated

import typer

from ..run import trust
from ..run.worker import check_reachable

Json = Annotated[Path | None, typer.Option("--json", metavar="PATH", help="also write the table as JSON to PATH")]
ByCpu = Annotated[bool, typer.Option("--by-cpu", help="where the time went on each CPU, in place of the mean")]
Scale = Annotated[
    str | None,
    typer.Option("--scale", metavar="quick|standard|full|N", help="divisor: of experiments/scales.toml, or 1/N itself"),
]


def _use_certificates(folder: Path | None) -> Path | None:
    """For all that this process connects to, and all that it starts."""
    if folder:
        os.environ[trust.TLS] = str(folder)
        trust.certificates()
    return folder


def _trust(network: bool) -> bool:
    os.environ[trust.TRUST_NETWORK] = "1" if network else ""
    return network


# Both are eager: whether a scheduler may be asked depends on them.
Tls = Annotated[
    Path | None,
    typer.Option(
        "--tls",
        metavar="FOLDER",
        envvar=trust.TLS,
        callback=_use_certificates,
        is_eager=True,
        help="with the certificates of this folder (testbed certificates FOLDER), for tls:// addresses",
    ),
]
TrustNetwork = Annotated[
    bool,
    typer.Option(
        "--trust-network",
        envvar=trust.TRUST_NETWORK,
        callback=_trust,
        is_eager=True,
        help="without certificates beyond this host: nobody but you can reach its network",
    ),
]


def _reached(address: str | None) -> str | None:
    """The address, if something answers there."""
    if address:
        check_reachable(address)
    return address


Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        envvar="TESTBED_SCHEDULER",
        callback=_reached,
        help="run guests on the Dask cluster whose scheduler is there (tls://HOST:8786)",
    ),
]
