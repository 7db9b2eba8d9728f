# SPDX-License-Identifier: BSD-3-Clause
"""Images on the command line: `testbed image`."""

from pathlib import Path
from typing import Annotated

import typer

from .. import console
from ..build import image_archive, images, workloads
from ..build.cache import Cache
from ..build.components import TESTBED, build
from ..errors import TestbedError
from ..paths import cache_root
from . import tables
from .options import Json

File = Annotated[Path, typer.Argument(metavar="FILE", help="the archive, a tar file of about 200 MB")]
app = typer.Typer(no_args_is_help=True, help="QEMU and guest as one file, with which old results can be made again.")


Workloads = Annotated[
    list[str] | None,
    typer.Option("--workload", metavar="NAME", help="a workload that its guests can run; kv if none is given"),
]


@app.command("export")
def export_(file: File, workload: Workloads = None, json: Json = None) -> None:
    """Write all files that a guest starts from into one file: QEMU, kernel, base, tools and workloads.

    The command exports the image of the present sources, or the one that TESTBED_IMAGE names. Updates of Debian and
    changes of the sources make another image; an exported file keeps its content.

    Examples:

      testbed image export build/image.tar

      testbed image export build/image.tar --workload kv --workload mtree
    """
    try:
        names = workloads.checked(workload or ("kv",))
    except ValueError as error:
        raise TestbedError(f"--workload: {error}") from error
    products = build((*TESTBED, *names))
    image = images.of(products, names)
    image_archive.write(file, image, products)
    _show([image], json)
    console.out.print(f"written: {file}", soft_wrap=True)


@app.command("import")
def import_(file: File, json: Json = None) -> None:
    """Put an image into the cache. A component is added only if each of its files matches the archive's list.

    Commands use the image if TESTBED_IMAGE names it, and `testbed cache --prune` keeps it.

    Examples:

      testbed image import build/image.tar

      TESTBED_IMAGE=3f2a testbed run kv-ycsb
    """
    _show([image_archive.take(file, Cache(cache_root()))], json)


@app.command("list")
def list_(json: Json = None) -> None:
    """List the images that were imported."""
    _show(images.known(Cache(cache_root())), json)


def _show(found: list[images.Image], json: Path | None) -> None:
    rows = [images.as_row(image) for image in found]
    cells = [(row["image"], f"{row['bytes'] / 2**20:,.0f} MiB", row["keys"]["qemu"][:16]) for row in rows]
    console.show("images", ("image", "size", "QEMU"), cells, left=(0, 2))
    tables.save_json(json, rows)
