# SPDX-License-Identifier: Apache-2.0
"""The Wi-Fi link of ABC's studies, and the schemes that are compared on it.

Choices left open by the paper: its link was a real one in a crowded room. Here batches have up to
20 frames, as in Figure 5, and an overhead that is uniformly distributed between 0.3 and 3 ms. The
round-trip time is 20 ms, the queue 250 packets. Delta is 133 ms and T 40 ms, as stated. CoDel is
compared with its default target of 5 ms, as the paper's router ran OpenWrt; CoDel with 50 ms, as in
the authors' scripts for cellular links, is shown as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.experiment.noise import NO_NOISE, typical
from ccbench.experiment.scenario import Flow, NetworkPath, Scenario
from ccbench.experiment.wifi import Wifi
from ccbench.run import packets
from ccbench.studies.abc.links import ABC, QUEUE_PACKETS, SCHEMES, router, scheme_of
from ccbench.studies.study import Comparison

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ccbench.run.run import Run
    from ccbench.studies.abc.links import Scheme
    from ccbench.studies.published import Published
    from ccbench.studies.study import Rows

__all__ = [
    "COMPARED",
    "DURATION_S",
    "D_T_MS",
    "MCS_MBPS",
    "RTT_MS",
    "SEEDS",
    "STEP_S",
    "beaten",
    "measure",
    "named",
    "scenario",
    "wifi",
]

#: Bitrate of each MCS index with one stream of 20 MHz, in Mbit/s.
MCS_MBPS = (6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0)
#: Duration of each MCS index in seconds.
STEP_S = 2.0
RTT_MS = 20.0
#: Duration of a run in seconds.
DURATION_S = 45.0
SEEDS = (1, 2, 3)
#: The compared delay thresholds of ABC in ms.
D_T_MS = (20, 60, 100)

_MAX_FRAMES = 20
_OVERHEAD_MS = (0.3, 3.0)
_WINDOW_MS = 40


def named(d_t_ms: int) -> str:
    """Return the name of ABC with a delay threshold.

    Examples
    --------
    >>> named(60)
    'ABC, d_t 60 ms'
    """
    return f"{ABC.name}, d_t {d_t_ms} ms"


_ROUTERS = tuple(
    replace(ABC, name=named(d_t_ms), options=router(d_t_ms=d_t_ms, window_ms=_WINDOW_MS))
    for d_t_ms in D_T_MS
)
_ABC_NAMES = {scheme.options: scheme.name for scheme in _ROUTERS}

#: ABC with each threshold, and the other schemes.
COMPARED = (*_ROUTERS, *SCHEMES[1:])


def wifi(bitrates_mbps: Sequence[float], stations: int = 1) -> Wifi:
    """Return a link with this sequence of bitrates.

    Examples
    --------
    >>> wifi(MCS_MBPS[7:]).max_frames
    20
    """
    return Wifi(
        bitrates_mbps=tuple(bitrates_mbps),
        step_s=STEP_S,
        max_frames=_MAX_FRAMES,
        overhead_ms=_OVERHEAD_MS,
        stations=stations,
    )


def scenario(
    scheme: Scheme, bitrates_mbps: Sequence[float], *, users: int, seed: int, duration_s: float
) -> Scenario:
    """Return backlogged flows of a scheme, one per user, over Wi-Fi.

    Examples
    --------
    >>> scenario(ABC, MCS_MBPS[7:], users=2, seed=1, duration_s=9).flow_count
    2
    """
    link = replace(
        scheme.bottleneck(1.0, QUEUE_PACKETS),
        bandwidth_mbps=None,
        wifi=wifi(bitrates_mbps, users),
    )
    return Scenario(
        flows=(Flow(cca=scheme.cca, count=users),),
        path=NetworkPath(
            bottlenecks=(link,),
            rtt_ms=RTT_MS,
            noise=typical(rtt_ms=RTT_MS) if users > 1 else NO_NOISE,
        ),
        duration_s=duration_s,
        seed=seed,
        name=f"{scheme.name} over Wi-Fi, users: {users}",
    )


def measure(run: Run) -> Rows:
    """Return the row of a run of :func:`scenario`: throughput, and mean of the users' delays."""
    scenario = run.scenario
    waited = packets.delivered(run).groupby("flow")["queueing_ms"].quantile(0.95)
    return [
        {
            "users": scenario.flow_count,
            "scheme": _ABC_NAMES.get(
                scenario.path.bottlenecks[0].qdisc_options, scheme_of(scenario)
            ),
            "seed": scenario.seed,
            "throughput_mbps": run.carried_bytes() * 8e-6 / scenario.duration_s,
            "p95_ms": float(waited.mean()),
        }
    ]


def beaten(means: pd.DataFrame, users_label: str, published: Published) -> Comparison:
    """Count the schemes that are at least as good as one of the versions of ABC.

    Parameters
    ----------
    means : DataFrame
        Index: names of schemes; columns ``throughput_mbps`` and ``p95_ms``.
    users_label : str
        Prefix of the quantity.
    published : Published
        The statement that there are none.
    """
    is_own = means.index.isin(_ABC_NAMES.values())
    own, others = means[is_own], means[~is_own]
    better = [
        str(name)
        for name, mbps, p95_ms in others[["throughput_mbps", "p95_ms"]].itertuples()
        if ((own["throughput_mbps"] <= mbps) & (own["p95_ms"] >= p95_ms)).any()
    ]
    return Comparison(
        quantity=f"{users_label}: schemes that beat one of the three ABC in throughput and delay",
        measured=len(better),
        published=published,
        note=", ".join(better),
    )
