# SPDX-License-Identifier: BSD-3-Clause
"""`testbed calibrate`."""

from collections.abc import Sequence
from typing import Annotated

import typer

from testbed import console
from testbed.cli import tables
from testbed.cli.options import Json, Scheduler, Tls, TrustNetwork
from testbed.errors import RunFailed
from testbed.guest.session import Session, open_session
from testbed.paths import FIGURES, results_root
from testbed.run.runner import run_with_bar
from testbed.studies import calibrate as studies


def calibrate(
    devices: Annotated[
        list[str] | None, typer.Argument(metavar="[DEVICE]...", help="device profiles; all that have a calibration")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="fewer samples: a look in a quarter of the time")] = False,
    scheduler: Scheduler = None,
    tls: Tls = None,  # noqa: ARG001
    trust_network: TrustNetwork = False,  # noqa: ARG001
    json: Json = None,
) -> None:
    """Measure the device profiles in guests and compare them with published figures.

    Prints model against reference with the error, its bound and the inputs of the number, and draws one figure per
    profile. Fails (status 1) if a number that is stated to agree is beyond its bound. Existing results are reused.

    Examples:

      testbed calibrate cxl-dram

      testbed calibrate --quick --json calibration.json
    """
    verdicts = show_calibration(open_session(scheduler=scheduler), devices or [], quick)
    tables.save_json(json, [verdict.as_data() for verdict in verdicts])
    broken = [verdict.judged.what for verdict in verdicts if verdict.broken]
    if broken:
        raise RunFailed(f"beyond the bound: {'; '.join(broken)}")


def show_calibration(session: Session, devices: Sequence[str], quick: bool) -> list[studies.Verdict]:
    """Measure, judge, print and draw the studies of these device profiles."""
    from ..calibration import by_cores, figure

    calibration = studies.load()
    stated = studies.runs(calibration, devices, quick)
    results = run_with_bar([run for _, run in stated], session, results_root())
    measured = [studies.Measured(*study, result) for study, result in zip(stated, results, strict=True)]
    verdicts = studies.verdicts(calibration, measured)
    console.show("model against published figures", studies.COLUMNS, [studies.cells(v) for v in verdicts])
    for verdict in verdicts:
        if verdict.word == "disagrees":
            console.out.print(f"{verdict.judged.what}: {verdict.judged.why}", soft_wrap=True)
    if pairs := by_cores.pairs(verdicts):
        console.show("one CPU and real cores", by_cores.COLUMNS, [by_cores.cells(pair) for pair in pairs])
        console.out.print("\n".join(by_cores.counts(pairs)), soft_wrap=True)
    if loaded := studies.loaded_cells(measured):
        console.show("a load of one core while others stream", studies.LOADED_COLUMNS, loaded)
    console.out.print(studies.scale_text(measured), soft_wrap=True)
    written = figure.write(measured, verdicts, FIGURES / "calibration")
    if not devices and not quick:  # a partial or quick result must not replace the tables
        written += figure.write_tables(figure.tables(measured, verdicts), FIGURES / "calibration")
    for path in written:
        console.out.print(f"written: {path}", soft_wrap=True)
    return verdicts
