# SPDX-License-Identifier: Apache-2.0
"""Closed loop of two switches: pauses of one stop individual queues of the other.

v1model cannot stop a queue, so the driver of each switch acts as its traffic manager
(:mod:`.traffic_manager`). :mod:`.topology` reads hosts, cables and table entries from ``p4/loop``.
:mod:`.run` sends from hosts and reports the results, in one of two networks: switches in the
interpreter in virtual time (:mod:`.interpreted`), or BMv2's ``simple_switch`` in real time
(:mod:`.live_network`, started by :mod:`.bmv2`).
"""

from ccbench.datacenter.p4.loop.bmv2 import run_on_bmv2
from ccbench.datacenter.p4.loop.interpreted import run_interpreted
from ccbench.datacenter.p4.loop.run import FlowResult, LoopResult, QueueResult, faults
from ccbench.datacenter.p4.loop.topology import LoopTopology, load_topology

__all__ = [
    "FlowResult",
    "LoopResult",
    "LoopTopology",
    "QueueResult",
    "faults",
    "load_topology",
    "run_interpreted",
    "run_on_bmv2",
]
