# SPDX-License-Identifier: BSD-3-Clause
"""Linux's use of HMAT and CDAT, written down from its sources: speeds of a node, its tier, its weight.

Linux 6.12: drivers/acpi/numa/hmat.c, drivers/cxl/core/cdat.c, mm/memory-tiers.c. Weights: mm/mempolicy.c of 6.16.
"""

from collections.abc import Sequence
from math import gcd

from rigs.guest import cdat_rig

Speed = tuple[int, ...]  # read and write latency in ns, read and write bandwidth in MB/s
LOCAL: Speed = (95, 24, 140_800, 140_800)  # from the CPU's profile, in whole ns
PORT_NS = 24  # the latency of the profile's LLC
LINK_NS = 1  # a flit on the PCIe link, rounded up to whole ns
DRAM_DISTANCE, TIER_BITS = 576, 7
WEIGHTS = 32


def node(tables: Sequence[bytes], partition: int = 0) -> Speed:
    """Return the speed of a region over devices with these tables: the slowest latencies, and the sum of bandwidths."""
    said = [cdat_rig.read(table)[partition].memory for table in tables]
    latencies = (max(one[f"{what}_ps"] for one in said) for what in ("read", "write"))
    bandwidths = (sum(one[f"{what}_mb_s"] for one in said) for what in ("read", "write"))
    return (*(-(-ps // 1000) + PORT_NS + LINK_NS for ps in latencies), *bandwidths)


def tier(speed: Speed) -> int:
    """Return the number of the memory tier: an abstract distance, computed in whole numbers step by step."""
    distance = DRAM_DISTANCE * sum(speed[:2]) // sum(LOCAL[:2]) * sum(LOCAL[2:]) // sum(speed[2:])
    return distance >> TIER_BITS


def weights(speeds: Sequence[Speed]) -> list[int]:
    """Return the weights of all nodes with memory for weighted interleaving, by the lesser of both bandwidths."""
    bandwidths = [min(speed[2:]) for speed in speeds]
    shares = [max(1, WEIGHTS * bandwidth // sum(bandwidths)) for bandwidth in bandwidths]
    return [share // gcd(*shares) for share in shares]
