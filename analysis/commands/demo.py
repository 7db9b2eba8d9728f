# SPDX-License-Identifier: BSD-3-Clause
"""`testbed demo`: the demonstration, in the order of the README."""

from typing import Any

from testbed.cli import presentation, tables
from testbed.cli.options import Json
from testbed.errors import RunFailed
from testbed.guest.session import Session, open_session

from .figures import draw_figures


def demo(json: Json = None) -> None:
    """Make the last step of `make testbed`: the latency table, the KV table and the figure."""
    tables.save_json(json, run_demo(open_session()))


def run_demo(session: Session) -> dict[str, Any]:
    """Measure the latencies and draw the figure; RunFailed if a latency is more than 1 % off its closed form."""
    rows = presentation.measure_latency(session)
    index = draw_figures(session, ["kv-ycsb"], None)
    off = [row.metric for row in rows if not row.ok]
    if off:
        raise RunFailed(f"off by more than 1 % from the model's closed form: {', '.join(off)}")
    return {"latency": [row.as_data() for row in rows], **index.as_data()}
