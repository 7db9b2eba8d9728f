# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands share."""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ..errors import TestbedError
from ..run import trust
from ..run.worker import check_reachable

SEEDS_MAX = 1000
Json = Annotated[Path | None, typer.Option("--json", metavar="PATH", help="also write the table as JSON to PATH")]
ByCpu = Annotated[bool, typer.Option("--by-cpu", help="where the time went on each CPU, in place of the mean")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="only list existing results and the runs that would start")]
Scale = Annotated[
    str | None,
    typer.Option("--scale", metavar="quick|standard|full|N", help="divisor: of experiments/scales.toml, or 1/N itself"),
]


Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", help="placement of pages, timer and order of CPUs; the manifest's, else 0"),
]


def checked_seeds(count: int | None) -> int | None:
    """The number of seeds. Raises TestbedError if it is out of range."""
    if count is not None and not 1 <= count <= SEEDS_MAX:
        raise TestbedError(f"--seeds {count}: it must be from 1 to {SEEDS_MAX:,}; N stands for the seeds 0 to N-1")
    return count


Seeds = Annotated[
    int | None,
    typer.Option("--seeds", metavar="N", callback=checked_seeds, help="with each of the seeds 0 to N-1, and compare"),
]


def _use_certificates(folder: Path | None) -> Path | None:
    """Use the certificates for all connections of this process and of the processes that it starts."""
    if folder:
        os.environ[trust.TLS] = str(folder)
        trust.certificates()
    return folder


def _trust(network: bool) -> bool:
    os.environ[trust.TRUST_NETWORK] = "1" if network else ""
    return network


# Both options are eager, because the callback of --scheduler depends on them.
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
    """The address. Raises TestbedError if no trusted scheduler answers there."""
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
        help="run guests on the Dask cluster of the scheduler at this address (tls://HOST:8786)",
    ),
]


@dataclass(frozen=True)
class Cluster:
    """The options of a command that can run guests elsewhere. The callbacks of --tls and --trust-network use them."""

    scheduler: Scheduler = None
    tls: Tls = None
    trust_network: TrustNetwork = False


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command for Typer: each parameter of a dataclass type becomes one option per field of the dataclass."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}
    options: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        own = get_type_hints(groups[name], include_extras=True) if name in groups else {}
        of_group = [(one.name, one.default, own[one.name]) for one in fields(groups[name])] if name in groups else []
        for option, default, kind in of_group or [(name, parameter.default, hints[name])]:
            options.append(Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=kind))

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        of_groups = {
            name: kind(**{one.name: given.pop(one.name) for one in fields(kind)}) for name, kind in groups.items()
        }
        command(**given, **of_groups)

    with_options.__annotations__ = {option.name: option.annotation for option in options}
    with_options.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return with_options
