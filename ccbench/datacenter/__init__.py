# SPDX-License-Identifier: Apache-2.0
"""Backpressure flow control (BFC) and the simulation of data centres.

BFC switches pause individual queues of their upstream neighbours. :mod:`ccbench.datacenter.switch`
is the reference model of one switch; :mod:`ccbench.datacenter.vectors` holds test vectors for any
implementation of it. :mod:`ccbench.datacenter.p4` runs them through the P4 program,
:mod:`ccbench.datacenter.simulated` through the simulator's switch.

The simulator (:mod:`ccbench.datacenter.simulation`) covers whole data centres: the network
(:mod:`.topology`), its traffic (:mod:`.workload`), and the behaviour of switches and senders
(:mod:`.scheme`), BFC or an alternative. :mod:`.case` runs several simulations in parallel,
:mod:`.store` keeps their results.
"""
