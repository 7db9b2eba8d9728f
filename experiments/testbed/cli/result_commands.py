# SPDX-License-Identifier: BSD-3-Clause
"""Commands for results and for the hosts of guests: results, status, diff, explain, scheduler, worker and others."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from .. import console, plugins
from ..build import components, images
from ..errors import RunFailed, TestbedError
from ..guest import capacity
from ..manifest import bases, parse, scales
from ..manifest.render import Run, Runs
from ..paths import FIGURES_INDEX, results_root
from ..replay import verdicts
from ..results import compare, lookup, status
from ..results import explain as explain_module
from ..results.results import load_all
from ..run import trust
from ..run import worker as worker_module
from ..run.runner import drive
from . import tables
from .options import Json, Scale, Scheduler, Tls, TrustNetwork

Which = Annotated[str, typer.Argument(help="a result: its path, the begin of its hash, or MANIFEST/POINT")]
Side = Annotated[
    str,
    typer.Argument(
        help="results: a path or folder, a hash's begin, MANIFEST or MANIFEST/POINT; or a folder of figures"
    ),
]


def results(
    manifest: Annotated[str | None, typer.Argument(help="only this manifest's results")] = None,
    output: Annotated[
        bool, typer.Option("--output", help="instead: the output of the programs; of MANIFEST/POINT or a hash, too")
    ] = False,
    json: Json = None,
) -> None:
    """List the existing results. A damaged result is an error that names the file.

    Examples:

      testbed results

      testbed results kv-ycsb --json results.json

      testbed results redis/always-16MiB --output
    """
    if output:
        found = lookup.find(results_root(), manifest) if manifest else load_all(results_root())
        tables.show_output(found)
    else:
        found = load_all(results_root() / manifest if manifest else results_root())
        tables.show_results(found)
    tables.save_json(json, [result.data for result in found])


def status_(
    manifest: Annotated[str | None, typer.Argument(help="one manifest, run by run; all that ship if not given")] = None,
    scale: Scale = None,
    scheduler: Scheduler = None,
    tls: Tls = None,  # noqa: ARG001 - its callback takes note of it
    trust_network: TrustNetwork = False,  # noqa: ARG001
    json: Json = None,
) -> None:
    """Show which results of a manifest exist for the present builds, are missing or failed, and where output is kept.

    Nothing is built or booted. With --scheduler the command also lists the workers of the cluster, and the components
    that each of them lacks.

    Examples:

      testbed status

      testbed status kv-ycsb --scale quick

      testbed status --scheduler tls://HOST:8786
    """
    keys = components.keys()
    paths = [bases.find(manifest)] if manifest else bases.shipped()
    found, data = {}, dict[str, object]()
    for path in paths:
        runs = Runs(parse.load(path, scales.divisor(scale, path.stem)))
        found[path.stem], data[path.stem] = tallied(status.states(runs, keys, results_root()), json)
    if manifest:
        show_states(found[paths[0].stem], f"runs of {manifest}")
    else:
        show_counts(found, "manifests")
    if scheduler:
        from ..run import fleet

        workers = drive(fleet.workers(scheduler, keys))
        heads = ("worker", "guests", "running", "memory", "state")
        console.show(f"workers of {scheduler}", heads, [worker.cells() for worker in workers])
        data["workers"] = [worker.as_data() for worker in workers]
    tables.save_json(json, data)


def show_runs(runs: Collection[Run], title: str, json: Json, elsewhere: bool) -> None:
    """Implements `--dry-run`: shows hits and misses, and the time that the misses will take."""
    found, data = tallied(judged(runs, elsewhere), json)
    show_states(found, title)
    tables.save_json(json, data)
    check_states(found)


def show_many_runs(runs: Sequence[Run], title: str, json: Json, elsewhere: bool) -> None:
    """As show_runs(), for many manifests, with the counts of each."""
    states = list(judged(runs, elsewhere))
    by_manifest: dict[str, status.Tally] = {}
    for state in states:
        by_manifest.setdefault(state.run.manifest, status.Tally()).add(state)
    show_counts(by_manifest, title)
    found, data = tallied(states, json)
    show_summary(found)
    tables.save_json(json, data)
    check_states(found)


def judged(runs: Collection[Run], elsewhere: bool) -> Iterator[status.State]:
    """The states of the runs; a run without a result that the model refuses carries the reason."""
    return status.states(runs, components.keys(), results_root(), verdicts.of_runs(runs, elsewhere=elsewhere))


def tallied(states: Iterable[status.State], json: Json) -> tuple[status.Tally, list[dict[str, object]]]:
    """The tally of the states and, if `json` names a file, the data of every state."""
    tally, data = status.Tally(), list[dict[str, object]]()
    for state in states:
        tally.add(state)
        if json:
            data.append(state.as_data())
    return tally, data


def check_states(found: status.Tally) -> None:
    """Raise TestbedError (exit status 2) if a dry run has found runs that cannot be made."""
    if found.refusals:
        refused = "; ".join(f"{state.run.label}: {state.word}" for state in found.refused)
        raise TestbedError(f"{found.refusals} of {found.all} runs cannot be made: {refused}")


def show_counts(found: Mapping[str, status.Tally], title: str) -> None:
    columns = ("manifest", "there", "missing", "failed")
    console.show(title, columns, [(name, *tally.counts()) for name, tally in found.items()])


def show_states(found: status.Tally, title: str) -> None:
    """Show a table of the first runs, the number of the others, and a summary."""
    console.show(title, ("run", "state", "takes", "where"), [state.cells() for state in found.first])
    if found.all > len(found.first):
        console.out.print(f"and {found.all - len(found.first)} more: --json PATH has all", soft_wrap=True)
    show_summary(found)


def show_summary(found: status.Tally) -> None:
    console.out.print(found.summary(capacity.of_this_host().guests), soft_wrap=True)


def diff(a: Side, b: Side, json: Json = None) -> None:
    """Show the differences between two results, or between the results of two folders: inputs first, then outputs.

    The status is 1 if anything differs. Between folders, equal inputs with different results are marked NOT REPRODUCED.
    For points with several seeds, the command lists the numbers that left their range over the seeds. For two folders
    of figures, it compares the numbers and shows how far the numbers of each figure moved, for example by the scale.

    Examples:

      testbed diff kv-ycsb/A-snapshot-1 kv-ycsb/A-pmdk-1

      testbed diff 3f2a 77c0

      testbed diff results ../other-clone/results

      testbed diff build/figures ../other-clone/build/figures
    """
    if all((Path(side) / FIGURES_INDEX).is_file() for side in (a, b)):
        differ = plugins.view("moved-numbers")(Path(a), Path(b), json)
    else:
        differ = show_different_results(a, b, json)
    if differ:
        raise RunFailed(f"{differ} differ")
    console.out.print("no difference")


def show_different_results(a: str, b: str, json: Path | None) -> str:
    """Show the differences; return their number and kind in words, or an empty string."""
    one, two = lookup.find(results_root(), a), lookup.find(results_root(), b)
    if len(one) == len(two) == 1:
        found = compare.differences(one[0], two[0])
        if found:
            console.show(f"A {one[0].path}\nB {two[0].path}", ("what", "A", "B", "B/A"), [d.cells() for d in found])
        tables.save_json(json, [difference.as_data() for difference in found])
        return f"{len(found)} values" if found else ""
    judged = compare.over_seeds(one, two)
    pairs = compare.unjudged(compare.pairs(one, two), judged)
    left = [number for number in judged if number.left]
    if pairs:
        console.show(f"A {a}, B {b}", ("result", "state", "time B/A"), [pair.cells() for pair in pairs])
    if left:
        heads = ("point", "number", "A", "B", "B/A")
        console.show(
            "numbers that left their range over seeds", heads, [number.cells() for number in left], left=(0, 1)
        )
    if judged:
        console.out.print(f"{len(left)} of {len(judged)} numbers left their range over seeds", soft_wrap=True)
    states = [{"result": pair.name, "state": pair.state} for pair in pairs]
    tables.save_json(json, [*states, *(number.as_data() for number in judged)])
    differ = sum(pair.state != "same" for pair in pairs)
    said = (f"{differ} results" if differ else "", f"{len(left)} numbers" if left else "")
    return " and ".join(filter(None, said))


def explain(key: Which, json: Json = None) -> None:
    """Show everything that entered the hash of a result: builds, command, every value of both profiles.

    Examples:

      testbed explain kv-ycsb/A-snapshot-1

      testbed explain 3f2a
    """
    result = lookup.find_one(results_root(), key)
    console.out.print(result.path, soft_wrap=True)
    console.out.print(explain_module.tree(result))
    console.out.print(f"image {images.name_of(result.data['identity']['machine']['components'])}", highlight=False)
    tables.save_json(json, result.data["identity"])


def scheduler_(
    more: Annotated[list[str] | None, typer.Argument(metavar="-- [OPTION]...", help="as dask scheduler --help")] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="this host's, to listen at")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free")] = 8786,
    tls: Tls = None,  # noqa: ARG001 - its callback takes note of it
    trust_network: TrustNetwork = False,  # noqa: ARG001
) -> None:
    """Run a scheduler that hands the runs of `testbed run --scheduler ADDRESS` to workers, until it is ended.

    A client that reaches a port of Dask can run programs as its user. So the port is on loopback or needs certificates.

    Examples:

      testbed scheduler                                     for workers of this host

      testbed scheduler --host 10.0.0.1 --tls FOLDER        for others
    """
    worker_module.become(worker_module.scheduler_command(host, port, more or []))


def worker(
    scheduler: Annotated[str, typer.Argument(metavar="ADDRESS", help="the scheduler's, as tls://HOST:8786")],
    more: Annotated[list[str] | None, typer.Argument(metavar="-- [OPTION]...", help="as dask worker --help")] = None,
    guests: Annotated[int | None, typer.Option(min=1, help="at a time; one a core if not given")] = None,
    memory: Annotated[str | None, typer.Option(help="for all guests, as 16GiB; default: the free memory")] = None,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="this host's, to listen at; else the one that the scheduler sees"),
    ] = None,
    tls: Tls = None,  # noqa: ARG001 - its callback takes note of it
    trust_network: TrustNetwork = False,  # noqa: ARG001
) -> None:
    """Run guests on this host for `testbed run --scheduler ADDRESS`, until the command is ended.

    The host needs this clone and its cache: run `testbed build` on it, or copy the cache of a host that has built it.
    Connections beyond loopback need certificates.

    Examples:

      testbed worker tcp://127.0.0.1:8786                   beside the scheduler

      testbed worker tls://HOST:8786 --tls FOLDER           on each host

      testbed run kv-ycsb --scheduler tls://HOST:8786 --tls FOLDER
    """
    command = worker_module.command(scheduler, guests, memory, more or [], host)
    worker_module.become(worker_module.with_folder(command))


def certificates(
    folder: Annotated[Path, typer.Argument(help="where they are made, or renewed if they end within a month")],
    name: Annotated[str, typer.Option(help="in the certificate, for people to read")] = "testbed",
    json: Json = None,
) -> None:
    """Make a private authority and a certificate signed by it, for schedulers, workers and clients with the folder.

    Copy the folder to each host; its keys permit running programs on all of them. A certificate is valid for 397 days.
    In its last month this command makes another one of the same authority: then copy the folder again.

    Examples:

      testbed certificates cluster-tls

      scp -rp cluster-tls HOST:
    """
    done = trust.make(folder, name)
    console.out.print(f"{folder}: {done}", soft_wrap=True)
    tables.save_json(json, {"folder": str(folder), "done": done})


def overhead(
    runs: Annotated[int, typer.Option(min=2, help="how many runs each way makes")] = 200, json: Json = None
) -> None:
    """Measure the cost of distribution per run, with an empty guest: direct calls, the default and worker processes."""
    from ..studies import overhead as overhead_module

    found = overhead_module.measure(runs)
    overhead_module.show(found)
    tables.save_json(json, [vars(way) for way in found])


def register(app: typer.Typer) -> None:
    """Add these commands to the `testbed` command."""
    for command in (results, diff, explain, overhead, certificates):
        app.command()(command)
    app.command("status")(status_)
    for name, service in (("scheduler", scheduler_), ("worker", worker)):
        app.command(name, context_settings={"ignore_unknown_options": True})(service)
