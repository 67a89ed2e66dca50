# SPDX-License-Identifier: Apache-2.0
"""A network of switches in the interpreter, in virtual time."""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

from ccbench.datacenter.p4.implementation import (
    DRIVER_PORT,
    HOLDING_PORT,
    RECIRCULATION_PORT,
    RECIRCULATION_SESSION,
)
from ccbench.datacenter.p4.interpreter import Machine, Sent
from ccbench.datacenter.p4.loop.run import LoopResult, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.datacenter.p4.loop.topology import LoopTopology
    from ccbench.datacenter.p4.program import Program

__all__ = ["InterpretedNetwork", "run_interpreted"]


class InterpretedNetwork:
    """Switches without processing time, and cables with the topology's delay.

    Parameters
    ----------
    program : Program
        The program of the switches.
    topology : LoopTopology
        Their connections and configuration.

    Attributes
    ----------
    machines : dict of str to Machine
        The switches.
    """

    def __init__(self, program: Program, topology: LoopTopology) -> None:
        self.machines: dict[str, Machine] = {}
        for name, setup in topology.switches.items():
            machine = Machine(program, {RECIRCULATION_SESSION: RECIRCULATION_PORT})
            setup.configure(machine)
            self.machines[name] = machine
        self._topology = topology
        self._now_s = 0.0
        self._order = count()
        # Time, tie-breaker, switch, whether the packet arrives there (or leaves it), packet.
        self._events: list[tuple[float, int, str, bool, Sent]] = []

    def now(self) -> float:
        """Return the virtual time in seconds."""
        return self._now_s

    def send(self, switch: str, port: int, data: bytes) -> None:
        """Process a packet that arrives at a port of a switch, as far as possible."""
        machine, time_us = self.machines[switch], int(self._now_s * 1e6)
        waiting = machine.ingress(data, port, time_us)
        while waiting:
            left, following = machine.egress(waiting.pop(0), time_us)
            waiting += following
            for sent in left:
                self._put_on_wire(switch, sent)

    def listen(self, until_s: float) -> Sequence[tuple[str, Sent]]:
        """Return the next packet for a host or driver up to `until_s`, if any."""
        while self._events and self._events[0][0] <= until_s:
            self._now_s, _, switch, arrives, sent = heapq.heappop(self._events)
            if not arrives:
                return [(switch, sent)]
            self.send(switch, sent.port, sent.data)
        self._now_s = max(self._now_s, until_s)
        return []

    def _put_on_wire(self, switch: str, sent: Sent) -> None:
        delay_s = 0.0 if sent.port in (DRIVER_PORT, HOLDING_PORT) else self._topology.delay_s
        end = self._topology.links.get((switch, sent.port))
        if end is not None:
            switch, sent = end[0], Sent(end[1], sent.data)
        event = (self._now_s + delay_s, next(self._order), switch, end is not None, sent)
        heapq.heappush(self._events, event)


def run_interpreted(
    program: Program, topology: LoopTopology, seconds: float, *, stops: bool = True
) -> LoopResult:
    """Run a topology in the interpreter.

    Parameters
    ----------
    program : Program
        The program of the switches.
    topology : LoopTopology
        The network.
    seconds : float
        Duration of sending, in virtual time.
    stops : bool
        Whether pauses stop queues.
    """
    return run(InterpretedNetwork(program, topology), topology, seconds, stops=stops)
