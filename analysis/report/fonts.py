# SPDX-License-Identifier: BSD-3-Clause
"""The fonts that ship with matplotlib. The page embeds the characters that its figures use, so that labels keep the
widths with which they were placed on every reader's screen. The PDF uses only these fonts, never those on the host."""

import base64
import io
from collections.abc import Mapping
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

from ..charts.files import FONT_FOLDER

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
    """Return CSS that embeds the characters of the figures as fonts."""
    faces = []
    for (weight, style), characters in sorted(used.items()):
        file = FIGURE_FILES.get((weight, style))
        if file:
            data = base64.b64encode(_subset(FONT_FOLDER / file, characters)).decode()
            faces.append(FACE.format("DejaVu Sans", weight, style, f"data:font/ttf;base64,{data}"))
    return "\n".join(faces)


def paper_faces() -> str:
    """Return CSS that declares the fonts of the PDF by the URIs of their files."""
    return "\n".join(FACE.format(family, w, s, (FONT_FOLDER / file).as_uri()) for family, w, s, file in PAPER_FILES)


def _subset(path: Path, characters: set[str]) -> bytes:
    """Reduce the font to these characters. Equal input gives equal bytes."""
    font = TTFont(path, recalcTimestamp=False)
    cutter = subset.Subsetter(subset.Options(hinting=False, layout_features=["kern"], drop_tables=["FFTM"]))
    cutter.populate(text="".join(sorted(characters)))
    cutter.subset(font)
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()
