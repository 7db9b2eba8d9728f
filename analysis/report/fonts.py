# SPDX-License-Identifier: BSD-3-Clause
"""The fonts that matplotlib brings: what the figures use of them goes into the page, so that labels have on every
reader's screen the widths they were placed with; on paper the whole report is set in them, whatever the host has."""

import base64
import io
from collections.abc import Mapping
from pathlib import Path

import matplotlib
from fontTools import subset
from fontTools.ttLib import TTFont

FOLDER = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
FIGURE_FILES = {
    ("400", "normal"): "DejaVuSans.ttf",
    ("700", "normal"): "DejaVuSans-Bold.ttf",
    ("400", "italic"): "DejaVuSans-Oblique.ttf",
    ("400", "oblique"): "DejaVuSans-Oblique.ttf",
    ("700", "italic"): "DejaVuSans-BoldOblique.ttf",
}
PAPER_FILES = (
    ("Paper", "400", "normal", "DejaVuSans.ttf"),
    ("Paper", "700", "normal", "DejaVuSans-Bold.ttf"),
    ("Paper", "400", "italic", "DejaVuSans-Oblique.ttf"),
    ("Paper Mono", "400", "normal", "DejaVuSansMono.ttf"),
)
FACE = '@font-face{{font-family:"{}";font-weight:{};font-style:{};src:url({})}}'


def figure_faces(used: Mapping[tuple[str, str], set[str]]) -> str:
    """CSS with the characters that figures use, as fonts within it."""
    faces = []
    for (weight, style), characters in sorted(used.items()):
        file = FIGURE_FILES.get((weight, style))
        if file:
            data = base64.b64encode(_subset(FOLDER / file, characters)).decode()
            faces.append(FACE.format("DejaVu Sans", weight, style, f"data:font/ttf;base64,{data}"))
    return "\n".join(faces)


def paper_faces() -> str:
    """CSS with the fonts of the PDF, by the addresses of their files."""
    return "\n".join(FACE.format(family, w, s, (FOLDER / file).as_uri()) for family, w, s, file in PAPER_FILES)


def _subset(path: Path, characters: set[str]) -> bytes:
    """The font with these characters only. Equal input gives equal bytes."""
    font = TTFont(path, recalcTimestamp=False)
    cutter = subset.Subsetter(subset.Options(hinting=False, layout_features=["kern"], drop_tables=["FFTM"]))
    cutter.populate(text="".join(sorted(characters)))
    cutter.subset(font)
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()
