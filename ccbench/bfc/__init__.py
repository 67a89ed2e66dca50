# SPDX-License-Identifier: Apache-2.0
"""BFC, backpressure flow control: a switch pauses single queues of its upstream neighbours.

:mod:`ccbench.bfc.switch` is the reference: what one switch decides for each packet.
:mod:`ccbench.bfc.vectors` holds packets with the decisions that every form of the switch must make,
and :mod:`ccbench.bfc.p4` runs them through the P4 program.
"""
