# SPDX-License-Identifier: Apache-2.0
"""Fair share of a long flow with others at one link, for Figures 1-2 and 3-3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import random_streams
from ccbench.datacenter import flow_sizes
from ccbench.datacenter.topology import star
from ccbench.datacenter.workload import Workload
from ccbench.models.processor_sharing import active_flows, mean_share_change

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["GBPS", "INTERVALS_US", "LOAD", "changes", "numbers_of_flows"]

#: Link rates of Figure 3-3.
GBPS = (10.0, 40.0, 100.0)
#: Load of the other flows.
LOAD = 0.6
#: Intervals in μs; 8 μs is the base RTT.
INTERVALS_US = (1, 2, 4, 8, 16, 32, 64, 128)
_FLOWS, _QUICK_FLOWS = 100_000, 2_000
_TIMES = 100_000


def numbers_of_flows(
    sizes: str, gbps: float, seed: int, *, quick: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the times and the numbers of active flows, including the long one."""
    network = star(servers=2, gbps=gbps)
    flows = _QUICK_FLOWS if quick else _FLOWS
    duration_s = flows * flow_sizes.get(sizes).mean_bytes * 8 / (LOAD * gbps * 1e9)
    table = Workload(sizes=sizes, load=LOAD).flows(network, duration_s, seed)
    return active_flows(table["start_ps"] / 1e12, table["bytes"], gbps)


def changes(sizes: str, gbps: float, seed: int, *, quick: bool) -> dict[int, float]:
    """Return the mean relative change of the fair share in percent by interval in μs."""
    times_s, numbers = numbers_of_flows(sizes, gbps, seed, quick=quick)
    draws = random_streams.stream(seed, "fair share", "times")
    # The first tenth, in which the link fills, does not count.
    at_s = times_s[-1] * (0.1 + 0.85 * draws.random(_TIMES))
    return {
        interval: 100 * mean_share_change(times_s, numbers, 1e-6 * interval, at_s)
        for interval in INTERVALS_US
    }
