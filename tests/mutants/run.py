# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests of a subject for each mutant, the likeliest to fail first."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mutants.build import Mutated
from mutants.sites import Site
from mutants.subjects import Subject

SITES_MAX = 65536
LIMIT_FACTOR, LIMIT_LEAST_S = 8, 10  # factor to a test's own time, on a host with other load
TIMED_OUT = "time limit"


@dataclass
class Test:
    name: str
    command: list[str]
    folder: str
    environment: dict[str, str]
    seconds: float = 0
    reached: frozenset[int] = frozenset()
    kills: int = 0
    tries: int = 0

    def worth(self) -> float:
        """Expected kills per second, as far as earlier mutants tell."""
        return (self.kills + 0.5) / (self.tries + 1) / (self.seconds + 0.02)


@dataclass
class Verdict:
    site: str
    caught_by: str  # "" for a mutant that every test passes
    tests: int
    seconds: float
    how: str = ""


def tests_of(subject: Subject, binary: Path) -> list[Test]:
    shown = subprocess.run(
        ["ctest", "--test-dir", str(binary), "--show-only=json-v1"], check=True, capture_output=True, text=True
    )
    tests = []
    for entry in json.loads(shown.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in entry.get("properties", ())}
        name = entry["name"]
        if not entry.get("command") or not re.search(subject.tests, name) or re.search(subject.without, name):
            continue
        if properties.get("WILL_FAIL") or "PASS_REGULAR_EXPRESSION" in properties:
            continue
        if not os.access(entry["command"][0], os.X_OK):
            continue
        name = name.split("  # GetParam()")[0]  # the rest has addresses, which vary
        environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", ()))
        folder = properties.get("WORKING_DIRECTORY", str(binary))
        tests.append(Test(name, entry["command"], folder, environment))
    if not tests:
        raise SystemExit(f"mutants: {binary} has no test that matches {subject.tests}")
    return tests


def passes(test: Test, limit_s: float, **environment: str) -> str:
    """Run a test; return "" if it passes, or how it failed. No process of the test is left running."""
    process = subprocess.Popen(
        test.command, cwd=test.folder, env={**os.environ, **test.environment, **environment},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        status = process.wait(limit_s)
        return "" if status == 0 else f"status {status}"
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def baseline(tests: list[Test], mutated: Mutated) -> None:
    """Run each test without a mutant: it must pass. Record its time and the sites that it reaches."""
    record = mutated.state / "reached"
    known = mutated.state / f"baseline-{mutated.digest[:16]}.json"
    found: dict[str, tuple[float, list[int]]] = json.loads(known.read_text()) if known.exists() else {}
    for number, test in enumerate(tests):
        if test.name not in found:
            record.write_bytes(bytes(SITES_MAX))
            begin = time.monotonic()
            failure = passes(test, 600, MUTANT_REACHED=str(record))
            if failure:
                raise SystemExit(f"mutants: {test.name} fails without a mutant ({failure}): mend it first")
            seconds = time.monotonic() - begin
            found[test.name] = seconds, [i for i, byte in enumerate(record.read_bytes()) if byte]
            known.write_text(json.dumps(found))
            print(f"test {number + 1} of {len(tests)}: {seconds:.1f} s, {test.name}", file=sys.stderr)
        test.seconds, test.reached = found[test.name][0], frozenset(found[test.name][1])


def fails(test: Test, site: Site) -> str:
    """Return "" if the mutant passes the test, or how it failed. A timeout counts only if the test alone is in time."""
    limit = max(LIMIT_LEAST_S, LIMIT_FACTOR * test.seconds)
    how = passes(test, limit, MUTANT=str(site.number))
    while how == TIMED_OUT and passes(test, limit) == TIMED_OUT:
        limit *= 2
        how = passes(test, limit, MUTANT=str(site.number))
    return how


def judge(site: Site, tests: list[Test], hint: str = "") -> Verdict:
    """Run tests until one fails. The test named `hint`, which caught the mutant in other sources, runs first."""
    begin, tried = time.monotonic(), 0
    able = [test for test in tests if site.number in test.reached]
    for test in sorted(able, key=lambda t: (t.name == hint, t.worth()), reverse=True):
        tried += 1
        test.tries += 1
        how = fails(test, site)
        if how:
            test.kills += 1
            return Verdict(site.key, test.name, tried, time.monotonic() - begin, how)
    return Verdict(site.key, "", tried, time.monotonic() - begin)


class Results:
    """Verdicts in a file, written one by one, for exactly these sources and tests."""

    def __init__(self, mutated: Mutated, longest_s: float) -> None:
        self.path = mutated.state / f"verdicts-{mutated.digest[:16]}-{longest_s:g}s.jsonl"
        self.found: dict[str, Verdict] = {}
        if self.path.exists():
            self.found = {verdict.site: verdict for verdict in self.read(self.path)}
        earlier = sorted(mutated.state.glob("verdicts-*.jsonl"), key=lambda path: path.stat().st_mtime)
        self.hints = {v.site: v.caught_by for path in earlier for v in self.read(path) if v.caught_by}

    @staticmethod
    def read(path: Path) -> list[Verdict]:
        return [Verdict(**json.loads(line)) for line in path.read_text().splitlines()]

    def add(self, verdict: Verdict) -> None:
        self.found[verdict.site] = verdict
        with self.path.open("a") as file:
            file.write(json.dumps(vars(verdict)) + "\n")


def judge_all(sites: list[Site], tests: list[Test], results: Results) -> Iterator[tuple[Site, Verdict]]:
    for site in sites:
        if site.key not in results.found:
            results.add(judge(site, tests, results.hints.get(site.key, "")))
        yield site, results.found[site.key]
