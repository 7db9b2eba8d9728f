# SPDX-License-Identifier: BSD-3-Clause
"""The report of a crash test as one self-contained HTML page. Its bytes depend only on the report, the plan and the
plan's path."""

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from testbed.crash.plan import Plan
from testbed.crash.report import Report
from testbed.crash.states import Counts
from testbed.units import show_count

RULES = {
    "command": "the check does not fail",
    "atomic": "the state is that before or that after the operation under way",
    "prefix": "the state is that after some of the operations, of which none came before one that is lost",
}


def page(plan: Plan, origin: Path, report: Report) -> str:
    environment = Environment(
        loader=PackageLoader("analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("crash.html").render(
        plan=plan,
        origin=origin,
        report=report,
        least=report.least(),
        rules=RULES,
        left_out=left_out(report.counts),
    )


def left_out(counts: Counts) -> list[str]:
    """List the states that the test did not try, and the reasons."""
    lines = ["What the workload does before its first mark and after its last."]
    if counts.points_in_part:
        tried = f"{show_count(counts.tried)} of {show_count(counts.combinations)}"
        lines.append(
            f"At {counts.points_in_part} of {counts.points} ordering points there are more combinations of versions "
            f"than the bounds allow; {tried} combinations were tried in all."
        )
    same = counts.tried - counts.states
    if same:
        lines.append(
            f"{show_count(same)} combinations, because recovery cannot tell them from one that was judged after the "
            "same mark, or because they make the same image."
        )
    return lines
