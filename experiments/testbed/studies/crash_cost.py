# SPDX-License-Identifier: BSD-3-Clause
"""Host time to judge a state of a crash test: by part, beside a separate boot, and for all states together.

A copy of a guest mounts, recovers, checks and ends. Copies that end sooner take turns with whole ones on the same
states, so that each meets the same host; the time of a part is the difference. The timed states are a random sample of
the states that the lazy choice judges. All states are judged both lazily and one by one, so that the two can be
compared.
"""

import itertools
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from .. import console, scratch
from ..crash import plan as plans
from ..crash.campaign import Campaign, Recorded, remove, write_state
from ..crash.judging import Finding
from ..errors import RunFailed
from ..guest import boots
from ..guest.executor import GuestOutcome
from ..guest.session import open_session
from ..manifest import bases
from ..replay import verdicts
from ..run.runner import drive

STATES = 24
BOOTS = 4  # so many of these states also boot a separate guest each
COPY, MOUNT, RECOVER, CHECK = "copy", "mount", "recover", "check and dump"


@dataclass(frozen=True)
class Judged:
    """All states of a run, judged in one way; `images` counts the combinations of contents that are decided."""

    way: str
    copies: int
    images: int
    violations: int
    seconds: float


@dataclass(frozen=True)
class Cost:
    """Host seconds of copies, by the last part that they did; of separate guests; and of all states."""

    copies_s: dict[str, list[float]]
    boots_s: list[float]
    judged: list[Judged]

    def parts_s(self) -> dict[str, float]:
        """Return the median time that each part adds to the previous one, for the same state at about the same time."""
        names = list(self.copies_s)
        parts = {names[0]: median(self.copies_s[names[0]])}
        for before, name in itertools.pairwise(names):
            pairs = zip(self.copies_s[before], self.copies_s[name], strict=True)
            parts[name] = median(later - sooner for sooner, later in pairs)
        return parts

    def as_data(self) -> dict[str, Any]:
        whole_s = median(self.copies_s[CHECK])
        return {
            "parts_s": {name: round(seconds, 4) for name, seconds in self.parts_s().items()},
            "copy_s": round(whole_s, 4),
            "boot_s": round(median(self.boots_s), 4),
            "boot_ratio": round(median(self.boots_s) / whole_s, 2),
            "judged": [vars(judged) for judged in self.judged],
        }


def timed(outcome: GuestOutcome) -> float:
    if not outcome.console:
        raise RunFailed(f"a guest did not start: {outcome.error or outcome.stderr.decode(errors='replace')}")
    return outcome.host_seconds


async def judge_all(campaign: Campaign, recorded: Recorded, every: bool) -> tuple[Judged, list[Finding]]:
    judging = replace(campaign, every=every, keep=None).judging(recorded)
    copies_s = recorded.guests.times.copies_s
    copies_s.clear()
    begun_s = time.monotonic()
    findings = await judging.findings(lambda *_: None)
    seconds = round(time.monotonic() - begun_s, 2)
    way, bad = "one by one" if every else "lazily", sum(found.violates() for found in findings)
    return Judged(way, len(copies_s), judging.counts.tried, bad, seconds), findings


async def time_copies(campaign: Campaign, recorded: Recorded, states: Sequence[Finding]) -> dict[str, list[float]]:
    """Time copies of each state that end at once, after the mount, after recovery and after the check, in turn."""
    crash = campaign.plan.crash
    recovers = campaign.plan.model_copy(
        update={"crash": crash.model_copy(update={"check": "true", "oracle": "command"})}
    )
    async with boots.shared(campaign.session.qemu, 2) as executor:  # copies that only recover need another booted guest
        whole = replace(recorded.guests, executor=executor)
        steps = {COPY: (whole, "power_off"), MOUNT: (whole, "set_up_pmem; power_off")}
        if crash.recover.strip():
            steps[RECOVER] = (replace(whole, plan=recovers), "judge {mark}")
        steps[CHECK] = (whole, "judge {mark}")
        copies_s: dict[str, list[float]] = {name: [] for name in steps}
        for number, found in enumerate([states[0], *states]):
            for name, (guests, does) in steps.items():
                does = does.format(mark=found.state.point.mark or 0)
                seconds = timed(await guests.copy(recorded.begin, found.state.lines, does))
                if number:  # the first round boots the guests
                    copies_s[name].append(seconds)
        return copies_s


async def time_boots(campaign: Campaign, recorded: Recorded, states: Sequence[Finding]) -> list[float]:
    """Time recovery and check in guests that boot for one state and mount nothing but its media."""
    boots_s = []
    for found in states:
        home = recorded.guests.folder / "alone"
        write_state(recorded.run, found.state, recorded.begin, home)
        lines = f"export CRASH_MARK={found.state.point.mark or 0}\n{campaign.plan.judging()}"
        boots_s.append(timed(await recorded.guests.run(lines, home)))
        remove(home)
    return boots_s


async def cost(campaign: Campaign) -> Cost:
    async with campaign.guests() as guests:
        recorded = await campaign.record(guests)
        lazily, findings = await judge_all(campaign, recorded, every=False)
        one_by_one, _ = await judge_all(campaign, recorded, every=True)
        states = random.Random(campaign.plan.crash.bounds.seed).sample(findings, min(STATES, len(findings)))
        copies_s = await time_copies(campaign, recorded, states)
        boots_s = await time_boots(campaign, recorded, states[:BOOTS])
        return Cost(copies_s, boots_s, [lazily, one_by_one])


def run_crash_cost(origin: Path) -> dict[str, Any]:
    """Measure the test of this manifest, print the tables, return their data."""
    plan = plans.load(origin)
    guest = plan.guest(verdicts.machine_of(bases.find(plan.machine), plan.of_machine()), origin)
    with scratch.folder("programs") as folder:
        campaign = Campaign(plan, origin, guest, plans.programs(plan, origin, folder), open_session())
        found = drive(cost(campaign))
    data = found.as_data()
    whole_s = data["copy_s"]
    rows = [(name, f"{s:.3f}", f"{100 * s / whole_s:.0f} %") for name, s in data["parts_s"].items()]
    rows += [
        ("a state", f"{whole_s:.3f}", f"{1 / whole_s:.1f} a second"),
        ("a boot for it", f"{data['boot_s']:.2f}", f"{data['boot_ratio']:.1f} times"),
    ]
    console.show(
        f"one copy at a time, median of {len(found.copies_s[CHECK])} states", ("part", "host s", "of a state"), rows
    )
    console.show(
        "all states",
        ("judged", "copies", "images", "violations", "host s", "images an hour"),
        [
            (j.way, j.copies, j.images, j.violations, f"{j.seconds:.1f}", f"{3600 * j.images / j.seconds:,.0f}")
            for j in found.judged
        ],
    )
    return data
