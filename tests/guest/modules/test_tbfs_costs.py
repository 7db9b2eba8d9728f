# SPDX-License-Identifier: BSD-3-Clause
"""The cost of one call of the module, as in docs/reference/tbfs.md: instructions, lines written and fences."""

from pathlib import Path

import pytest

from rigs.guest.guest_rig import RIG_PROGRAMS, static_programs
from rigs.guest.tbfs_rig import TOOL, compiled, sound
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO

pytestmark = pytest.mark.guest

INCLUDE = REPO / "guest-image" / "tools" / "include"
PAGE = REPO / "docs/reference/tbfs.md"
CALLS = (
    *("create", "make a folder", "append 64 bytes", "overwrite 64 bytes", "overwrite a page", "read a page"),
    *("change the mode", "rename", "cut", "unlink"),
)
WAYS = {
    "inplace": "data=inplace",
    "cow": "data=cow",
    "hybrid": "data=hybrid,gc_read=off",
    "inplace, metadata=log": "data=inplace,metadata=log",
}
NUMBERS = 100  # distance between the region numbers of two ways
ON_TBFS = """tbfs make /dev/pmem0 && mount -t tbfs -o {options} /dev/pmem0 /pmem || exit 1
cd /pmem && call_costs {number} || exit 1; cd /; umount /pmem; tbfs check /dev/pmem0 || exit 1
"""
NEAR = 0.05  # relative, for instructions: their number varies with compiler and kernel
Cost = tuple[int, int, int]  # instructions, lines, fences


def documented() -> dict[tuple[str, str], Cost]:
    """Return the cost of each call and way in the table of docs/reference/tbfs.md."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    table = {row[0]: row[1:] for row in rows if row[0] in CALLS and len(row) == 1 + len(WAYS)}
    found: dict[tuple[str, str], Cost] = {}
    for call, cells in table.items():
        for way, cell in zip(WAYS, cells, strict=True):
            instructions, lines, fences = (int(number.replace(",", "")) for number in cell.split("; "))
            found[call, way] = instructions, lines, fences
    return found


def measured(session: Session, guest: GuestConfig, folder: Path) -> dict[tuple[str, str], Cost]:
    programs = compiled(folder, {"tbfs": TOOL})
    programs |= static_programs(folder, {"call_costs": [RIG_PROGRAMS / "call_costs.c"]}, f"-I{INCLUDE}")
    numbered = list(enumerate(WAYS.items()))
    script = "".join(ON_TBFS.format(options=options, number=NUMBERS * n) for n, (_, options) in numbered)
    counts: dict[int, list[Cost]] = {}
    for roi in sound(session, guest, script, programs).rois:
        one = (int(roi["instructions"]), int(roi["counters"]["cxl-writes"]), int(roi["counters"]["fences"]))
        counts.setdefault(int(roi["id"]), []).append(one)
    # An interrupt may fall into one of the two regions of a call, so the lower cost counts.
    return {
        (call, way): min(counts[NUMBERS * n + place]) for n, (way, _) in numbered for place, call in enumerate(CALLS)
    }


def test_a_call_takes_what_the_page_says(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    found, said = measured(session, quick_guest, tmp_path), documented()
    rows = {call: " | ".join("{:,}; {}; {}".format(*found[call, way]) for way in WAYS) for call in CALLS}
    table = "\n".join(f"| {call} | {cells} |" for call, cells in rows.items())
    assert found.keys() == said.keys(), table
    for place, (instructions, *others) in found.items():
        assert (place, *others) == (place, *said[place][1:]), table
        assert instructions == pytest.approx(said[place][0], rel=NEAR), f"{place}\n{table}"
