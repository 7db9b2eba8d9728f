# SPDX-License-Identifier: BSD-3-Clause
"""Kernels on the command line: `testbed kernel`."""

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..errors import TestbedError
from ..paths import REPO

_SCRIPT = REPO / "guest-image" / "newer-kernel.sh"
app = typer.Typer(no_args_is_help=True, help="Kernels for the guest beside the image's own.")


@app.callback()
def _group() -> None:
    """Without it Typer would take the one command for the whole."""


@app.command("get")
def get(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="where it goes, by its release; DIR/newest leads there")
    ],
) -> None:
    """Fetch Debian's newest kernel for Debian 13, of its backports, with its modules and its configuration.

    Which one that is changes with Debian; a result names the kernel by its content. The image stays as it is.

    Examples:

      testbed kernel get build/kernels

      testbed exec --kernel build/kernels/newest/vmlinuz -- uname -r
    """
    done = subprocess.run([_SCRIPT, folder.absolute()], capture_output=True, text=True)
    if done.returncode:
        raise TestbedError((done.stderr.strip() or f"{_SCRIPT.name} failed").splitlines()[-1])
    console.out.print(f"written: {done.stdout.strip()}", soft_wrap=True)
