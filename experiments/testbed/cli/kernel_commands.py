# SPDX-License-Identifier: BSD-3-Clause
"""Kernels on the command line: `testbed kernel`."""

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..errors import TestbedError
from ..paths import REPO

_SCRIPTS = REPO / "guest-image" / "image"
app = typer.Typer(no_args_is_help=True, help="Kernels for the guest beside the image's own.")


@app.command("get")
def get(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="where it goes, by its release; DIR/newest leads there")
    ],
) -> None:
    """Fetch the newest kernel of Debian 13's backports, with its modules and its configuration.

    Debian's updates change the version; a result names the kernel by its content. The image stays as it is.

    Examples:

      testbed kernel get build/kernels

      testbed exec --kernel build/kernels/newest/vmlinuz -- uname -r
    """
    _make(_SCRIPTS / "newer-kernel.sh", folder)


@app.command("debug")
def debug(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="where it is compiled, by its version; DIR/debug leads there")
    ],
) -> None:
    """Compile the guest's version of Linux with checks of itself: KASAN, lockdep, sleeping in atomic context.

    The build uses Debian's source, takes about ten minutes of CPU time and 2 GiB, and needs flex, bison, bc and
    libelf-dev. `testbed module build --kernel` compiles modules for this kernel. The guest's log reports its findings.

    Examples:

      testbed kernel debug build/kernels

      testbed module build DIR --kernel build/kernels/debug --output my.ko

      testbed exec --kernel build/kernels/debug/arch/x86/boot/bzImage --module my.ko -- dmesg
    """
    console.out.print("compiling Linux with KASAN and lockdep; what is there already is used", soft_wrap=True)
    _make(_SCRIPTS / "debug-kernel.sh", folder)


def _make(script: Path, folder: Path) -> None:
    done = subprocess.run([script, folder.absolute()], capture_output=True, text=True)
    if done.returncode:
        raise TestbedError((done.stderr.strip() or f"{script.name} failed").splitlines()[-1])
    console.out.print(f"written: {done.stdout.strip()}", soft_wrap=True)
