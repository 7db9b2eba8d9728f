# SPDX-License-Identifier: BSD-3-Clause
"""The fonts that ship with matplotlib. The PDF uses only these fonts, never those on the host."""

from ..charts.files import FONT_FOLDER

PAPER_FILES = (
    ("Paper", "400", "normal", "DejaVuSans.ttf"),
    ("Paper", "700", "normal", "DejaVuSans-Bold.ttf"),
    ("Paper", "400", "italic", "DejaVuSans-Oblique.ttf"),
    ("Paper Mono", "400", "normal", "DejaVuSansMono.ttf"),
)
FACE = '@font-face{{font-family:"{}";font-weight:{};font-style:{};src:url({})}}'


def paper_faces() -> str:
    """Return CSS that declares the fonts of the PDF by the URIs of their files."""
    return "\n".join(FACE.format(family, w, s, (FONT_FOLDER / file).as_uri()) for family, w, s, file in PAPER_FILES)
