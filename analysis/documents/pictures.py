# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of the documents: `python -m analysis.documents.pictures` draws them into docs/pictures/.

The pictures depend only on the code, experiments/quick.csv (quick_numbers.py) and experiments/scales.toml, so their
bytes are the same everywhere. tests/repo/test_pictures.py fails if a committed picture differs from the one drawn here.
"""

import math
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

from testbed import outputs
from testbed.manifest import scales
from testbed.paths import REPO

from ..figures.engines import NOT_COMPARABLE
from . import quick_numbers

FOLDER = REPO / "docs" / "pictures"
FONT = "font-family='sans-serif'"
INK, GREY, PALE = "#222222", "#666666", "#f3f3f3"
HOST, DEVICE = "#d9e6f2", "#f7e3cc"


def text(x: int, y: int, said: str, size: int = 12, colour: str = INK, anchor: str = "middle") -> str:
    return (
        f"<text x='{x}' y='{y}' {FONT} font-size='{size}' fill='{colour}' text-anchor='{anchor}'>{escape(said)}</text>"
    )


def box(x: int, y: int, width: int, height: int, fill: str) -> str:
    return f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='4' fill='{fill}' stroke='{GREY}'/>"


def line(x1: int, y1: int, x2: int, y2: int, ends: str = "") -> str:
    return f"<line x1='{x1}' y1='{y1}' x2='{x2}' y2='{y2}' stroke='{INK}' {ends}/>"


def arrow(x1: int, y1: int, x2: int, y2: int) -> str:
    return line(x1, y1, x2, y2, "marker-end='url(#head)'")


def picture(width: int, height: int, title: str, parts: list[str]) -> str:
    head = "<marker id='head' markerWidth='8' markerHeight='8' refX='7' refY='3' orient='auto'>"
    arrowhead = f"<defs>{head}<path d='M0,0 L7,3 L0,6 z' fill='{INK}'/></marker></defs>"
    size = f"width='{width}' height='{height}' viewBox='0 0 {width} {height}'"
    opened = f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img'>"
    licence = "<!-- SPDX-License-Identifier: BSD-3-Clause; drawn by analysis/documents/pictures.py -->"
    white = f"<rect width='{width}' height='{height}' fill='white'/>"
    return "\n".join([licence, opened, f"<title>{escape(title)}</title>", arrowhead, white, *parts, "</svg>", ""])


# The stations that a load passes: title, two lines on the parts that the model covers, fill.
STATIONS = (
    ("core", "loads, stores,", "flushes, fences", HOST),
    ("CPU caches", "L1, L2, LLC:", "lines of 64 bytes", HOST),
    ("CXL link", "latency, wires,", "flits, credits", PALE),
    ("device cache", "DRAM in the SSD:", "pages of 4 KiB", DEVICE),
    ("FTL", "mapping, wear,", "garbage collection", DEVICE),
    ("flash", "channels, dies,", "planes", DEVICE),
)


def data_path() -> str:
    """Draw the path from the core to flash, with a sentence each on loads and stores."""
    parts, pitch, width = [], 138, 112
    for index, (title, first, second, fill) in enumerate(STATIONS):
        x = 14 + index * pitch
        parts += [box(x, 44, width, 76, fill), text(x + width // 2, 66, title, 14)]
        parts += [text(x + width // 2, 88, first, 11, GREY), text(x + width // 2, 104, second, 11, GREY)]
        if index:
            parts.append(arrow(x - pitch + width + 3, 82, x - 3, 82))
    parts += [text(132, 24, "host: Linux on QEMU, one virtual clock", 12, GREY)]
    parts += [text(622, 24, "CXL memory-semantic SSD", 12, GREY)]
    parts += [
        text(446, 150, "A load goes as far right as it must, and waits for all of the way there and back.", 12),
        text(
            446,
            168,
            "A store ends in the caches; it is durable once its line has got where the power domain reaches.",
            12,
        ),
    ]
    return picture(832, 184, "The data path: core, CPU caches, CXL link, device cache, FTL, flash", parts)


def write_timeline() -> str:
    """Draw the write of one line of a page that the device cache holds: store, flush and fence, then the write-back."""
    lanes = (("core", 60), ("link", 100), ("device cache", 140), ("flash", 180))
    parts = [part for name, y in lanes for part in (text(100, y + 4, name, 12, GREY, "end"), line(110, y, 800, y))]
    spans = (
        (140, 60, 60, HOST, "store"),
        (200, 60, 60, HOST, "clwb"),
        (260, 60, 250, PALE, "sfence waits"),
        (260, 100, 90, PALE, "wire, latency"),
        (350, 140, 80, DEVICE, "look-up"),
        (430, 100, 80, PALE, "latency"),
        (560, 180, 130, DEVICE, "program of the page"),
    )
    for x, y, width, fill, said in spans:
        parts += [box(x, y - 13, width, 26, fill), text(x + width // 2, y + 4, said, 11)]
    for x, said in ((430, "accepted"), (510, "completed"), (690, "durable")):
        parts += [line(x, 36, x, 206, "stroke-dasharray='4 3'"), text(x, 28, said, 13)]
    parts.append(
        text(110, 224, "With a protected device cache the line is durable when it is accepted.", 12, INK, "start")
    )
    parts.append(text(800, 224, "time, not to scale", 11, GREY, "end"))
    return picture(832, 236, "A write in time: accepted, completed, durable", parts)


def kv_rows() -> list[tuple[str, float, float, str]]:
    """List (workload, Snapshot's speedup over PMDK, the published speedup, a star if the two are not comparable)."""
    numbers = {(c.group.partition(",")[0].removeprefix("kv "), c.what): c for c in quick_numbers.load().of("kv-ycsb")}
    rows = []
    for workload in dict.fromkeys(workload for workload, _ in numbers):
        pmdk, snapshot = numbers[workload, "pmdk"], numbers[workload, "snapshot"]
        star = "" if snapshot.comparable else "*"
        rows.append((workload, pmdk.ours / snapshot.ours, pmdk.published / snapshot.published, star))
    return rows


def kv_speedups() -> str:
    """Draw the speedup of Snapshot over PMDK, ours beside the published one."""
    base, pixels_per_unit = 200, 14
    parts = [line(50, base, 800, base), text(425, 18, "KV store under YCSB: times faster than PMDK", 13)]
    for units in (5, 10):
        y = base - units * pixels_per_unit
        parts += [
            f"<line x1='50' y1='{y}' x2='800' y2='{y}' stroke='#dddddd'/>",
            text(42, y + 4, str(units), 11, GREY, "end"),
        ]
    for index, (workload, ours, published, star) in enumerate(kv_rows()):
        x = 70 + index * 104
        for shift, times, fill in ((0, ours, HOST), (34, published, DEVICE)):
            height = round(times * pixels_per_unit)
            parts += [
                box(x + shift, base - height, 30, height, fill),
                text(x + shift + 15, base - height - 4, f"{times:.2f}", 11),
            ]
        parts.append(text(x + 32, base + 16, workload + star, 12))
    parts += [box(560, 30, 12, 12, HOST), text(578, 40, "measured here", 11, INK, "start")]
    parts += [box(680, 30, 12, 12, DEVICE), text(698, 40, "published", 11, INK, "start")]
    notes = [f"* {w}: {NOT_COMPARABLE['kv', w]}, so the two do not compare" for w, _, _, star in kv_rows() if star]
    scale = scales.divisor(quick_numbers.SCALE, "kv-ycsb")
    notes.append(f"Measured at scale 1/{scale}: data and caches are so many times smaller than published.")
    parts += [text(50, base + 36 + 16 * n, note, 11, GREY, "start") for n, note in enumerate(notes)]
    return picture(832, 226 + 16 * len(notes), "Snapshot over PMDK under YCSB A to G, measured and published", parts)


def ratio_rows() -> list[tuple[str, list[float]]]:
    """List (figure, each comparable number of it as ours over the published one), in the order of the catalogue."""
    found: dict[str, list[float]] = {}
    for comparison in quick_numbers.load().comparisons:
        if comparison.comparable and comparison.ours > 0 and comparison.published > 0:
            found.setdefault(comparison.figure, []).append(comparison.ours / comparison.published)
    return list(found.items())


def ratios() -> str:
    """Draw each published number as a dot: ours over the published one, on a logarithmic axis."""
    left, right, top, pitch = 150, 800, 48, 26
    rows = ratio_rows()
    base = top + pitch * len(rows)

    def place(ratio: float) -> int:
        bounded = min(max(math.log10(ratio), -2), 2)
        return round(left + (right - left) * (bounded + 2) / 4)

    parts = [
        f"<rect x='{place(0.5)}' y='{top - 12}' width='{place(2) - place(0.5)}' "
        f"height='{base - top + 4}' fill='{PALE}'/>"
    ]
    for ratio in (0.01, 0.1, 0.5, 1, 2, 10, 100):
        colour = INK if ratio == 1 else "#dddddd"
        parts.append(
            f"<line x1='{place(ratio)}' y1='{top - 12}' x2='{place(ratio)}' y2='{base - 8}' stroke='{colour}'/>"
        )
        parts.append(text(place(ratio), base + 8, f"{ratio:g}", 11, GREY))
    for index, (figure, values) in enumerate(rows):
        y = top + pitch * index
        parts.append(text(left - 10, y + 4, f"{figure} ({len(values)})", 12, INK, "end"))
        parts += [
            f"<circle cx='{place(value)}' cy='{y}' r='5' fill='{HOST}' fill-opacity='0.8' stroke='{GREY}'/>"
            for value in values
        ]
    parts.append(text(475, 20, "Each published number: ours over the published one", 13))
    parts.append(
        text(475, base + 28, "The band is a factor of two; ratios beyond 0.01 and 100 stand at the ends.", 11, GREY)
    )
    return picture(832, base + 40, "Each published number: ours over the published one", parts)


PICTURES: dict[str, Callable[[], str]] = {
    "data-path.svg": data_path,
    "kv-speedups.svg": kv_speedups,
    "ratios.svg": ratios,
    "write-timeline.svg": write_timeline,
}


def draw_all(folder: Path) -> None:
    for name, drawn in PICTURES.items():
        outputs.write(folder / name, drawn().encode())


if __name__ == "__main__":
    draw_all(FOLDER)
