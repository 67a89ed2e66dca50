# SPDX-License-Identifier: Apache-2.0
"""The network of the thesis's testbed (Goyal 2022, Figure 3-6)."""

from __future__ import annotations

from dataclasses import replace

from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.topology import Link, Topology

__all__ = ["BFC", "NETWORK", "RECEIVERS", "SENDERS"]

#: The servers that send the three groups of flows, and the receivers.
SENDERS = (0, 1, 2)
RECEIVERS = (3, 4)
_FIRST, _SECOND, _THIRD = range(5, 8)
_GBPS = 100.0
#: The thesis does not state the delay of its looped-back links. This is the delay of its
#: simulations, with a 1-hop RTT of 2 μs.
_DELAY_US = 1.0

#: Groups 1 and 2 enter at the first switch, group 3 at the third; both receivers are at the second.
#: Receiver 1 receives only group 1.
NETWORK = Topology(
    servers=5,
    switches=3,
    links=tuple(
        Link(a, b, _GBPS, _DELAY_US)
        for a, b in (
            *((SENDERS[0], _FIRST), (SENDERS[1], _FIRST), (SENDERS[2], _THIRD)),
            *((_FIRST, _SECOND), (_THIRD, _SECOND)),
            *((receiver, _SECOND) for receiver in RECEIVERS),
        )
    ),
    capacity_gbps=_GBPS,
)

#: Looped-back ports have 16 queues.
BFC = replace(scheme("bfc"), queues=16)
