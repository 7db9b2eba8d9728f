# SPDX-License-Identifier: BSD-3-Clause
"""The site of the documents: strict links, and pages in headless Chromium that need no network."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from analysis.documents import headers, site, study_parts
from testbed.paths import REPO

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PAGES = (
    "index.html",
    "tutorial/measure.html",
    "reference/parameters.html",
    "reference/python.html",
    "reference/c-interface.html",
    "explanation/model.html",
    "results/figures.html",
    "results/threads.html",
)
SEARCHES = {
    "superqueue": "reference/parameters.html",
    "oracle": "reference/crash-tests.html",
    "snapshot_epoch_leave": "c-interface.html",
}
PATIENCE_MS = 180_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a warning, where one figure has been drawn."""
    made, figures = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("figures")
    shutil.copy(site.DOCS / "pictures" / "ratios.svg", figures / "commits-beside.svg")
    (figures / "commits-beside.txt").write_text("Commits\nState: QEMU 1234abcd.\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_parts, "FIGURES", figures)
        assert site.build(made) == []
    return made


@pytest.fixture(scope="module")
def browser(folder: Path) -> Iterator[Browser]:
    """Chromium of the distribution, without its sandbox, which refuses to start as root. The pages are our own."""
    assert (folder / "index.html").exists()
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    assert found, f"no Chromium: install one of {', '.join(BROWSERS)}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Browser, path: Path) -> tuple[Page, list[str], list[str]]:
    """Open a page without a network: the page, the addresses that it asks for, and its complaints."""
    page = browser.new_context(offline=True).new_page()
    page.set_default_timeout(PATIENCE_MS)
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    return page, requests, complaints


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_no_other_host_and_has_no_error_and_no_broken_image(
    browser: Browser, folder: Path, name: str
) -> None:
    page, requests, complaints = opened(browser, folder / name)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    broken = "[...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src)"
    page.wait_for_load_state("load")
    assert page.evaluate(broken) == []
    assert [url for url in requests if not url.startswith((folder.as_uri(), "data:"))] == []
    assert complaints == []
    page.context.close()


@pytest.mark.parametrize(("words", "expected"), SEARCHES.items())
def test_a_search_finds_the_page(browser: Browser, folder: Path, words: str, expected: str) -> None:
    page, _, complaints = opened(browser, folder / "index.html")
    query = page.locator("input[data-md-component=search-query]")
    query.fill(words)
    query.press("End")  # the theme searches at a key, once here: the search shares the page's thread
    page.wait_for_selector(".md-search-result__item a", state="attached")
    found = page.evaluate("[...document.querySelectorAll('.md-search-result__item a')].map(a => a.href)")
    assert any(expected in address for address in found), found
    assert complaints == []
    page.context.close()


def test_both_schemes_can_be_chosen(browser: Browser, folder: Path) -> None:
    page, _, _ = opened(browser, folder / "index.html")
    assert page.locator("form[data-md-component=palette] input").count() == 2
    page.context.close()


def test_the_python_interface_has_parameters_results_and_errors(folder: Path) -> None:
    text = (folder / "reference/python.html").read_text()
    names = ("run", "results", "exec", "crash")
    assert [name for name in names if f'id="testbed.interface.functions.{name}"' not in text] == []
    assert text.count("Parameters:") == text.count("Raises:") == len(names)


def test_a_page_of_results_begins_with_its_plot_or_with_the_command_that_makes_it(folder: Path) -> None:
    with_plot, without = ((folder / f"results/{name}.html").read_text() for name in ("threads", "kyoto-modes"))
    assert (folder / "results/figures/commits-beside.svg").exists()
    assert 'src="figures/commits-beside.svg"' in with_plot and "State: QEMU 1234abcd." in with_plot
    assert "<code>testbed figures kyoto-modes</code>" in without


PUBLIC = sorted((REPO / "snapshot-lib/include/snapshot").glob("*.h"))
HEADERS = [path for path in PUBLIC if path.name != "libstdcxx.h"]  # a part of snap++


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.name)
def test_every_declaration_of_a_public_header_has_a_comment(path: Path) -> None:
    found = [item for item in headers.items(path.read_text()) if item.name]
    assert len([item for item in found if item.name.endswith("()")]) >= 7
    assert [item.name for item in found if not item.said and not item.fields] == []
    assert [code for item in found for code, said in item.fields if not said] == []


def test_a_header_becomes_markdown() -> None:
    text = (
        "#ifndef A_H\n#define A_H\n/* The head. */\n\n/* A limit. */\n#define LIMIT 2\n#define MORE 3 /* own */\n\n"
        "struct a {\n    int b; /* of c */\n};\n\n/*\n * Returns 1.\n */\n"
        "static inline int f(void) { return 1; }\n#endif\n"
    )
    assert list(headers.items(text)) == [
        headers.Item("", "", "The head.", []),
        headers.Item("LIMIT", "#define LIMIT 2", "A limit.", []),
        headers.Item("MORE", "#define MORE 3", "own", []),
        headers.Item("struct a", "struct a {\n    int b;\n};", "", [("int b", "of c")]),
        headers.Item("f()", "int f(void);", "Returns 1.", []),
    ]


def test_links_beyond_the_documents_become_text() -> None:
    page = site.DOCS / "howto/add.md"
    said = "[a](../reference/folders.md#x) [b](../../README.md) ![c](../pictures/c.svg) [d](https://e.org/f)"
    assert site.within(said, page) == said.replace("[b](../../README.md)", "b")


def test_anchors_are_github_s() -> None:
    assert site.anchor("What `a b` is, and Why") == "what-a-b-is-and-why"
