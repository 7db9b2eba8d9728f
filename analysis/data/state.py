# SPDX-License-Identifier: BSD-3-Clause
"""Of which builds, seeds and scales some results are."""

from collections.abc import Iterable, Sequence

from testbed.results.results import Result

DIGITS = 8  # of a build's key, which also begin the name of its folder in the cache


def text(results: Sequence[Result]) -> str:
    """State the builds of QEMU and the image, the seeds and the scales in one line; empty without results."""
    if not results:
        return ""
    builds = [result.data["identity"]["machine"].get("components", {}) for result in results]
    seeds = sorted({result.seed for result in results})
    scales = sorted({result.data["scale"] for result in results})
    parts = (
        f"QEMU {_listed(build.get('qemu', 'unknown') for build in builds)}",
        f"image {_listed(build.get('base', 'unknown') for build in builds)}",
        f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}",
        f"scale {', '.join(f'1/{scale}' if scale > 1 else 'full' for scale in scales)}",
    )
    return f"State: {'; '.join(parts)}."


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(sorted({key[:DIGITS] for key in keys}))
