# SPDX-License-Identifier: Apache-2.0
"""The testbed of Ware's section 3.2, used by all experiments of chapter 3.

Choices left open by the thesis: its queues are powers of two packets, the nearest to the given
number of bandwidth-delay products (33 packets). It calls 1024 packets both 32 BDP (Figure 3.7's
testbed) and 64 BDP (caption of Figure 3.3); by its own rule, which is used here, 1024 are 32 BDP.
It states neither the testbed's noise nor the number of repetitions: here the path has typical noise
(:func:`ccbench.experiment.noise.typical`), and each experiment runs with several seeds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import MTU_BYTES, Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.run.run import Run

__all__ = [
    "BANDWIDTH_MBPS",
    "COLOURS",
    "RTT_MS",
    "SEEDS",
    "competition",
    "is_bbr",
    "queue_axis",
    "queue_packets",
    "rank_correlation",
]

BANDWIDTH_MBPS = 10.0
RTT_MS = 40.0
#: Default repetitions of an experiment.
SEEDS = (1, 2, 3, 4, 5, 6)

_PAIR = 2

COLOURS = {"bbr": "C3", "bbr3": "C1", "cubic": "C0", "reno": "C2"}


def queue_packets(queue_bdp: float, *, bandwidth_mbps: float = BANDWIDTH_MBPS) -> int:
    """Return the length of a queue in packets, rounded as in the testbed.

    Examples
    --------
    >>> queue_packets(1), queue_packets(32), queue_packets(64, bandwidth_mbps=15)
    (32, 1024, 4096)
    """
    bdp = bandwidth_mbps * 1e3 * RTT_MS / 8 / MTU_BYTES
    return int(2 ** round(math.log2(queue_bdp * bdp)))


def competition(  # noqa: PLR0913 - all but the flows by keyword
    flows: dict[str, int],
    *,
    queue_bdp: float,
    duration_s: float,
    seed: int,
    bandwidth_mbps: float = BANDWIDTH_MBPS,
    sample_interval_ms: float = 100.0,
) -> Scenario:
    """Return a scenario in the testbed: a number of flows per CCA, all starting at 0 s.

    Examples
    --------
    >>> competition({"bbr": 1, "cubic": 16}, queue_bdp=32, duration_s=60, seed=1).name
    '1 bbr, 16 cubic, 1024 packets, seed 1'
    """
    packets = queue_packets(queue_bdp, bandwidth_mbps=bandwidth_mbps)
    flow_counts = ", ".join(f"{count} {cca}" for cca, count in flows.items())
    return Scenario(
        flows=tuple(Flow(cca=cca, count=count) for cca, count in flows.items()),
        path=NetworkPath(
            bottlenecks=(Bottleneck(bandwidth_mbps=bandwidth_mbps, queue_packets=packets),),
            rtt_ms=RTT_MS,
            noise=typical(rtt_ms=RTT_MS),
        ),
        duration_s=duration_s,
        seed=seed,
        sample_interval_ms=sample_interval_ms,
        queue_log=False,
        name=f"{flow_counts}, {packets} packets, seed {seed}",
    )


def is_bbr(run: Run) -> pd.Series[bool]:
    """Return whether each flow of a run is a BBR flow."""
    is_bbr_flow: pd.Series[bool] = run.scenario.flow_table()["cca"] == "bbr"
    return is_bbr_flow


def queue_axis(axes: Axes, packets: pd.Series[int]) -> None:
    """Label the x axis with queue lengths, one tick per power of two."""
    ticks = np.unique(packets)
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlabel("queue (packets)")


def rank_correlation(values: pd.Series[float]) -> float:
    """Return Spearman's correlation of values with their index: 1 if they only increase.

    NaN for fewer than two values.

    Examples
    --------
    >>> import pandas as pd
    >>> rank_correlation(pd.Series([9.0, 4.0, 1.0], index=[1, 2, 3]))
    -1.0
    """
    if len(values) < _PAIR:
        return math.nan
    return float(values.rank().corr(values.index.to_series().rank()))
