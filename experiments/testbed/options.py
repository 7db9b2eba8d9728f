# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands have."""

import os
from pathlib import Path
from typing import Annotated

import typer

from .worker import check_reachable

Json = Annotated[Path | None, typer.Option("--json", metavar="PATH", help="also write the table as JSON to PATH")]
Scale = Annotated[
    str | None,
    typer.Option("--scale", metavar="quick|standard|full|N", help="divisor: of experiments/scales.toml, or 1/N itself"),
]


def _remember(address: str | None) -> str | None:
    """Where this process runs guests, for all that it does, if something answers there."""
    if address:
        check_reachable(address)
        os.environ["TESTBED_SCHEDULER"] = address
    return address


Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        envvar="TESTBED_SCHEDULER",
        callback=_remember,
        help="run guests on the Dask cluster whose scheduler is there (tcp://HOST:8786)",
    ),
]
