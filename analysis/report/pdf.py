# SPDX-License-Identifier: BSD-3-Clause
"""The report as a PDF: the same HTML under its print style, laid out by WeasyPrint. The fonts ship with matplotlib, so
the bytes do not depend on the host's fonts. WeasyPrint fetches nothing except these fonts."""

import logging
from typing import Any

from testbed.errors import TestbedError

from . import fonts


def from_html(html: str) -> bytes:
    """Convert the report's HTML to an A4 PDF (PDF/UA-1, tagged and with an outline)."""
    weasyprint = _library()
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    configuration = weasyprint.text.fonts.FontConfiguration()
    fetcher = weasyprint.urls.URLFetcher(allowed_protocols=("data", "file"))
    document = weasyprint.HTML(string=html, url_fetcher=fetcher)
    faces = weasyprint.CSS(string=fonts.paper_faces(), font_config=configuration, url_fetcher=fetcher)
    return bytes(document.write_pdf(stylesheets=[faces], font_config=configuration, pdf_variant="pdf/ua-1"))


def _library() -> Any:
    """Import WeasyPrint, which opens Pango on import; TestbedError if a library is missing."""
    try:
        import weasyprint
    except (ImportError, OSError) as error:
        library = str(error).split("\n", 1)[0]
        raise TestbedError(f"cannot make the PDF ({library}); ansible/bootstrap.sh installs the packages") from error
    return weasyprint
