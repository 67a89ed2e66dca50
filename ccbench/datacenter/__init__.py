# SPDX-License-Identifier: Apache-2.0
"""BFC, backpressure flow control: a switch pauses single queues of its upstream neighbours.

:mod:`ccbench.datacenter.switch` is the reference: what one switch decides for each packet.
:mod:`ccbench.datacenter.vectors` holds packets with the decisions that every form of the switch
must make; :mod:`ccbench.datacenter.p4` runs them through the P4 program,
:mod:`ccbench.datacenter.simulated` through the simulator's switch.

The simulator (:mod:`ccbench.datacenter.simulation`) is about whole data centres: a network
(:mod:`.topology`), its traffic (:mod:`.workload`) and what switches and senders do
(:mod:`.scheme`), BFC or a rival. :mod:`.case` runs several side by side, :mod:`.store` keeps them.
"""
