# SPDX-License-Identifier: Apache-2.0
"""What the studies of RAPID share: the paper's network, and how a run is looked at.

K. V. Konda and J. Kaur, "Rethinking the Timescales at Which Congestion-control Operates": a
dumbbell of 1 Gbit/s and 60 ms, packets of 1040 bytes, a queue of one bandwidth-delay product.

Linux's packets get that size by path MTU probing that starts there and never probes. Its receive
windows start large, since those of ns-2 do not grow: RAPID would otherwise wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.scenario import Bottleneck, Flow, Scenario

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run

__all__ = [
    "MBPS",
    "NEWRENO",
    "PACKET_BYTES",
    "RTT_MS",
    "SMALL_BUFFERS",
    "bdp_packets",
    "cbr",
    "mean_packets",
    "network",
    "over_rtts",
    "quantile_packets",
    "scheme_of",
]

MBPS = 1000.0
RTT_MS = 60.0
PACKET_BYTES = 1040

_WINDOW = "4096 67108864 536870912"
_SYSCTLS = {
    "net.ipv4.tcp_rmem": _WINDOW,
    "net.ipv4.tcp_wmem": _WINDOW,
    "net.ipv4.tcp_mtu_probing": "2",
    # Payload of a packet with 20 bytes of IP header, 20 of TCP header, and timestamps.
    "net.ipv4.tcp_base_mss": str(PACKET_BYTES - 52),
    "net.ipv4.tcp_probe_threshold": "100000",
}

_EXACT = (("tcp_rapid.tolerance", "0"),)

#: NewReno repairs one loss in a round trip. Linux's Reno does, without selective ACKs.
NEWRENO = {"net.ipv4.tcp_sack": "0"}

#: Send buffers as Linux has them, up to 64 MB: those of several flows have to fit into a guest.
SMALL_BUFFERS = {"net.ipv4.tcp_wmem": "4096 16384 67108864"}

_SAMPLE_MS = 20.0
_SAMPLES_IN_RTT = round(RTT_MS / _SAMPLE_MS)


def bdp_packets(mbps: float = MBPS) -> int:
    """Return the bandwidth-delay product in packets of this size.

    Examples
    --------
    >>> bdp_packets()
    7212
    """
    return round(mbps * 1e3 * RTT_MS / (8 * PACKET_BYTES))


def cbr(mbps: float, start_s: float = 0.0, stop_s: float | None = None) -> Flow:
    """Return a constant flow of the paper's packets.

    Examples
    --------
    >>> cbr(200, stop_s=50).packet_bytes
    1040
    """
    return Flow(
        kind="cbr", rate_mbps=mbps, packet_bytes=PACKET_BYTES, start_s=start_s, stop_s=stop_s
    )


def network(  # noqa: PLR0913 - a network has this many numbers; all are named
    *flows: Flow,
    duration_s: float,
    mbps: float = MBPS,
    queue_packets: int | None = None,
    loss: float = 0.0,
    sysctls: dict[str, str] | None = None,
    exact: bool = True,
    **settings: Any,
) -> Scenario:
    """Return flows in the paper's network; its queues are summarised.

    Parameters
    ----------
    *flows : Flow
        What shares the link.
    duration_s, mbps, loss : float
        Length of the run, rate of the link and its random loss.
    queue_packets : int, optional
        Room of the queue; by default one bandwidth-delay product.
    sysctls : dict, optional
        Settings of the hosts besides those of all studies.
    exact : bool
        Whether RAPID allows for no noise: as in ns-2, where times are exact, so that the paper has
        none. Otherwise it has its default tolerance.
    **settings
        Others of the :class:`~ccbench.scenario.Scenario`.

    Examples
    --------
    >>> network(Flow(cca="rapid"), duration_s=9).bottlenecks[0].queue_packets
    7212
    """
    packets = bdp_packets(mbps) if queue_packets is None else queue_packets
    changes = {"rtt_ms": RTT_MS, "sample_interval_ms": _SAMPLE_MS, **settings}
    return Scenario(
        flows=flows,
        bottlenecks=(Bottleneck(bandwidth_mbps=mbps, queue_packets=packets, loss=loss),),
        duration_s=duration_s,
        queue_log="summary",
        module_parameters=_EXACT if exact and any(flow.cca == "rapid" for flow in flows) else (),
        sysctls=tuple({**_SYSCTLS, **(sysctls or {})}.items()),
        **changes,
    )


def scheme_of(scenario: Scenario) -> str:
    """Return what the scenario's first flow is called.

    Examples
    --------
    >>> [scheme_of(network(Flow(cca="reno"), duration_s=9, sysctls=s)) for s in (NEWRENO, {})]
    ['NewReno', 'Reno, SACK']
    """
    cca = scenario.flows[0].cca
    if cca != "reno":
        return {"rapid": "RAPID", "highspeed": "HighSpeed"}.get(cca, cca.upper())
    return "NewReno" if set(NEWRENO.items()) <= set(scenario.sysctls) else "Reno, SACK"


def over_rtts(run: Run, flow: int = 0) -> pd.Series[float]:
    """Return a flow's throughput in Mbit/s over one round trip that ends at each sample."""
    mbps: pd.Series[float] = run.throughput(_SAMPLE_MS / 1e3)[flow]
    return mbps.rolling(_SAMPLES_IN_RTT, min_periods=1).mean()


def mean_packets(run: Run) -> float:
    """Return the mean of the queue's occupancy over time."""
    shares = run.occupancy_distribution()
    return float((shares * shares.index).sum())


def quantile_packets(run: Run, *parts: float) -> list[int]:
    """Return the numbers of packets below or at which the queue is for these parts of the time."""
    reached = run.occupancy_distribution().cumsum()
    at = np.searchsorted(reached.to_numpy() + 1e-9, parts)
    return [int(reached.index[min(i, len(reached) - 1)]) for i in at]
