# SPDX-License-Identifier: BSD-3-Clause
"""The report's page in headless Chromium: accessibility, layout, figures, tables, runs, and no network."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Locator, Page, sync_playwright

from analysis.report import index, page
from rigs import report_sample

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PHONE, DESKTOP, PAPER = (360, 800), (1280, 900), (794, 1123)
TIMEOUT_MS = 300_000  # a loaded host takes long to read the page's scripts
UNFOLD = "document.querySelectorAll('details').forEach(d => d.open = true)"
# Elements that reach beyond the page; contents of boxes that scroll may be wider.
OVERFLOW = """() => [...document.querySelectorAll('body *')].filter(
    e => !e.closest('.scroll > *, .dt-layout-table > *, svg, .skip') && e.getBoundingClientRect().right > innerWidth + 1
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
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"], timeout=TIMEOUT_MS)
        yield browser
        browser.close()


class Visit:
    """A page in the browser of one reader, with all of its requests, console messages and errors."""

    def __init__(self, browser: Browser, html: Path, size: tuple[int, int], **options: Any) -> None:
        viewport: Any = {"width": size[0], "height": size[1]}
        self.context: BrowserContext = browser.new_context(viewport=viewport, offline=True, **options)
        self.context.set_default_timeout(TIMEOUT_MS)
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

    def figure(self, name: str) -> None:
        """Scroll to a figure and wait until it is drawn."""
        self.page.locator(f"#picture-{name}").scroll_into_view_if_needed()
        self.page.wait_for_selector(f"#picture-{name}.drawn")

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
        visit.figure("gallery")
        violations = Axe().run(visit.page).response["violations"]
        assert [(v["id"], v["impact"], v["nodes"][0]["html"]) for v in violations] == []
        assert visit.complaints == []


def test_the_page_asks_for_nothing_but_itself(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.evaluate(UNFOLD)
        visit.figure("gallery")
        assert [url for url in visit.requests if not url.startswith("data:")] == [html.as_uri()]


@pytest.mark.parametrize(
    ("size", "media"), [(PHONE, "screen"), (DESKTOP, "screen"), (PAPER, "print")], ids=["phone", "desktop", "print"]
)
def test_nothing_is_wider_than_the_page(browser: Browser, html: Path, size: tuple[int, int], media: Any) -> None:
    with Visit(browser, html, size) as visit:
        visit.page.emulate_media(media=media)
        visit.page.evaluate(UNFOLD)
        if media == "screen":
            visit.figure("gallery")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert visit.page.evaluate(OVERFLOW) == []


def test_labels_of_figures_are_legible_on_a_phone(browser: Browser, html: Path) -> None:
    heights = """() => [...document.querySelectorAll('#picture-gallery .live .main-svg text')].filter(
        t => t.textContent && t.getBoundingClientRect().height).map(t => parseFloat(getComputedStyle(t).fontSize))"""
    with Visit(browser, html, PHONE) as visit:
        visit.figure("gallery")
        sizes = visit.page.evaluate(heights)
        assert len(sizes) > 20
        assert min(sizes) > 7
        width = visit.page.evaluate("document.querySelector('#picture-gallery .live .main-svg').clientWidth")
        assert width < PHONE[0]


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_figure_has_the_width_of_its_page_and_its_whole_heading(browser: Browser, html: Path, size: Any) -> None:
    """Plotly widens a margin for some legends, and draws the first line of a long heading above the figure."""
    top = "document.querySelector('#picture-gallery {}').getBoundingClientRect().top"
    with Visit(browser, html, size) as visit:
        visit.figure("gallery")
        margins_px = visit.page.evaluate("document.querySelector('#picture-gallery .live')._fullLayout._size")
        assert margins_px["l"] < 100 and margins_px["r"] < 60
        assert visit.page.evaluate(top.format(".gtitle")) >= visit.page.evaluate(top.format(".live"))


def test_dark_mode_is_dark_and_paper_is_white(browser: Browser, html: Path) -> None:
    def background(visit: Visit) -> int:
        colour = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour[4:-1].split(","))

    with Visit(browser, html, DESKTOP, color_scheme="dark") as visit:
        assert background(visit) < 3 * 40
        visit.page.emulate_media(media="print", color_scheme="dark")
        assert background(visit) == 3 * 255


def await_order(head: Locator, direction: str) -> None:
    """Wait until the table is sorted by this column: on a busy host, it is so only a while after the click."""
    sorted_so = "([head, direction]) => head.getAttribute('aria-sort') == direction"
    head.page.wait_for_function(sorted_so, arg=[head.element_handle(), direction])


def test_a_click_sorts_numbers_as_numbers_and_a_key_turns_them_round(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.evaluate(UNFOLD)
        written = [number(text) for text in visit.column("#data-list", 5)]
        head = visit.page.locator("#data-list thead th").nth(4)
        head.locator(".dt-column-order").click()
        await_order(head, "ascending")
        times = [number(text) for text in visit.column("#data-list", 5)]
        assert times == sorted(times)
        head.locator(".dt-column-order").press("Enter")
        await_order(head, "descending")
        turned = [number(text) for text in visit.column("#data-list", 5)]
        assert turned == sorted(turned, reverse=True)
        assert max(written) <= turned[0]  # rows of other pages of the table are sorted, too


def test_words_are_sorted_too_and_rows_stay_whole(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.evaluate(UNFOLD)
        rows = set(visit.page.locator("#data-gallery tbody tr").all_inner_texts())
        head = visit.page.locator("#data-gallery thead th").nth(0)
        head.locator(".dt-column-order").click()
        await_order(head, "ascending")
        engines = visit.column("#data-gallery", 1)
        assert engines == sorted(engines)
        assert set(visit.page.locator("#data-gallery tbody tr").all_inner_texts()) == rows


def test_a_table_is_filtered_as_a_whole_and_by_a_column(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.evaluate(UNFOLD)
        box = visit.page.locator(".dt-container:has(#data-gallery)")
        box.get_by_role("searchbox").fill("pmdk")
        assert set(visit.column("#data-gallery", 1)) == {"pmdk"}
        assert "1 to 5 of 5 rows" in box.locator(".dt-info").inner_text()
        box.get_by_role("searchbox").fill("")
        visit.page.locator("#data-gallery thead th").nth(1).locator(".dtcc-button").click()
        visit.page.locator(".dtcc-dropdown input").first.fill("16")
        visit.page.wait_for_function("document.querySelectorAll('#data-gallery tbody tr').length == 3")
        assert set(visit.column("#data-gallery", 2)) == {"16"}


def test_the_pointer_shows_a_value_and_its_range_over_seeds(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.figure("gallery")
        # Plotly's layer for the pointer covers the bars. The first bar is of the value 4 with a range from 3 to 6.
        bar = visit.page.locator("#picture-gallery .barlayer .point").first.bounding_box()
        assert bar
        visit.page.mouse.move(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] * 0.7)
        visit.page.wait_for_selector("#picture-gallery .hoverlayer .hovertext")
        shown = visit.page.locator("#picture-gallery .hoverlayer .hovertext").first.text_content() or ""
        assert "snapshot" in shown
        assert "4 us" in shown
        assert "range over seeds: 3 to 6" in shown


def test_a_figure_has_error_bars_and_marks_of_published_values(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.figure("gallery")
        assert visit.page.locator("#picture-gallery .errorbar path.yerror").count() == 3
        assert visit.page.locator("#picture-gallery .errorbar path.xerror").count() == 2
        legend = visit.page.locator("#picture-gallery .legend .legendtext").all_text_contents()
        assert "published" in legend
        assert len(legend) == len(set(legend))
        assert "(scaled down)" in (visit.page.locator("#picture-gallery .gtitle").text_content() or "")


def test_markup_in_the_data_is_shown_as_text(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.figure("gallery")
        assert "<img src=x onerror=alert(1)>" in (visit.page.locator("#picture-gallery .gtitle").text_content() or "")
        assert visit.page.locator("#picture-gallery .live img").count() == 0
        pictures = visit.page.locator("#picture-gallery .live image").all()  # Plotly draws a map as pixels
        assert all((picture.get_attribute("href") or "").startswith("data:image/png") for picture in pictures)


def test_an_injected_script_is_refused(browser: Browser, html: Path) -> None:
    """The policy of the page stops a script even if a text were not escaped."""
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
        )
        assert visit.page.evaluate("window.ran") is None
        assert "Content Security Policy" in " ".join(visit.complaints)


def test_two_clicks_lead_from_a_figure_to_the_counters_of_a_run(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.locator("article .source a[href='#runs-list']").click()
        visit.page.locator("#run-table-list tbody tr a").first.click()
        run = visit.page.locator("#run")
        run.locator("#counter-table").wait_for(state="visible")
        counters = dict(zip(visit.column("#counter-table", 1), visit.column("#counter-table", 2), strict=True))
        assert counters["cache-hits"] == "246,912"
        assert "snapshot-paper-mss" in run.locator(".keys").inner_text()
        run.locator(".map .treemaplayer .slice").first.wait_for()
        assert "idle" in (run.locator(".map").text_content() or "")
        assert visit.complaints == []
        assert Axe().run(visit.page).response["violations"] == []


def test_a_run_has_an_address_and_leads_to_its_manifest(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        key = visit.page.evaluate("Object.keys(JSON.parse(document.getElementById('details').textContent).runs)[0]")
        visit.page.evaluate("key => { location.hash = key }", key)
        visit.page.locator("#run h2").wait_for(state="visible")
        assert visit.page.evaluate("document.activeElement.id") == "run-title"
        visit.page.locator("#run .links a", has_text="Manifest").click()
        manifest = visit.page.locator(f"#manifest-{key.split('-')[1]} pre")
        manifest.wait_for(state="visible")
        assert "[device]" in manifest.inner_text()
        assert not visit.page.locator("#run").is_visible()


def test_the_keyboard_opens_and_closes_a_run(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.evaluate(UNFOLD)
        link = visit.page.locator("#run-table-list tbody tr a").first
        for key in ("Escape", "Enter"):  # the same link works again, and the button closes the run, too
            link.focus()
            visit.page.keyboard.press("Enter")
            visit.page.locator("#run h2").wait_for(state="visible")
            if key != "Escape":
                visit.page.locator("#run").get_by_role("button", name="Close").focus()
            visit.page.keyboard.press(key)
            visit.page.locator("#run").wait_for(state="hidden")


def test_a_click_on_a_bar_of_the_times_opens_that_run(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        visit.page.evaluate(UNFOLD)
        visit.page.locator("#times-list").scroll_into_view_if_needed()
        visit.page.wait_for_selector("#times-list.drawn")
        bar = visit.page.locator("#times-list .barlayer .point").first.bounding_box()
        assert bar
        visit.page.mouse.move(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
        visit.page.wait_for_selector("#times-list .hoverlayer .hovertext")
        visit.page.mouse.click(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
        visit.page.locator("#run").wait_for(state="visible")
        assert "list: snapshot-paper-mss-pmdk" in visit.page.locator("#run-title").inner_text()


def test_without_scripts_everything_is_still_there(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP, java_script_enabled=False) as visit:
        assert visit.page.locator(".dt-container").count() == 0
        assert visit.page.locator("#picture-list img").is_visible()
        visit.page.locator("summary", has_text="Data of the figure").first.click()
        assert visit.page.locator("#data-list tbody tr").first.is_visible()
        assert visit.page.locator("#scorecard tbody tr").count() > 0


def test_a_link_to_what_is_folded_away_unfolds_it(browser: Browser, html: Path) -> None:
    with Visit(browser, html, DESKTOP) as visit:
        table = visit.page.locator("#run-table-list")
        assert not table.is_visible()
        visit.page.locator("article .source a[href='#runs-list']").click()
        table.wait_for(state="visible")


def test_everything_is_open_in_print(browser: Browser, html: Path) -> None:
    with Visit(browser, html, PAPER) as visit:
        visit.page.emulate_media(media="print")
        assert visit.page.evaluate("document.querySelector('#run-table-list').getBoundingClientRect().height") > 20
        assert visit.page.evaluate("document.querySelector('.skip').getBoundingClientRect().height") == 0
