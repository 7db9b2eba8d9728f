# SPDX-License-Identifier: BSD-3-Clause
"""Published claims without a number to divide by: orders, bounds, "stays as it is". Does each hold here?

The rule that judges a claim stands beside the claim. A claim that does not hold also states the tested cause, if any.
"""

from collections.abc import Sequence

from ..data.chart import Axis, Chart, Group, Parts
from ..data.drawn import Drawn, Gathered
from ..data.values import by_name
from . import claims_cpnvm, claims_failure_atomic, claims_hdpm, claims_pmfs
from .claim import Claim, Results

NAME = "claims"
MANIFESTS = (
    *(*claims_hdpm.MANIFESTS, *claims_pmfs.MANIFESTS, *claims_failure_atomic.MANIFESTS),
    *claims_cpnvm.MANIFESTS,
)
COLUMNS = ("system", "published", "holds here", "ours", "tested as a cause")
NOTES = (
    "about equal, close together, as before: within 10 %; close to 0 %: at most 2 %; an order of magnitude: 10 times",
    "holds here: '-' where a figure without a number was published, so that there is nothing to judge",
    "HDPM and CpNvm: on Optane memory; PMFS: on its own; failure-atomic msync: on every device that is measured",
    "by pages, by lines: the two ways to know what a commit has to write",
)


def all_of(results: Results) -> list[Claim]:
    """Return the claims by system, in the order of the figure."""
    of_systems = (claims_hdpm.hdpm, claims_pmfs.pmfs, claims_failure_atomic.failure_atomic, claims_cpnvm.cpnvm)
    return [claim for of_system in of_systems for claim in of_system(results)]


def summary(cells: Sequence[Sequence[str]]) -> str:
    """Summarise the cells of all claims in one line."""
    verdicts = [row[2] for row in cells]
    judged, tested = len(verdicts) - verdicts.count("-"), [row[4] for row in cells if row[2] == "no"]
    return (
        f"{len(cells)} claims without a number to divide by: {verdicts.count('yes')} of {judged} that can be judged "
        f"hold; of the {len(tested)} others {sum(cause != 'not tested' for cause in tested)} have a test beside them"
    )


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure for the catalogue."""
    cells = [claim.cells() for claim in all_of(gathered.results)]
    return Drawn(
        name=NAME,
        title="Claims of HDPM, PMFS, failure-atomic msync and CpNvm that have no number to divide by",
        caption=f"{summary(cells)}.",
        notes=NOTES,
        columns=COLUMNS,
        rows=cells,
        chart=_chart(cells),
    )


def _chart(cells: Sequence[Sequence[str]]) -> Chart:
    systems = list(dict.fromkeys(row[0] for row in cells))
    labels = {"yes": "holds", "no": "does not hold", "-": "nothing to judge"}
    parts = [
        Group(label, by_name((s, sum((row[0], row[2]) == (s, verdict) for row in cells)) for s in systems))
        for verdict, label in labels.items()
    ]
    return Chart([[Parts(systems, parts, Axis("claims"))]], unscaled=True)
