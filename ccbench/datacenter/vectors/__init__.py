# SPDX-License-Identifier: Apache-2.0
r"""Test vectors for implementations of the switch: packets and the expected decisions.

:func:`rules` returns short hand-written scenarios, one per rule of the thesis;
:func:`random_scenarios` generates long random ones, with the answers of the reference,
:class:`~ccbench.datacenter.switch.Switch`. :func:`check` runs a scenario through an implementation.

The format, version 1, is JSON lines. The first line is ``{"format": "bfc-vectors", "version": 1}``.
A line with "scenario" begins a scenario: its name, the rule it tests ("why"), and the "settings" of
the switch, with the names of :class:`~ccbench.datacenter.switch.Settings`. Each following line is
one step: "at_ns", a multiple of 1000 ns, one event, and the answer. Steps are in the order in which
the switch processes them; "at_ns" is the timestamp used, and may decrease where a packet was
stamped on arrival and then waited:

=========== ======================================== =============================================
event       content                                  answer
=========== ======================================== =============================================
"enqueue"   a packet: "flow" as [source,             "queue" that it joins; "signals" sent, each
            destination, source port, destination    ["pause" or "resume", port, queue], default
            port] and, if it is not UDP, protocol;   []; "sampled", default true
            "ingress", "egress", "length_bytes",
            "upstream_queue" (or null), if labelled
            "incast": true, if not "whole" its
            "shape"
"dequeue"   the number of the packet that leaves,    "signals", default []
            from 0 in order of arrival
"receive"   ["pause" or "resume", port, queue], or   "paused": the paused queues of the port
            ["bitmap", port, [queues]]               afterwards
"refresh"   a port                                   "bitmap": the queues named in the packet
=========== ======================================== =============================================

Packets other than IPv4 have the flow [0, 0, 0, 0, 0]. Packets of a queue leave in order of arrival.
"""

from ccbench.datacenter.vectors.implementation import Reference, SwitchImplementation, check
from ccbench.datacenter.vectors.random_vectors import random_scenarios
from ccbench.datacenter.vectors.scenario import (
    Answer,
    Departure,
    Refresh,
    SwitchScenario,
    VectorStep,
)
from ccbench.datacenter.vectors.text import VERSION, dumps, loads, rules

__all__ = [
    "VERSION",
    "Answer",
    "Departure",
    "Reference",
    "Refresh",
    "SwitchImplementation",
    "SwitchScenario",
    "VectorStep",
    "check",
    "dumps",
    "loads",
    "random_scenarios",
    "rules",
]
