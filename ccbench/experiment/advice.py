# SPDX-License-Identifier: Apache-2.0
"""Advice about scenarios that are valid, but whose settings spoil their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.experiment.qdiscs import QDISCS

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario

__all__ = ["advice"]


def advice(scenario: Scenario) -> tuple[str, ...]:
    """Return a line for each setting that spoils the results of a scenario, with a remedy.

    Thresholds of a queue that mark each packet above a delay are such settings if a packet takes
    longer on the link: flows that react to marks starve. Linux's CoDel, PIE and CAKE need no
    advice, as they tolerate one or two full packets above their target.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, NetworkPath, Scenario
    >>> link = Bottleneck(bandwidth_mbps=12, queue_packets=100, qdisc="dualpi2")
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=20)
    >>> advice(Scenario(flows=(Flow(),), path=path, duration_s=9))[0]
    'bottlenecks[0].qdisc_options.step_ms is 1 by default...: set step_ms = 2'
    """
    lines = []
    for i, link in enumerate(scenario.path.links):
        if (qdisc := QDISCS.get(link.qdisc)) is None:
            continue
        given = dict(link.qdisc_options)
        own = (change.bandwidth_mbps for change in scenario.path.changes if change.bottleneck == i)
        slowest_mbps = min(
            link.mean_mbps, *(mbps for mbps in own if mbps is not None), link.mean_mbps
        )
        packet_ms = 8e-3 * scenario.path.mtu_bytes / slowest_mbps
        for name, (value, enough) in qdisc.short_thresholds(given, packet_ms).items():
            default = "" if name in given else " by default"
            where = f"{scenario.path.link_name(i)}.qdisc_options.{name}"
            lines.append(
                f"{where} is {value:g}{default}, but a packet takes {packet_ms:.3g} ms at "
                f"{slowest_mbps:g} Mbit/s: every packet that waits for another is marked, so that "
                f"flows that react to marks starve: set {name} = {enough:.3g}"
            )
    return tuple(lines)
