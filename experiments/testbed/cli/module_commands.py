# SPDX-License-Identifier: BSD-3-Clause
"""Kernel modules on the command line: `testbed module`, and the option --module of commands that boot a guest."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from .. import console, outputs
from ..errors import TestbedError
from ..manifest.guest_config import GuestConfig
from ..program import kernel_module, streamed

Modules = Annotated[
    list[Path] | None,
    typer.Option("--module", metavar="FILE", help="a kernel module (.ko) that the guest loads before it mounts"),
]
app = typer.Typer(no_args_is_help=True, help="Kernel modules for the guest, compiled against its kernel.")


def with_modules(guest: GuestConfig, files: list[Path] | None) -> GuestConfig:
    """The guest with these modules, loaded after the modules that its manifest names."""
    own = [kernel_module.read(streamed.file_of("--module", file)) for file in files or []]
    return replace(guest, modules=kernel_module.several((*guest.modules, *own)))


@app.callback()
def _group() -> None:
    """Without a callback Typer would make the only command the group itself."""


@app.command("build")
def build_(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="its sources, with a Kbuild or Makefile: obj-m := …")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="where it goes; DIR/NAME.ko if not given"),
    ] = None,
    kernel: Annotated[
        Path | None,
        typer.Option(
            "--kernel",
            metavar="FILE|DIR",
            help="another kernel than the image's: one of Debian's, or the folder in which it was built",
        ),
    ] = None,
) -> None:
    """Compile an out-of-tree module against the guest's kernel or another, with the compiler that built the kernel.

    Headers and compiler are Debian's, in the versions of the kernel, and are fetched once. For a kernel that was built
    on this host, the headers come from its folder and the compiler from this host. Equal sources give equal bytes.

    Examples:

      testbed module build my-module

      testbed module build my-module --output build/my.ko

      testbed exec --module build/my.ko -- dmesg

      testbed module build my-module --kernel linux/arch/x86/boot/bzImage
    """
    compiled = kernel_module.compile_folder(folder, kernel)
    if output and len(compiled.modules) > 1:
        names = ", ".join(compiled.modules)
        raise TestbedError(f"{folder} makes several modules, {names}; leave --output out, and they go to that folder")
    if compiled.said:
        print(compiled.said, file=sys.stderr)
    for name, content in compiled.modules.items():
        path = output or folder / name
        outputs.write(path, content)
        console.out.print(f"written: {path}", soft_wrap=True)
