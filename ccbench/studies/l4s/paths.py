# SPDX-License-Identifier: Apache-2.0
"""Paths of the studies of L4S, and common measurements.

Linux 7.3 has accurate ECN and DualPI2. DualPI2's options are Linux's defaults, except for the
threshold of the L4S queue on slow links: it is at least the time of two packets, as otherwise every
packet that waits for another one is marked. All scenarios have typical noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.base.estimate import Estimate
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ccbench.run.run import Run

__all__ = [
    "KERNELS",
    "MBPS",
    "RTTS_MS",
    "beside_cubic",
    "dualpi2",
    "estimates",
    "on_path",
    "path_name",
    "settled_mbps",
]

#: Releases of Linux with accurate ECN and DualPI2.
KERNELS = ("7.3",)

#: Link rates and base round-trip times.
MBPS = (4, 12, 40, 100, 200)
RTTS_MS = (5, 10, 20, 50, 100)

#: Linux's default limit of DualPI2.
_LIMIT_PACKETS = 10_000
_STEP_MS = 1.0
_LENGTH_S, _QUICK_S = 100.0, 4.0


def dualpi2(mbps: float) -> Bottleneck:
    """Return a link with DualPI2.

    Examples
    --------
    >>> dict(dualpi2(4).qdisc_options), dict(dualpi2(100).qdisc_options)
    ({'step_ms': 6.0}, {'step_ms': 1.0})
    """
    link = Bottleneck(bandwidth_mbps=mbps, queue_packets=_LIMIT_PACKETS)
    step_ms = max(_STEP_MS, 2 * link.packet_ms)
    return Bottleneck(
        bandwidth_mbps=mbps,
        queue_packets=_LIMIT_PACKETS,
        qdisc="dualpi2",
        qdisc_options=(("step_ms", step_ms),),
    )


def on_path(
    link: Bottleneck,
    *flows: Flow,
    rtt_ms: float,
    ecn: bool | str = False,
    module_parameters: Mapping[str, str] | None = None,
    **settings: Any,
) -> Scenario:
    """Return a scenario with typical noise and a summary of the queue.

    Parameters
    ----------
    link : Bottleneck
        The only bottleneck.
    *flows : Flow
        The flows that share it.
    rtt_ms : float
        Base round-trip time in milliseconds.
    ecn, module_parameters
        As in :class:`~ccbench.experiment.path.NetworkPath`.
    **settings
        Other arguments of the :class:`~ccbench.experiment.scenario.Scenario`.

    Examples
    --------
    >>> on_path(dualpi2(40), Flow(cca="prague"), rtt_ms=20, duration_s=9).queue_log
    'summary'
    """
    return Scenario(
        flows=flows,
        path=NetworkPath(
            bottlenecks=(link,),
            rtt_ms=rtt_ms,
            noise=typical(rtt_ms=rtt_ms),
            ecn=ecn,
            module_parameters=tuple((module_parameters or {}).items()),
        ),
        queue_log="summary",
        **settings,
    )


def beside_cubic(
    mbps: float, rtt_ms: float, seed: int, *, count: int = 1, quick: bool, **settings: Any
) -> Scenario:
    """Return the scenario of Prague against CUBIC with ECN at DualPI2.

    Parameters
    ----------
    mbps, rtt_ms : float
        Link rate, and base round-trip time of all flows.
    seed : int
        Seed of the noise.
    count : int
        Number of flows of each.
    quick : bool
        Whether the run is too short to settle.
    **settings
        Other arguments of :func:`on_path`.

    Examples
    --------
    >>> beside_cubic(40, 20, seed=1, quick=False).duration_s
    100.0
    """
    return on_path(
        dualpi2(mbps),
        Flow(cca="prague", count=count),
        Flow(cca="cubic", count=count),
        rtt_ms=rtt_ms,
        duration_s=_QUICK_S if quick else _LENGTH_S,
        seed=seed,
        ecn=True,
        **settings,
    )


def settled_mbps(run: Run) -> pd.Series[float]:
    """Return the mean throughput in Mbit/s of each group of flows in the second half of a run."""
    scenario = run.scenario
    by_flow = run.throughput(1.0).loc[scenario.duration_s / 2 :].mean()
    groups = [i for i, flow in enumerate(scenario.flows) for _ in range(flow.count)]
    return by_flow.groupby(groups).sum()


def estimates(rows: pd.DataFrame, column: str) -> dict[tuple[float, float], Estimate]:
    """Return the mean of a column over seeds, by link rate and round-trip time.

    Parameters
    ----------
    rows : DataFrame
        Columns ``mbps``, ``rtt_ms`` and `column`; one row for each seed.
    column : str
        Name of the column.
    """
    paths = dict.fromkeys(zip(rows["mbps"], rows["rtt_ms"], strict=True))
    return {
        (mbps, rtt_ms): Estimate(
            rows.loc[(rows["mbps"] == mbps) & (rows["rtt_ms"] == rtt_ms), column]
        )
        for mbps, rtt_ms in paths
    }


def path_name(mbps: float, rtt_ms: float) -> str:
    """Return the name of a path.

    Examples
    --------
    >>> path_name(40, 20)
    '40 Mbit/s, 20 ms'
    """
    return f"{mbps:g} Mbit/s, {rtt_ms:g} ms"
