# SPDX-License-Identifier: Apache-2.0
"""A switch of the simulator as a form of the switch: the simulator's own code, one call at a time.

Some of what the reference does the simulator leaves out, as it changes nothing there: no pause or
resume gets lost on its links, so there are no bitmaps; every neighbour speaks BFC; shortest ways
through a Clos close no cycle, so all pairs of ports have backpressure. Labelled incast flows have a
queue set aside, where the reference gives them an entry of the flow table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench import _native
from ccbench.base.errors import InputError
from ccbench.datacenter.switch import EVERY_PACKET, Bitmap, Packet, Settings, Signal, draws
from ccbench.datacenter.vectors import Answer, Departure, Refresh

if TYPE_CHECKING:
    from ccbench.datacenter.vectors import Scenario

__all__ = ["Simulated", "left_out"]


def left_out(scenario: Scenario) -> str | None:
    """Return what a scenario asks for that the simulator leaves out, in a word; None if nothing."""
    if scenario.settings.no_backpressure:
        return "pairs of ports without backpressure"
    for step in scenario.steps:
        happens = step.happens
        if isinstance(happens, Bitmap | Refresh):
            return "bitmaps"
        if isinstance(happens, Packet):
            if happens.incast:
                return "incast labels"
            named = happens.upstream_queue
            if named is None or named >= scenario.settings.upstream_queues:
                return "packets that name no queue"
        if isinstance(happens, Signal) and happens.queue >= scenario.settings.data_queues:
            return "pauses of a queue that cannot exist"
    return None


class Simulated:
    """A switch of the simulator, as a :class:`~ccbench.datacenter.vectors.Form`.

    Parameters
    ----------
    settings : Settings
        What it is configured with; speeds are whole numbers.

    Raises
    ------
    InputError
        If the simulator has no such switch.
    """

    def __init__(self, settings: Settings) -> None:
        if settings.no_backpressure or any(speed % 1 for speed in settings.speeds_mbps):
            raise InputError(
                "the simulator knows no pairs of ports without backpressure, and whole speeds_mbps "
                f"only: there are {sorted(settings.no_backpressure)} and {settings.speeds_mbps}"
            )
        self._switch = _native.DatacenterSwitch(
            queues=settings.data_queues,
            table_entries=settings.flow_entries,
            # Half a nanosecond more, so that rounding does not make it less.
            sticky_hops=(settings.sticky_ns + 0.5) / settings.hrtt_ns,
            sampling=settings.sampled / EVERY_PACKET,
            skip_paused=settings.skip_paused,
            rates_mbps=[int(speed) for speed in settings.speeds_mbps],
            delay_ps=settings.hrtt_ns * 1000 // 2,
        )
        self._settings = settings
        self._draws = draws(settings.seed)
        self._packets: list[int] = []

    def answer(self, at_ns: int, happens: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Let it happen and say what the simulator made of it.

        Raises
        ------
        InputError
            If the simulator has no such thing.
        """
        now_ps = at_ns * 1000
        if isinstance(happens, Packet):
            return self._enqueue(now_ps, happens)
        if isinstance(happens, Departure):
            self._switch.dequeue(now_ps, self._packets[happens.packet])
            return Answer(signals=self._signals())
        if isinstance(happens, Signal):
            self._switch.receive(now_ps, happens.kind == "pause", happens.port, happens.queue)
            return Answer(paused=frozenset(self._switch.paused(happens.port)))
        raise InputError(f"the simulator has no {happens}: ask left_out() first")

    def _enqueue(self, now_ps: int, packet: Packet) -> Answer:
        if packet.incast or packet.upstream_queue is None:
            raise InputError(f"the simulator has no {packet}: ask left_out() first")
        entries = self._settings.flow_entries
        draw = next(self._draws)
        sampled = draw >> 16 < self._settings.sampled
        number, queue = self._switch.enqueue(
            now_ps=now_ps,
            # The simulator takes the part of the table that a hash falls into.
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
