# SPDX-License-Identifier: BSD-3-Clause
"""Command line of the mutation test."""

import argparse
import random
import signal
import sys
import time
import tomllib
from pathlib import Path

from mutants.build import build, find
from mutants.run import Results, Verdict, baseline, judge_all, tests_of
from mutants.sites import Site
from mutants.subjects import SUBJECTS, Subject

HELP = """\
Drop or swap each persistence call and each lock of a subject in turn, and run the subject's native tests on every such
mutant. A mutant that all tests pass is missed, unless tests/mutants/equivalent/SUBJECT.toml says why it changes
nothing.

  drop      a store, flush, fence, wait or atomic operation is left out
  no-lock   a lock and its unlocks in one function are left out
  swap      two adjacent statements that store, flush or fence trade places

examples:
  tests/mutants.sh fams-core                       all mutants; an interrupted run continues where it stopped
  tests/mutants.sh tbfs-core --sample 20 --seed 7  twenty of them, chosen by the seed
  tests/mutants.sh epochs --list                   the site table
  tests/mutants.sh epochs --only 'members.c: drop' the sites whose key contains a text

exit status: 0 every mutant is caught or listed, 1 not so, 2 bad input, 130 interrupted
"""


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "tests/mutants.sh", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("subject", choices=sorted(SUBJECTS))
    parser.add_argument("--sample", type=int, metavar="N", help="judge N sites, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0, help="of --sample (default 0)")
    parser.add_argument(
        "--only", metavar="SITE", action="append", help="judge the sites whose key contains SITE; repeatable"
    )
    parser.add_argument(
        "--longest",
        type=float,
        default=float("inf"),
        metavar="S",
        help="leave out tests that take longer than S seconds",
    )
    parser.add_argument("--again", action="store_true", help="forget the verdicts of earlier runs")
    parser.add_argument("--list", action="store_true", help="print the site table and stop")
    return parser.parse_args(words)


def equivalents(subject: Subject) -> dict[str, str]:
    """Listed sites with the reason why no test can catch them."""
    path = Path(__file__).parent / "equivalent" / f"{subject.name}.toml"
    if not path.exists():
        return {}
    listed = tomllib.loads(path.read_text()).get("equivalent", [])
    for entry in listed:
        if set(entry) != {"site", "reason"} or not str(entry["reason"]).strip():
            sys.exit(f"mutants: {path}: {entry}: an entry needs a site and a reason")
    return {entry["site"]: entry["reason"] for entry in listed}


def chosen(sites: list[Site], options: argparse.Namespace) -> list[Site]:
    if options.only:
        for text in options.only:
            if not any(text in site.key for site in sites):
                print(f"mutants: --only {text!r}: no site has this text; see --list", file=sys.stderr)
                sys.exit(2)
        sites = [site for site in sites if any(text in site.key for text in options.only)]
    if options.sample is not None:
        sites = random.Random(options.seed).sample(sites, min(options.sample, len(sites)))
    return sites


def progress(done: int, count: int, begin: float, missed: int) -> None:
    elapsed = time.monotonic() - begin
    left = elapsed / done * (count - done)
    end = "\r" if sys.stderr.isatty() else "\n"
    if sys.stderr.isatty() or done % 25 == 0:
        text = f"{done} of {count} mutants, {missed} not caught, {done / elapsed:.1f} a second, {left:.0f} s left  "
        print(text, end=end, file=sys.stderr, flush=True)


def report(name: str, verdicts: list[tuple[Site, Verdict]], listed: dict[str, str], begin: float) -> int:
    missed = [(s, v) for s, v in verdicts if not v.caught_by and s.key not in listed]
    lively = [(s, v) for s, v in verdicts if v.caught_by and s.key in listed]
    for site, verdict in missed:
        print(f"missed: {site.file}:{site.line}: {site.key} ({verdict.tests} tests reach it)")
    for site, verdict in lively:
        print(f"listed as equivalent, but caught by {verdict.caught_by}: {site.key}")
    caught = sum(bool(v.caught_by) for _, v in verdicts)
    print(f"{'subject':14}{'kind':9}{'sites':>7}{'caught':>8}{'equivalent':>12}{'missed':>8}")
    for kind in ("drop", "no-lock", "swap"):
        some = [(s, v) for s, v in verdicts if s.kind == kind]
        hits = sum(bool(v.caught_by) for _, v in some)
        misses = sum(s.kind == kind for s, _ in missed)
        print(f"{name:14}{kind:9}{len(some):7}{hits:8}{len(some) - hits - misses:12}{misses:8}")
    print(f"{name:14}{'all':9}{len(verdicts):7}{caught:8}{len(verdicts) - caught - len(missed):12}{len(missed):8}")
    print(f"host time: {sum(v.seconds for _, v in verdicts):.0f} s of tests, {time.monotonic() - begin:.0f} s this run")
    return 1 if missed or lively else 0


def main() -> int:
    options = arguments()
    begin = time.monotonic()
    subject = SUBJECTS[options.subject]
    mutated = find(subject)
    if options.list:
        print("\n".join(f"{site.file}:{site.line}: {site.key}" for site in mutated.sites))
        return 0
    sites = chosen(mutated.sites, options)
    listed = equivalents(subject)
    gone = sorted(set(listed) - {site.key for site in mutated.sites})
    for key in gone:
        print(f"listed as equivalent, but no such site: {key}")
    build(mutated)
    results = Results(mutated, options.longest)
    if options.again:
        results.path.unlink(missing_ok=True)
        results.found.clear()
    tests = tests_of(subject, mutated.binary)
    print(f"{len(sites)} of {len(mutated.sites)} sites, {len(tests)} tests; each runs once as it is", file=sys.stderr)
    if any(site.key not in results.found for site in sites):
        baseline(tests, mutated)
        tests = [test for test in tests if test.seconds <= options.longest]
    verdicts: list[tuple[Site, Verdict]] = []
    missed, started = 0, time.monotonic()
    for site, verdict in judge_all(sites, tests, results):
        verdicts.append((site, verdict))
        missed += not verdict.caught_by
        progress(len(verdicts), len(sites), started, missed)
    return max(report(subject.name, verdicts, listed, begin), bool(gone))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script ignores it for background jobs
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nmutants: interrupted; the same command continues", file=sys.stderr)
        sys.exit(130)
