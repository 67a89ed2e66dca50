# SPDX-License-Identifier: Apache-2.0
"""Closed-loop experiment: sending hosts, drivers that hold packets, and the results."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Protocol

from ccbench.datacenter.p4.driven import Held
from ccbench.datacenter.p4.implementation import (
    DRIVER_PORT,
    HOLDING_PORT,
    data_packet,
    read_driver_message,
    read_message,
    refresh_packet,
)
from ccbench.datacenter.p4.loop.traffic_manager import TrafficManager
from ccbench.datacenter.switch import Bitmap, Flow, Packet, Signal, pause_threshold_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ccbench.datacenter.p4.interpreter import Sent
    from ccbench.datacenter.p4.loop.topology import Host, LoopTopology, Place

__all__ = ["FlowResult", "LoopResult", "PacketNetwork", "QueueResult", "faults", "run"]

_LENGTH_BYTES = 1000
_REFRESH_S = 0.1
_NUMBER = 4  # bytes of the packet's number, at its end
_WARM_UP = 0.25  # share of the time excluded from rates
_DRAIN_S = 5.0  # time limit for delivery after the last packet was sent
_SILENCE_S = 0.3  # additional time after the last delivery


class PacketNetwork(Protocol):
    """Switches, cables and a clock."""

    def now(self) -> float:
        """Return the time in seconds since the start."""

    def send(self, switch: str, port: int, data: bytes) -> None:
        """Inject a packet at a port of a switch."""

    def listen(self, until_s: float) -> Sequence[tuple[str, Sent]]:
        """Return packets to hosts and drivers, waiting until `until_s` at most."""


@dataclass(frozen=True, kw_only=True)
class FlowResult:
    """The result of a flow.

    Attributes
    ----------
    sender, receiver : str
        Names of its hosts.
    sent, delivered, reordered : int
        Packets; reordered packets arrived after a later one.
    rate_mbps : float
        Delivery rate, excluding the first quarter of the time.
    fair_mbps : float
        Rate of the slowest link on its path.
    """

    sender: str
    receiver: str
    sent: int
    delivered: int
    reordered: int
    rate_mbps: float
    fair_mbps: float


@dataclass(frozen=True, kw_only=True)
class QueueResult:
    """The result of a queue.

    Attributes
    ----------
    switch, port, queue : str, int, int
        Its location.
    longest_bytes : int
        Maximum length.
    threshold_bytes : int
        Pause threshold of the port with one active queue.
    pauses, paused_s : int, float
        Number and total duration of the neighbour's pauses.
    left_while_paused : int
        Packets that left it during pauses.
    """

    switch: str
    port: int
    queue: int
    longest_bytes: int
    threshold_bytes: int
    pauses: int
    paused_s: float
    left_while_paused: int


@dataclass(frozen=True, kw_only=True)
class LoopResult:
    """Results of all flows and queues, and the queues still paused at the end."""

    seconds: float
    flows: tuple[FlowResult, ...]
    queues: tuple[QueueResult, ...]
    paused_at_end: tuple[str, ...]


def faults(result: LoopResult) -> list[str]:
    """Return violations of BFC's guarantees, one line each.

    Violations are packets that are lost, reordered or leave a paused queue, flows that receive less
    than 90 % of the rate of the slowest link on their path, queues that stay paused, and a run
    without any pause.
    """
    violations = [
        f"{flow.sender} to {flow.receiver}: {flow.sent - flow.delivered} of {flow.sent} packets "
        f"did not arrive, {flow.reordered} arrived late"
        for flow in result.flows
        if flow.delivered != flow.sent or flow.reordered
    ]
    violations += [
        f"{flow.sender} to {flow.receiver}: {flow.rate_mbps:.2f} of {flow.fair_mbps:g} Mbit/s"
        for flow in result.flows
        if flow.rate_mbps < 0.9 * flow.fair_mbps
    ]
    violations += [
        f"{queue.switch}: {queue.left_while_paused} packets left queue {queue.queue} of port "
        f"{queue.port} while it was paused"
        for queue in result.queues
        if queue.left_while_paused
    ]
    violations += [f"{name} is still paused" for name in result.paused_at_end]
    if not any(queue.pauses for queue in result.queues):
        violations.append("no queue was ever paused")
    return violations


@dataclass
class _Sender:
    """A flow at its sender's network card, in its own queue."""

    number: int
    sender: Host
    receiver: Host
    interval_s: float
    is_paused: bool = False
    sent: int = 0

    def packet(self) -> bytes:
        """Return the flow's next packet."""
        flow = Flow(self.sender.address, self.receiver.address, 5000 + self.number, 80)
        packet = Packet(flow=flow, ingress=0, egress=0, upstream_queue=self.number)
        data = self.receiver.mac.to_bytes(6, "big") + data_packet(packet)[6:-_NUMBER]
        self.sent += 1
        return data + (self.sent - 1).to_bytes(_NUMBER, "big")


@dataclass
class _Receiver:
    """A flow at its receiver."""

    arrivals_s: list[float] = field(default_factory=list)
    reordered: int = 0
    last: int = -1

    def take(self, data: bytes, now_s: float) -> None:
        """Record a packet of the flow."""
        number = int.from_bytes(data[-_NUMBER:], "big")
        self.reordered += number < self.last
        self.last = max(self.last, number)
        self.arrivals_s.append(now_s)


def run(
    network: PacketNetwork, topology: LoopTopology, seconds: float, *, stops: bool = True
) -> LoopResult:
    """Let all flows send for `seconds`, and wait for their packets to arrive.

    Parameters
    ----------
    network : PacketNetwork
        The configured switches.
    topology : LoopTopology
        The description of the same network.
    seconds : float
        Duration of sending.
    stops : bool
        Whether pauses stop queues; without pauses, their effect becomes visible.
    """
    return _Loop(network, topology, seconds, stops=stops).run()


class _Loop:
    def __init__(
        self, network: PacketNetwork, topology: LoopTopology, seconds: float, *, stops: bool
    ) -> None:
        self._network = network
        self._topology = topology
        self._seconds = seconds
        self._stops = stops
        self._managers = {name: TrafficManager(stops=stops) for name in topology.switches}
        self._busy: set[Place] = set()  # ports that are sending a packet
        # Time, tie-breaker, action. Actions receive the scheduled time, so that delays in real time
        # do not accumulate.
        self._timers: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()
        self._senders = []
        self._receivers = []
        for number, (sender, receiver) in enumerate(topology.flows):
            host = topology.hosts[sender]
            interval_s = _LENGTH_BYTES * 8 / (self._speed(host.place) * 1e6)
            self._senders.append(_Sender(number, host, topology.hosts[receiver], interval_s))
            self._receivers.append(_Receiver())

    def run(self) -> LoopResult:
        """Run until all packets have arrived, or the time limit."""
        for sender in self._senders:
            self._at(0.0, partial(self._send, sender))
        for place in self._upstream_ports():
            self._at(0.0, partial(self._refresh, place))
        end_s = self._seconds + _DRAIN_S
        while (now_s := self._network.now()) < end_s:
            if now_s >= self._seconds and end_s > now_s + _SILENCE_S and self._has_arrived():
                end_s = now_s + _SILENCE_S  # for the last resumes
            while self._timers and self._timers[0][0] <= self._network.now():
                at_s, _, action = heapq.heappop(self._timers)
                action(at_s)
            until_s = min(end_s, self._timers[0][0]) if self._timers else end_s
            for name, sent in self._network.listen(until_s):
                self._hear(name, sent)
        return self._result()

    def _at(self, time_s: float, action: Callable[[float], None]) -> None:
        heapq.heappush(self._timers, (time_s, next(self._order), action))

    def _upstream_ports(self) -> list[Place]:
        """Return the ports with a neighbour to pause: switches and sending hosts."""
        return [*self._topology.links, *{sender.sender.place for sender in self._senders}]

    def _send(self, sender: _Sender, at_s: float) -> None:
        if at_s >= self._seconds:
            return
        if not (sender.is_paused and self._stops):
            self._network.send(*sender.sender.place, sender.packet())
        self._at(at_s + sender.interval_s, partial(self._send, sender))

    def _refresh(self, place: Place, at_s: float) -> None:
        name, port = place
        self._network.send(name, DRIVER_PORT, refresh_packet(port))
        self._at(at_s + _REFRESH_S, partial(self._refresh, place))

    def _hear(self, name: str, sent: Sent) -> None:
        manager = self._managers[name]
        if sent.port == HOLDING_PORT:
            held = Held.read(sent.data)
            manager.hold(held)
            self._serve((name, held.port), self._network.now())
        elif sent.port == DRIVER_PORT:
            received = read_driver_message(sent.data)
            manager.hear(received, self._network.now())
            self._serve((name, received.port), self._network.now())
        elif (message := read_message(sent)) is not None:
            self._hear_at_host(name, message)
        else:
            self._receive(name, sent)

    def _serve(self, place: Place, at_s: float) -> None:
        """Release the next packet of a port unless the port is still sending."""
        name, port = place
        if place in self._busy:
            return
        held = self._managers[name].next(port)
        if held is None:
            return
        self._busy.add(place)
        self._network.send(name, HOLDING_PORT, held.data)
        end_s = at_s + held.length * 8 / (self._speed(place) * 1e6)
        self._at(end_s, partial(self._has_sent, place))

    def _has_sent(self, place: Place, at_s: float) -> None:
        self._busy.discard(place)
        self._serve(place, at_s)

    def _hear_at_host(self, name: str, message: Signal | Bitmap) -> None:
        for sender in self._senders:
            if sender.sender.place != (name, message.port):
                continue
            if isinstance(message, Bitmap):
                sender.is_paused = sender.number in message.queues
            elif message.queue == sender.number:
                sender.is_paused = message.kind == "pause"

    def _receive(self, name: str, sent: Sent) -> None:
        for sender, receiver in zip(self._senders, self._receivers, strict=True):
            if sender.receiver.place == (name, sent.port):
                receiver.take(sent.data, self._network.now())

    def _has_arrived(self) -> bool:
        return all(
            sender.sent == len(receiver.arrivals_s)
            for sender, receiver in zip(self._senders, self._receivers, strict=True)
        )

    def _result(self) -> LoopResult:
        now_s = self._network.now()
        start_s = _WARM_UP * self._seconds
        flows = []
        for sender, receiver in zip(self._senders, self._receivers, strict=True):
            counted = sum(start_s <= at_s < self._seconds for at_s in receiver.arrivals_s)
            flows.append(
                FlowResult(
                    sender=sender.sender.name,
                    receiver=sender.receiver.name,
                    sent=sender.sent,
                    delivered=len(receiver.arrivals_s),
                    reordered=receiver.reordered,
                    rate_mbps=counted * _LENGTH_BYTES * 8e-6 / (self._seconds - start_s),
                    fair_mbps=min(map(self._speed, (sender.sender.place, sender.receiver.place))),
                )
            )
        queues = []
        paused = []
        for name, manager in self._managers.items():
            settings = self._topology.switches[name].settings
            for port, number, queue in manager.queues():
                if queue.paused_since_s is not None:
                    paused.append(f"queue {number} of port {port} of {name}")
                    manager.hear(Signal("resume", port, number), now_s)
                queues.append(
                    QueueResult(
                        switch=name,
                        port=port,
                        queue=number,
                        longest_bytes=queue.longest_bytes,
                        threshold_bytes=pause_threshold_bytes(
                            settings.hrtt_ns, settings.speeds_mbps[port], 1
                        ),
                        pauses=queue.pauses,
                        paused_s=queue.paused_s,
                        left_while_paused=queue.left_while_paused,
                    )
                )
        paused += [
            f"queue {sender.number} of {sender.sender.name}"
            for sender in self._senders
            if sender.is_paused
        ]
        return LoopResult(
            seconds=self._seconds,
            flows=tuple(flows),
            queues=tuple(queues),
            paused_at_end=tuple(paused),
        )

    def _speed(self, place: Place) -> float:
        name, port = place
        return self._topology.switches[name].settings.speeds_mbps[port]
