# SPDX-License-Identifier: BSD-3-Clause
"""The report's page in headless Chromium: accessibility, layout, sorting, and no requests to a network."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from analysis.report import index, page
from rigs import report_sample

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PHONE, DESKTOP, PAPER = (360, 800), (1280, 900), (794, 1123)
UNFOLD = "document.querySelectorAll('details').forEach(d => d.open = true)"
# Elements that reach beyond the page; contents of boxes that scroll may be wider.
OVERFLOW = """() => [...document.querySelectorAll('body *')].filter(
    e => !e.closest('.scroll > *') && !e.closest('.skip') && e.getBoundingClientRect().right > innerWidth + 1
).map(e => e.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    report_sample.write(folder / "figures", folder / "results")
    read = index.load(folder / "figures")
    path = folder / "report.html"
    path.write_text(page.render(read, index.load_results(read, folder / "results"), folder / "figures"))
    return path


@pytest.fixture(scope="module")
def browser(html: Path) -> Iterator[Browser]:
    """Chromium of the distribution. Its sandbox refuses to start as root, as in CI; the pages opened here are our own.

    The page is made first: Playwright keeps an event loop in this thread, and drawing the figures starts another.
    """
    assert html.exists()
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    assert found, f"no Chromium: install one of {', '.join(BROWSERS)}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page in the browser of one reader, with all of its requests, console messages and errors."""

    def __init__(self, browser: Browser, html: Path, size: tuple[int, int], **options: Any) -> None:
        viewport: Any = {"width": size[0], "height": size[1]}
        self.context: BrowserContext = browser.new_context(viewport=viewport, offline=True, **options)
        self.page: Page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(html.as_uri())

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def column(self, table: str, number: int) -> list[str]:
        return self.page.locator(f"{table} tbody tr > :nth-child({number})").all_inner_texts()


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "light"), (DESKTOP, "dark")], ids=["phone", "desktop"])
def test_axe_finds_no_fault_and_the_console_is_silent(
    browser: Browser, html: Path, size: tuple[int, int], scheme: Any
) -> None:
    with Visit(browser, html, size, color_scheme=scheme) as visit:
        visit.page.evaluate(UNFOLD)
        violations = Axe().run(visit.page).response["violations"]
        assert [(v["id"], v["impact"], v["nodes"][0]["html"]) for v in violations] == []
        assert visit.complaints == []


def test_the_page_asks_for_nothing_but_itself(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.evaluate(UNFOLD)
        visit.page.evaluate("document.fonts.ready.then(() => true)")
        assert [url for url in visit.requests if not url.startswith("data:")] == [html.as_uri()]
        assert visit.page.evaluate("document.fonts.check('9px \"DejaVu Sans\"', 'x')")


@pytest.mark.parametrize(
    ("size", "media"), [(PHONE, "screen"), (DESKTOP, "screen"), (PAPER, "print")], ids=["phone", "desktop", "print"]
)
def test_nothing_is_wider_than_the_page(browser: Browser, html: Path, size: tuple[int, int], media: Any) -> None:
    with Visit(browser, html, size) as visit:
        visit.page.emulate_media(media=media)
        visit.page.evaluate(UNFOLD)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert visit.page.evaluate(OVERFLOW) == []


def test_labels_of_figures_are_legible_on_a_phone(browser: Browser, html: Path) -> None:
    heights = """() => [...document.querySelectorAll('.picture svg text')].map(
        t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getScreenCTM().a)"""
    with Visit(browser, html, PHONE) as visit:
        sizes = visit.page.evaluate(heights)
        assert len(sizes) > 20
        assert min(sizes) > 7


def test_dark_mode_is_dark_and_paper_is_white(browser: Browser, html: Path) -> None:
    def background(visit: Visit) -> int:
        colour = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour[4:-1].split(","))

    with Visit(browser, html, DESKTOP, color_scheme="dark") as visit:
        assert background(visit) < 3 * 40
        visit.page.emulate_media(media="print", color_scheme="dark")
        assert background(visit) == 3 * 255


def test_a_click_sorts_numbers_as_numbers_and_another_turns_them_round(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.evaluate(UNFOLD)
        written = [number(text) for text in visit.column("#data-list", 5)]
        head = visit.page.locator("#data-list thead th").nth(4)
        head.get_by_role("button").click()
        times = [number(text) for text in visit.column("#data-list", 5)]
        assert times == sorted(written) != sorted(written, key=str)
        assert head.get_attribute("aria-sort") == "ascending"
        head.get_by_role("button").press("Enter")
        assert [number(text) for text in visit.column("#data-list", 5)] == times[::-1]
        assert head.get_attribute("aria-sort") == "descending"


def test_words_are_sorted_too_and_rows_stay_whole(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.evaluate(UNFOLD)
        rows = set(visit.page.locator("#data-list tbody tr").all_inner_texts())
        visit.page.locator("#data-list thead th").nth(2).get_by_role("button").click()
        engines = visit.column("#data-list", 3)
        assert engines == sorted(engines)
        assert set(visit.page.locator("#data-list tbody tr").all_inner_texts()) == rows


def test_without_scripts_everything_is_still_there(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP, java_script_enabled=False) as visit:
        assert visit.page.locator("th button").count() == 0
        visit.page.locator("summary", has_text="Data of the figure").first.click()
        assert visit.page.locator("#data-list tbody tr").first.is_visible()
        assert visit.page.locator("#scorecard tbody tr").count() > 0


def test_a_link_to_what_is_folded_away_unfolds_it(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        table = visit.page.locator("#run-table-list")
        assert not table.is_visible()
        visit.page.locator(".source a", has_text="list").click()
        table.wait_for(state="visible")


def test_everything_is_open_in_print(browser: Browser, html: Path) -> None:
    with Visit(browser, html, PAPER) as visit:
        visit.page.emulate_media(media="print")
        assert visit.page.evaluate("document.querySelector('#run-table-list').getBoundingClientRect().height") > 20
        assert visit.page.evaluate("document.querySelector('.skip').getBoundingClientRect().height") == 0
