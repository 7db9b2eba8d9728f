# SPDX-License-Identifier: BSD-3-Clause
"""`testbed verify`."""

from typing import Annotated

import typer

from testbed import console
from testbed.cli import tables
from testbed.cli.options import Json, Scheduler, Tls, TrustNetwork, checked_seeds
from testbed.errors import RunFailed, TestbedError
from testbed.guest.session import open_session
from testbed.manifest import scales


def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="figures, or runs as 'kv-ycsb/A-*'; all if none")
    ] = None,
    scale: Annotated[str, typer.Option("--scale", metavar="quick|standard|full")] = "quick",
    update: Annotated[bool, typer.Option("--update", help="write the file from the results instead")] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", metavar="N", callback=checked_seeds, help="with --update: the ranges over N seeds, too"
        ),
    ] = None,
    scheduler: Scheduler = None,
    tls: Tls = None,  # noqa: ARG001
    trust_network: TrustNetwork = False,  # noqa: ARG001
    json: Json = None,
) -> None:
    """Make the runs of the figures again and compare their measurements with experiments/SCALE.sha256, bit for bit.

    Lists runs that differ, and then fails (status 1). Existing results are neither used nor changed. After a change
    that should alter measurements, --update writes the file. Measurements may also change with the builds of QEMU and
    the guest. The command then lists the packages and sources that changed since experiments/SCALE.builds was written,
    and a run that differs holds if each of its numbers is within its range over seeds (experiments/SCALE.spread.csv,
    by --update --seeds N).

    Examples:

      testbed verify 'list/*-snapshot'

      testbed verify --update

      testbed verify --update --seeds 5 'kv-ycsb/*'
    """
    from ..catalogue import spreads
    from ..catalogue import verify as digests

    if scale not in scales.NAMES:
        raise TestbedError(f"--scale '{scale}' is none of {', '.join(scales.NAMES)}")
    if seeds and not update:
        raise TestbedError(f"--seeds {seeds}: it is for --update, which writes the ranges over so many seeds; add that")
    path, runs = digests.file_of(scale), digests.pick(names or [], scale)
    if update:
        made = digests.update(open_session(scheduler=scheduler), runs, path, seeds)
        console.out.print(f"written: {path}, {made} runs", soft_wrap=True)
        return
    committed, changed = digests.load(path), digests.other_builds(path)
    ranges = spreads.load(spreads.path_of(path)) if changed else None
    verdicts = digests.compare(open_session(scheduler=scheduler), runs, committed, ranges)
    same = sum(v.word == digests.SAME for v in verdicts)
    within = sum(v.word == digests.WITHIN for v in verdicts)
    console.out.print(f"{same} of {len(verdicts)} runs as in {path.name}", soft_wrap=True)
    if within:
        console.out.print(f"{within} more with every number within its range over seeds", soft_wrap=True)
    off = [(v.name, v.word) for v in verdicts if not v.holds]
    if off:
        console.show("others", ("run", ""), off)
    left = [number.cells() for v in verdicts for number in v.left or () if not v.holds]
    if left:
        console.show("numbers that left their range over seeds", ("run and number", "over seeds", "now", "ratio"), left)
    tables.save_json(json, [verdict.as_data() for verdict in verdicts])
    if off:
        if changed:
            console.show("builds", ("then -> now",), [(line,) for line in changed])
        why = " QEMU or the guest was built from other packages or sources: see the table." if changed else ""
        raise RunFailed(
            f"{len(off)} of {len(verdicts)} runs are not as in {path}; if that is meant: testbed verify --update.{why}"
        )
