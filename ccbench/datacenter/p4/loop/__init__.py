# SPDX-License-Identifier: Apache-2.0
"""Two switches in a closed loop: pauses of one stop single queues of the other.

v1model cannot stop a queue, so the driver of each switch is its traffic manager
(:mod:`.traffic_manager`). :mod:`.topology` reads hosts, cables and table entries from ``p4/loop``,
:mod:`.run` lets hosts send and says what became of it, in one of two networks: switches in the
interpreter in virtual time (:mod:`.interpreted`), or BMv2's ``simple_switch`` in real time
(:mod:`.live_network`, started by :mod:`.bmv2`).
"""

from ccbench.datacenter.p4.loop.bmv2 import run_on_bmv2
from ccbench.datacenter.p4.loop.interpreted import run_interpreted
from ccbench.datacenter.p4.loop.run import FlowResult, LoopResult, QueueResult, faults
from ccbench.datacenter.p4.loop.topology import Topology, load_topology

__all__ = [
    "FlowResult",
    "LoopResult",
    "QueueResult",
    "Topology",
    "faults",
    "load_topology",
    "run_interpreted",
    "run_on_bmv2",
]
