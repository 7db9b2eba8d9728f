# SPDX-License-Identifier: BSD-3-Clause
"""The page on paper: the same HTML under its print style, laid out by WeasyPrint with fonts that come with the
testbed, so that the bytes do not depend on the host's. Nothing is fetched but those fonts."""

import logging
from typing import Any

from testbed.errors import TestbedError

from . import fonts


def from_html(html: str) -> bytes:
    """An A4 PDF (PDF/UA-1, tagged and with an outline) of the report's HTML."""
    weasyprint = _library()
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    configuration = weasyprint.text.fonts.FontConfiguration()
    fetcher = weasyprint.urls.URLFetcher(allowed_protocols=("data", "file"))
    document = weasyprint.HTML(string=html, url_fetcher=fetcher)
    faces = weasyprint.CSS(string=fonts.paper_faces(), font_config=configuration, url_fetcher=fetcher)
    return bytes(document.write_pdf(stylesheets=[faces], font_config=configuration, pdf_variant="pdf/ua-1"))


def _library() -> Any:
    """WeasyPrint, which opens Pango when it is imported."""
    try:
        import weasyprint
    except (ImportError, OSError) as error:
        library = str(error).split("\n", 1)[0]
        raise TestbedError(f"cannot make the PDF ({library}); ansible/bootstrap.sh installs what is missing") from error
    return weasyprint
