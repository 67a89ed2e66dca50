# SPDX-License-Identifier: Apache-2.0
"""The network of the studies of RAPID, and measures that they share.

K. V. Konda and J. Kaur, "Rethinking the Timescales at Which Congestion-control Operates": a
dumbbell of 1 Gbit/s and 60 ms, packets of 1040 bytes, a queue of one bandwidth-delay product.

Linux's packets get that size by path MTU probing that starts there and never probes. Its receive
windows start large, since those of ns-2 do not grow: RAPID would otherwise wait for them. Receivers
of long transfers acknowledge every packet, as ns-2's do by default: the 7433 round trips of Table I
are one packet more in each, which is half of that with delayed ACKs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.experiment.scenario import Bottleneck, Flow, Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ccbench.run.run import Run

__all__ = [
    "DEFAULTS",
    "EXACT",
    "MBPS",
    "NEWRENO",
    "PACKET_BYTES",
    "RTT_MS",
    "SMALL_BUFFERS",
    "bdp_packets",
    "cbr",
    "long_transfer",
    "mean_packets",
    "network",
    "over_rtts",
    "quantile_packets",
    "scheme_of",
    "tolerance_of",
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

_TOLERANCE = "tcp_rapid.tolerance"
_DEFAULT_TOLERANCE = 64

#: Parameters for a network without noise, as in ns-2: no tolerance for it.
EXACT = {_TOLERANCE: "0"}
#: The module's own defaults, with a tolerance for noise.
DEFAULTS: Mapping[str, str] = {}

#: NewReno repairs one loss in a round trip. Linux's Reno does, without selective ACKs.
NEWRENO = {"net.ipv4.tcp_sack": "0"}

#: Linux's usual send buffers, up to 64 MB: those of several flows have to fit into a guest.
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


def long_transfer(cca: str, *, start_s: float = 0.0) -> Flow:
    """Return a long transfer whose receiver acknowledges every packet, as in ns-2.

    Examples
    --------
    >>> long_transfer("highspeed").acks
    'every'
    """
    return Flow(cca=cca, start_s=start_s, acks="every")


def network(  # noqa: PLR0913 - a network has this many numbers; all are named
    *flows: Flow,
    duration_s: float,
    mbps: float = MBPS,
    queue_packets: int | None = None,
    loss_every_packets: int | None = None,
    sysctls: Mapping[str, str] | None = None,
    parameters: Mapping[str, str] = EXACT,
    **settings: Any,
) -> Scenario:
    """Return flows in the paper's network; its queues are summarised.

    Parameters
    ----------
    *flows : Flow
        The flows that share the link.
    duration_s, mbps : float
        Length of the run and rate of the link.
    queue_packets : int, optional
        Room of the queue; by default one bandwidth-delay product.
    loss_every_packets : int, optional
        Period of the link's loss, as in a :class:`~ccbench.experiment.bottleneck.Bottleneck`.
    sysctls : mapping, optional
        Settings of the hosts besides those of all studies.
    parameters : mapping
        RAPID's parameters, of which those left out have their defaults; without effect if no flow
        is RAPID's.
    **settings
        Others of the :class:`~ccbench.experiment.scenario.Scenario`.

    Examples
    --------
    >>> network(Flow(cca="rapid"), duration_s=9).bottlenecks[0].queue_packets
    7212
    """
    link = Bottleneck(
        bandwidth_mbps=mbps,
        queue_packets=bdp_packets(mbps) if queue_packets is None else queue_packets,
        loss_every_packets=loss_every_packets,
    )
    has_rapid = any(flow.cca == "rapid" for flow in flows)
    changes = {"rtt_ms": RTT_MS, "sample_interval_ms": _SAMPLE_MS, **settings}
    return Scenario(
        flows=flows,
        bottlenecks=(link,),
        duration_s=duration_s,
        queue_log="summary",
        module_parameters=tuple(parameters.items()) if has_rapid else (),
        sysctls=tuple({**_SYSCTLS, **(sysctls or {})}.items()),
        **changes,
    )


def tolerance_of(scenario: Scenario) -> int:
    """Return RAPID's tolerance for noise.

    Examples
    --------
    >>> [
    ...     tolerance_of(network(Flow(cca="rapid"), duration_s=9, parameters=parameters))
    ...     for parameters in (EXACT, DEFAULTS)
    ... ]
    [0, 64]
    """
    return int(dict(scenario.module_parameters).get(_TOLERANCE, _DEFAULT_TOLERANCE))


def scheme_of(scenario: Scenario) -> str:
    """Return the name of the first flow's scheme, as the paper has it.

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
