# SPDX-License-Identifier: Apache-2.0
"""Simulating a data centre packet by packet.

The compiled core (``native/datacenter``) does the work: switches with shared buffers, ECMP, deficit
round robin, PFC and BFC; hosts with Go-Back-N, an ACK for each packet, and DCTCP, DCQCN, HPCC or a
window. The same seed gives the same result, byte for byte, and no simulation ends without all of
its packets having been counted.
"""

from ccbench.datacenter.simulation.result import Simulation
from ccbench.datacenter.simulation.simulator import simulate

__all__ = ["Simulation", "simulate"]
