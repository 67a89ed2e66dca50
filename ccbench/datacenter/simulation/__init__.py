# SPDX-License-Identifier: Apache-2.0
"""Packet-level simulation of data centres.

The compiled core (``native/datacenter``) implements switches with shared buffers, ECMP, deficit
round robin, PFC and BFC, and hosts with Go-Back-N, per-packet ACKs, and DCTCP, DCQCN, HPCC or a
fixed window. Equal seeds give identical results, and every simulation accounts for all of its
packets before it ends.
"""

from ccbench.datacenter.simulation.result import Simulation
from ccbench.datacenter.simulation.simulator import simulate

__all__ = ["Simulation", "simulate"]
