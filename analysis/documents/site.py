# SPDX-License-Identifier: BSD-3-Clause
"""The site of the documents: `python -m analysis.documents.site [FOLDER]` builds it, by default into build/site.

mkdocs.yml beside this file has the navigation. The build is strict: a link to a missing page or heading, or a page that
the navigation lacks, ends it with status 1. MkDocs also loads this module for its hooks.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

from analysis.documents import headers, reference, study_parts  # MkDocs loads this file without its package
from testbed.paths import REPO

CONFIG = REPO / "analysis" / "documents" / "mkdocs.yml"
FOLDER = REPO / "build" / "site"
DOCS = REPO / "docs"
FENCE = re.compile(r"^```(\w+) .*$", re.MULTILINE)  # with words for a test, which the site does not show
HEADER = re.compile(r"<!-- header: (\S+) -->")
RESULT = re.compile(r"<!-- result: (\S+) -->")
GENERATED = re.compile(r"<!-- generated: (\w+) -->")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)")


def anchor(heading: str, separator: str = "-") -> str:
    """Return the anchor of a heading as GitHub makes it, so that links work there and on the site."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", separator)


def within(text: str, page: Path) -> str:
    """Replace each link of a page to a file of the repository beyond docs/ by its text: the site lacks that file."""

    def kept(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(page.parent / match[2]))
        return match[0] if target.is_relative_to(DOCS) else match[1]

    return LINK.sub(kept, text)


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """MkDocs' hook before it reads the pages: add the plots, which are not in the folder of documents."""
    from mkdocs.structure.files import File

    for address, path in study_parts.plots().items():
        files.append(File.generated(config, address, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """MkDocs' hook before it renders a page."""
    shown = HEADER.sub(lambda match: headers.page(REPO / match[1]), markdown)
    shown = GENERATED.sub(lambda match: reference.PARTS[match[1]](), shown)
    shown = RESULT.sub(lambda match: study_parts.part(match[1]), shown)
    return FENCE.sub(r"```\1", within(shown, Path(page.file.abs_src_path)))


def build(folder: Path) -> list[str]:
    """Build the site into a folder; return the warnings of MkDocs, each of which is a fault of a page."""
    import logging

    from mkdocs.commands.build import build as mkdocs_build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    faults: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: faults.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("mkdocs").addHandler(handler)
    try:
        mkdocs_build(load_config(str(CONFIG), site_dir=str(folder)))
    except Abort as error:
        faults.append(str(error))
    finally:
        logging.getLogger("mkdocs").removeHandler(handler)
    return faults


def main(words: list[str]) -> int:
    folder = Path(words[0]) if words else FOLDER
    faults = build(folder)
    for fault in faults:
        print(f"analysis.documents.site: {fault}", file=sys.stderr)
    if not faults:
        print(f"{folder}/index.html")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
