# SPDX-License-Identifier: Apache-2.0
"""The network of the RAPID studies, and common measurements.

K. V. Konda and J. Kaur, "Rethinking the Timescales at Which Congestion-control Operates": a
dumbbell of 1 Gbit/s and 60 ms, packets of 1040 bytes, a queue of one bandwidth-delay product.

Linux's packets get that size from path MTU probing that starts there and never probes. Receive
windows start large, as in ns-2 they do not grow: RAPID would otherwise be limited by them.
Receivers of long transfers acknowledge every packet, as by default in ns-2: the 7433 round trips of
Table I correspond to one additional packet per round trip, twice the growth with delayed ACKs.

The paper does not state FAST's alpha. Here, it is 200 packets at 1 Gbit/s: a window that grows by
half of it per round trip reaches the 7212 packets in about the 70 round trips of Table I.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.experiment.noise import NO_NOISE, Noise
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ccbench.run.run import Run

__all__ = [
    "DEFAULTS",
    "EXACT",
    "FAST_SHORT",
    "FAST_SHORT_BDP",
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

#: Parameters for a network without noise, as in ns-2: zero tolerance.
EXACT = {_TOLERANCE: "0"}
#: The module's defaults, with a tolerance for noise.
DEFAULTS: Mapping[str, str] = {}

_FAST_ALPHA_PER_MBPS = 0.2

#: Short queue of Figure 1(c) in bandwidth-delay products, and its scheme.
FAST_SHORT_BDP = 0.15
FAST_SHORT = "FAST, short"

#: NewReno repairs one loss per round trip, like Linux's Reno without selective ACKs.
NEWRENO = {"net.ipv4.tcp_sack": "0"}

#: Linux's usual send buffers, up to 64 MB, so that those of several flows fit into a guest.
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
    """Return a constant-rate flow of the paper's packets.

    Examples
    --------
    >>> cbr(200, stop_s=50).packet_bytes
    1040
    """
    return Flow(
        kind="cbr", rate_mbps=mbps, packet_bytes=PACKET_BYTES, start_s=start_s, stop_s=stop_s
    )


def long_transfer(cca: str, *, start_s: float = 0.0) -> Flow:
    """Return a bulk flow whose receiver acknowledges every packet, as in ns-2.

    Examples
    --------
    >>> long_transfer("highspeed").acks
    'every'
    """
    return Flow(cca=cca, start_s=start_s, acks="every")


def network(  # noqa: PLR0913 - a network's parameters, all by keyword
    *flows: Flow,
    duration_s: float,
    mbps: float = MBPS,
    queue_packets: int | None = None,
    loss_every_packets: int | None = None,
    sysctls: Mapping[str, str] | None = None,
    parameters: Mapping[str, str] = EXACT,
    rtt_ms: float = RTT_MS,
    ack_batch_ms: float = 0.0,
    noise: Noise = NO_NOISE,
    **settings: Any,
) -> Scenario:
    """Return a scenario in the paper's network, with queue summaries.

    Parameters
    ----------
    *flows : Flow
        The flows that share the link.
    duration_s, mbps : float
        Length of the run and rate of the link.
    queue_packets : int, optional
        Queue capacity; by default one bandwidth-delay product.
    loss_every_packets : int, optional
        Period of the link's loss, as in a :class:`~ccbench.experiment.bottleneck.Bottleneck`.
    sysctls : mapping, optional
        Additional settings of the hosts.
    parameters : mapping
        RAPID's parameters, with defaults for those omitted; no effect without RAPID flows.
    rtt_ms, ack_batch_ms, noise
        As in :class:`~ccbench.experiment.path.NetworkPath`.
    **settings
        Other arguments of the :class:`~ccbench.experiment.scenario.Scenario`.

    Examples
    --------
    >>> network(Flow(cca="rapid"), duration_s=9).path.bottlenecks[0].queue_packets
    7212
    """
    link = Bottleneck(
        bandwidth_mbps=mbps,
        queue_packets=bdp_packets(mbps) if queue_packets is None else queue_packets,
        loss_every_packets=loss_every_packets,
    )
    ccas = {flow.cca for flow in flows}
    alpha = max(round(_FAST_ALPHA_PER_MBPS * mbps), 1)
    module_parameters = {
        **(parameters if "rapid" in ccas else {}),
        **({"tcp_fast.alpha": str(alpha)} if "fast" in ccas else {}),
    }
    return Scenario(
        flows=flows,
        path=NetworkPath(
            bottlenecks=(link,),
            rtt_ms=rtt_ms,
            ack_batch_ms=ack_batch_ms,
            noise=noise,
            module_parameters=tuple(module_parameters.items()),
            sysctls=tuple({**_SYSCTLS, **(sysctls or {})}.items()),
        ),
        duration_s=duration_s,
        queue_log="summary",
        **{"sample_interval_ms": _SAMPLE_MS, **settings},
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
    return int(dict(scenario.path.module_parameters).get(_TOLERANCE, _DEFAULT_TOLERANCE))


def scheme_of(scenario: Scenario) -> str:
    """Return the paper's name of the first flow's scheme.

    Examples
    --------
    >>> [scheme_of(network(Flow(cca="reno"), duration_s=9, sysctls=s)) for s in (NEWRENO, {})]
    ['NewReno', 'Reno, SACK']
    """
    cca = scenario.flows[0].cca
    link = scenario.path.bottlenecks[0]
    if cca == "fast" and (link.queue_packets or 0) < bdp_packets(link.mean_mbps):
        return FAST_SHORT
    if cca != "reno":
        return {"rapid": "RAPID", "highspeed": "HighSpeed"}.get(cca, cca.upper())
    return "NewReno" if set(NEWRENO.items()) <= set(scenario.path.sysctls) else "Reno, SACK"


def over_rtts(run: Run, flow: int = 0) -> pd.Series[float]:
    """Return a flow's throughput in Mbit/s over the round trip before each sample."""
    mbps: pd.Series[float] = run.throughput(_SAMPLE_MS / 1e3)[flow]
    return mbps.rolling(_SAMPLES_IN_RTT, min_periods=1).mean()


def mean_packets(run: Run) -> float:
    """Return the time average of the queue's occupancy in packets."""
    shares = run.occupancy_distribution()
    return float((shares * shares.index).sum())


def quantile_packets(run: Run, *probabilities: float) -> list[int]:
    """Return quantiles of the queue's occupancy over time, in packets."""
    reached = run.occupancy_distribution().cumsum()
    at = np.searchsorted(reached.to_numpy() + 1e-9, probabilities)
    return [int(reached.index[min(i, len(reached) - 1)]) for i in at]
