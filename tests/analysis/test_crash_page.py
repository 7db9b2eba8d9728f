# SPDX-License-Identifier: BSD-3-Clause
"""The report of a crash test as a page: the page has everything in the report, and equal reports give equal bytes."""

from pathlib import Path

from analysis.report import crash_page
from testbed.crash.plan import Plan
from testbed.crash.report import Operation, Report, Violation
from testbed.crash.states import Counts

ORIGIN = Path("my/ring.toml")


def report() -> Report:
    lost = Violation(
        "0-ab12", 0, ((0, 0x240),), ("put (ring.c:7)",), "differs", "+<b>", cut="sfence", text="-a\n+<b>\n"
    )
    early = Violation("1-cd34", 1, (), (), "panic", "Kernel panic", cut="put (ring.c:9)", text="it panicked")
    rows = [Operation(0, "put", 3, 5, 4, 1), Operation(1, "after mark 1", 2, 3, 2, 1)]
    return Report(Counts(points=5, points_in_part=1, combinations=1000, tried=12, states=8), [lost, early], rows)


def page(**section: str) -> str:
    plan = Plan.model_validate({"name": "ring", "summary": "A ring", "crash": {"workload": "w", **section}})
    return crash_page.page(plan, ORIGIN, report())


def test_the_page_says_what_was_found_and_what_was_left_out() -> None:
    text = page(oracle="atomic")
    for said in (
        "<strong>2 violations</strong>",
        "that before or that after the operation under way",
        "put (ring.c:7)",
        "-a\n+&lt;b&gt;",
        "even if all stores survive",
        "testbed crash my/ring.toml --state 0-ab12",
        "At 1 of 5 ordering points",
        "12 of 1000 combinations",
        "4 combinations, because recovery cannot tell them",
    ):
        assert said in text, said


def test_the_page_fetches_nothing_and_is_the_same_each_time() -> None:
    text = page()
    assert "http" not in text and "src=" not in text
    assert text == page()
