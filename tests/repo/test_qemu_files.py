# SPDX-License-Identifier: BSD-3-Clause
"""The whole files that are added to QEMU: each is compiled, and each has a row in docs/reference/qemu.md."""

import re
from pathlib import PurePosixPath

from testbed.paths import REPO

PATCHES, OVERLAY = REPO / "qemu-patches/patches", REPO / "qemu-patches/overlay"


def added_sources() -> set[str]:
    return {str(path.relative_to(OVERLAY)) for path in OVERLAY.rglob("*.c")}


def compiled() -> set[str]:
    """The files that meson compiles with all patches; a later patch overrides an earlier one."""
    found: dict[str, bool] = {}
    for patch in sorted(PATCHES.glob("*.patch")):
        for folder, hunks in re.findall(
            r"^\+\+\+ b/(.+)/meson\.build\n((?:[-+@ ].*\n)+)", patch.read_text(), re.MULTILINE
        ):
            lines = [line for line in hunks.splitlines() if line[0] in "-+"]
            for line in sorted(lines, key=lambda line: line[0] == "+"):
                found |= {f"{folder}/{name}": line[0] == "+" for name in re.findall(r"'([\w-]+\.c)'", line)}
    return {name for name, stays in found.items() if stays}


def rows() -> list[str]:
    """Paths in the table of parts, in its order; an ellipsis stands for the folder of the row before."""
    section = (REPO / "docs/reference/qemu.md").read_text().partition("\n## Parts\n")[2].partition("\n## ")[0]
    found: list[str] = []
    for cell in re.findall(r"^\| `([^`]+\.c)` \|", section, re.MULTILINE):
        folder = PurePosixPath(found[-1]).parent if cell.startswith("…/") else ""
        found.append(str(PurePosixPath(folder, cell.removeprefix("…/").removeprefix("qemu-patches/overlay/"))))
    return found


def test_every_added_file_is_compiled() -> None:
    sources = added_sources()
    assert len(sources) > 10
    assert sorted(sources ^ compiled()) == []


def test_every_added_file_has_one_row_and_every_row_a_file() -> None:
    assert sorted(rows()) == sorted(added_sources())
