# SPDX-License-Identifier: Apache-2.0
r"""Test vectors: packets in, decisions out, which every form of the switch must give.

:func:`rules` are short scenarios written by hand from the thesis's rules, one sentence each;
:func:`random_scenarios` are long ones made by chance, with the answers of the reference,
:class:`~ccbench.datacenter.switch.Switch`. :func:`check` runs a scenario through a form.

The format, version 1, is JSON lines. The first line is ``{"format": "bfc-vectors", "version": 1}``.
A line with "scenario" begins one: its name, "why" it is there, and the "settings" of the switch, by
the names of :class:`~ccbench.datacenter.switch.Settings`. Each line after it is one step: "at_ns",
a multiple of 1000 ns, one thing that happens, and the answer. Steps are in the order in which the
switch processes them; "at_ns" is the time that it processes them with, and may go back where a
packet was stamped on arrival and had to wait:

=========== ======================================== =============================================
happens     what it carries                          answer
=========== ======================================== =============================================
"enqueue"   a packet: "flow" as [source,             "queue" that it joins; "signals" sent, each
            destination, source port, destination    ["pause" or "resume", port, queue], default
            port] and, if it is not UDP, protocol;   []; "sampled", default true
            "ingress", "egress", "length_bytes",
            "upstream_queue" (or null), if labelled
            "incast": true, if not "whole" its
            "shape"
"dequeue"   which packet leaves: 0 is the first of   "signals", default []
            the scenario
"receive"   ["pause" or "resume", port, queue], or   "paused": the queues of the port that are
            ["bitmap", port, [queues]]               paused afterwards
"refresh"   a port                                   "bitmap": the queues named in the packet
=========== ======================================== =============================================

The flow [0, 0, 0, 0, 0] is that of packets that are not IPv4. Packets of one queue leave in the
order in which they came.
"""

from ccbench.datacenter.vectors.chance import random_scenarios
from ccbench.datacenter.vectors.form import Form, Reference, check
from ccbench.datacenter.vectors.scenario import Answer, Departure, Refresh, Scenario, Step
from ccbench.datacenter.vectors.text import VERSION, dumps, loads, rules

__all__ = [
    "VERSION",
    "Answer",
    "Departure",
    "Form",
    "Reference",
    "Refresh",
    "Scenario",
    "Step",
    "check",
    "dumps",
    "loads",
    "random_scenarios",
    "rules",
]
