# SPDX-License-Identifier: Apache-2.0
"""The simulator's switch as an implementation for test vectors, one call of its code at a time.

The simulator omits parts of the reference that have no effect in it: its links lose no pause or
resume, so there are no bitmaps; every neighbour supports BFC; shortest paths through a Clos network
form no cycle, so all pairs of ports have backpressure. Labelled incast flows have a dedicated
queue, where the reference gives them an entry of the flow table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench import _native
from ccbench.base.errors import InputError
from ccbench.datacenter.switch import EVERY_PACKET, Bitmap, Packet, Settings, Signal, draws
from ccbench.datacenter.vectors import Answer, Departure, Refresh

if TYPE_CHECKING:
    from ccbench.datacenter.vectors import SwitchScenario

__all__ = ["Simulated", "unsupported"]


def unsupported(scenario: SwitchScenario) -> str | None:
    """Return a scenario's feature that the simulator lacks, in a word; None if there is none."""
    if scenario.settings.no_backpressure:
        return "pairs of ports without backpressure"
    for step in scenario.steps:
        event = step.event
        if isinstance(event, Bitmap | Refresh):
            return "bitmaps"
        if isinstance(event, Packet):
            if event.incast:
                return "incast labels"
            upstream_queue = event.upstream_queue
            if upstream_queue is None or upstream_queue >= scenario.settings.upstream_queues:
                return "packets that name no queue"
        if isinstance(event, Signal) and event.queue >= scenario.settings.data_queues:
            return "pauses of a queue that cannot exist"
    return None


class Simulated:
    """A switch of the simulator, as a :class:`~ccbench.datacenter.vectors.SwitchImplementation`.

    Parameters
    ----------
    settings : Settings
        The switch's configuration; speeds are whole numbers.

    Raises
    ------
    InputError
        If the simulator does not support it.
    """

    def __init__(self, settings: Settings) -> None:
        if settings.no_backpressure or any(speed % 1 for speed in settings.speeds_mbps):
            raise InputError(
                f"no_backpressure is {sorted(settings.no_backpressure)} and speeds_mbps is "
                f"{settings.speeds_mbps}; the simulator has no pairs of ports without backpressure "
                "and needs whole speeds_mbps: ask unsupported() first"
            )
        self._switch = _native.DatacenterSwitch(
            queues=settings.data_queues,
            table_entries=settings.flow_entries,
            # Plus half a nanosecond against rounding down.
            sticky_hops=(settings.sticky_ns + 0.5) / settings.hrtt_ns,
            sampling=settings.sampled / EVERY_PACKET,
            skip_paused=settings.skip_paused,
            rates_mbps=[int(speed) for speed in settings.speeds_mbps],
            delay_ps=settings.hrtt_ns * 1000 // 2,
        )
        self._settings = settings
        self._draws = draws(settings.seed)
        self._packets: list[int] = []

    def answer(self, at_ns: int, event: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Process an event and return the simulator's answer.

        Raises
        ------
        InputError
            If the simulator does not support the event.
        """
        now_ps = at_ns * 1000
        if isinstance(event, Packet):
            return self._enqueue(now_ps, event)
        if isinstance(event, Departure):
            self._switch.dequeue(now_ps, self._packets[event.packet])
            return Answer(signals=self._signals())
        if isinstance(event, Signal):
            self._switch.receive(now_ps, event.kind == "pause", event.port, event.queue)
            return Answer(paused=frozenset(self._switch.paused(event.port)))
        raise InputError(f"the simulator has no {event}: ask unsupported() first")

    def _enqueue(self, now_ps: int, packet: Packet) -> Answer:
        if packet.incast or packet.upstream_queue is None:
            raise InputError(f"the simulator has no {packet}: ask unsupported() first")
        entries = self._settings.flow_entries
        draw = next(self._draws)
        sampled = draw >> 16 < self._settings.sampled
        number, queue = self._switch.enqueue(
            now_ps=now_ps,
            # The simulator divides the range of hashes by the number of entries.
            flow_hash=-(-(packet.flow.entry(entries) << 32) // entries),
            ingress=packet.ingress,
            egress=packet.egress,
            length_bytes=packet.length_bytes,
            upstream_queue=packet.upstream_queue,
            sampled=sampled,
            random_queue=(draw & 0xFFFF) * self._settings.data_queues >> 16,
        )
        self._packets.append(number)
        return Answer(queue=queue, sampled=sampled, signals=self._signals())

    def _signals(self) -> tuple[Signal, ...]:
        return tuple(
            Signal("pause" if pause else "resume", port, queue)
            for pause, port, queue in self._switch.sent()
        )
