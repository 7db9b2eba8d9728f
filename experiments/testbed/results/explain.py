# SPDX-License-Identifier: BSD-3-Clause
"""Shows people everything that entered the hash of a result."""

from typing import Any

from rich.tree import Tree

from .. import canonical, units
from ..guest.qemu_line import LSA_BYTES, cpu_model, kernel_arguments
from .lookup import hash_of
from .results import Result

SIZES = ("_size", "_bytes", "capacity", "_per_page")
NAMES = {
    "format": "of results",
    "components": "the builds, each under the hash of its sources and tools",
    "qemu_line": "kernel command line, CPU model and label area, hashed",
    "seed": "which of the machines that differ in what is arbitrary",
    "boot_insn_ps": "time per instruction outside the region of interest",
    "argv": "the command",
    "kernel": "a kernel of the user's own and its modules, hashed",
    "kernel_arguments": "what the kernel is told after the testbed's own arguments",
    "memory_tables": "how fast memory is, as the kernel is told; of a CDAT its hash",
    "machine_checks": "a load of poison is one; the CPU model that its kernel needs for it",
    "direct_stores": "its CPU has MOVDIR64B; the CPU model that says so",
    "page_size": "pages by which files are mapped, as the manifest asks for them",
    "workloads": "archives with their programs, each under the hash of its sources and tools",
    "file_systems": "how each one is made and mounted",
    "file_system_archives": "what brings a file system to the image, under the hash of its sources and tools",
    "topology": "devices after the first, bridges of all, regions in the order in which they are made",
}


def tree(result: Result) -> Tree:
    """Return the documented inputs as a tree. Its root says whether the file is named by the hash of its identity."""
    digest = canonical.digest(result.data["identity"])
    named = hash_of(result.path)
    agrees = "is" if digest.startswith(named) and named else f"is NOT (that is {digest[:16]})"
    root = Tree(f"{named or result.path.name} {agrees} the hash of", highlight=False)
    for part, value in result.data["identity"].items():
        _grow(root, part, value)
    outside = root.add(
        "not in the hash: manifest, scale, point, time limit; host, paths, dates are not even in the file"
    )
    outside.add(f"manifest {result.data['manifest']}, scale 1/{result.data['scale']}, point {result.point}")
    return root


def _grow(parent: Tree, key: str, value: Any) -> None:
    if isinstance(value, dict):
        branch = parent.add(_title(key))
        for name, inner in value.items():
            _grow(branch, name, inner)
    elif key == "qemu_line":
        _grow_line(parent, value)
    else:
        shown = " ".join(map(str, value)) if isinstance(value, list) else _shown(key, value)
        parent.add(f"{_title(key)} = {shown}")


def _grow_line(parent: Tree, digest: str) -> None:
    """Add the values behind the digest, if this clone still has the same ones."""
    branch = parent.add(f"{_title('qemu_line')} = {digest[:16]}")
    if digest == canonical.digest([kernel_arguments(), cpu_model(), LSA_BYTES]):
        branch.add(f"kernel {kernel_arguments()}")
        branch.add(f"cpu {cpu_model()}, label area {units.show_size(LSA_BYTES)}")
    else:
        branch.add("another one than in this clone")


def _title(key: str) -> str:
    return f"{key} ({NAMES[key]})" if key in NAMES else key


def _shown(key: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        return str(value)
    if key.endswith("bandwidth"):
        return f"{value / units.BANDWIDTH['GB/s']:.4g} GB/s"
    if key.endswith("_ps"):
        return units.show_time(value)
    return units.show_size(value) if key.endswith(SIZES) else str(value)
