# SPDX-License-Identifier: Apache-2.0
"""Checks of a running switch with closely spaced packets.

These are not test vectors, because the switch decides when it processes a packet. Each check
returns the fault in one line, or None.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from ccbench.datacenter.p4.implementation import (
    DRIVER_PORT,
    RECIRCULATION_PORT,
    configure,
    data_packet,
    queue_named,
    read_message,
    refresh_packet,
)
from ccbench.datacenter.switch import Bitmap, Flow, Packet, Settings, Signal

if TYPE_CHECKING:
    from ccbench.datacenter.p4.interpreter import Sent
    from ccbench.datacenter.p4.live import Live

__all__ = ["LOADS", "keeps_queues", "recovers_lost_headers"]

#: Tested loads in packets/s, below the capacity of BMv2 on a busy machine.
LOADS = (600, 1500)

_SECONDS = 6.0
_BURST = 10  # closely spaced packets of a flow
_SPREAD = 0.4  # duration of a burst as a share of the interval between bursts
_ENOUGH = 0.9  # share of the packets that even a busy machine forwards
_FLOWS = 6  # fewer than queues, so that each has its own
_SILENCE_S = 0.5
_NUMBER = 4  # bytes of the packet's number, at its end


def keeps_queues(switch: Live, packets_per_s: int) -> str | None:
    """Check that flows retain their queues during bursts within the flows' sticky time.

    The gaps within a burst grow, so that some packets arrive just when the header of the preceding
    packet returns.

    Parameters
    ----------
    switch : Live
        The switch, just reset.
    packets_per_s : int
        Number of packets per second, for six seconds.

    Returns
    -------
    str or None
        Number of packets that left a queue other than that of their flow's first packet.
    """
    settings = Settings(
        speeds_mbps=(1000,) * 2, queues=8, hrtt_ns=10**9, sticky_ns=int((_SECONDS + 60) * 1e9)
    )
    configure(switch, settings)
    switch.command("set_queue_depth 1000 1")
    count = int(packets_per_s * _SECONDS)
    packets = [data_packet(Packet(flow=Flow(1, 2, i, 80), ingress=0, egress=1, length_bytes=100))
               for i in range(_FLOWS)]  # fmt: skip
    sent: list[Sent] = []
    start = time.monotonic()
    for number in range(count):
        burst, nth = divmod(number, _BURST)
        after = burst + _SPREAD * (nth / _BURST) ** 2
        _listen(switch, sent, until=start + after * _BURST / packets_per_s)
        data = packets[burst % _FLOWS]
        switch.send(0, data[:-_NUMBER] + number.to_bytes(_NUMBER, "big"))
    _listen(switch, sent, until=time.monotonic() + _SILENCE_S)
    queues: dict[int, list[int]] = defaultdict(list)
    for packet in sent:
        if packet.port == 1 and read_message(packet) is None:
            number = int.from_bytes(packet.data[-_NUMBER:], "big")
            queues[number // _BURST % _FLOWS].append(queue_named(packet))
    arrived = sum(map(len, queues.values()))
    changed = sum(queue != of_flow[0] for of_flow in queues.values() for queue in of_flow)
    if changed:
        return f"{changed} of {arrived} packets left a queue other than their flow's first"
    if arrived < _ENOUGH * count:
        return f"{arrived} of {count} packets were forwarded: the machine is too busy"
    return None


def recovers_lost_headers(switch: Live) -> str | None:
    """Check that the switch recovers from the loss of recirculated headers.

    Three packets congest a queue while the recirculation port drops everything. Once they have
    left, the refresh resumes their upstream queue; afterwards pauses and resumes work again, and
    after a second without packets the flow loses its queue.
    """
    settings = Settings(speeds_mbps=(1, 1), queues=4, upstream_queues=8, hrtt_ns=10**6)
    configure(switch, settings)
    packet = data_packet(Packet(flow=Flow(1, 2, 3, 4), ingress=0, egress=1, upstream_queue=5))
    switch.command(f"set_queue_depth 0 {RECIRCULATION_PORT}")
    switch.command("set_queue_rate 4 1")
    try:
        sent = _exchange(switch, 0.1, *[(0, packet)] * 3)
        waiting = _exchange(switch, 0.1, (DRIVER_PORT, refresh_packet(0)))
        sent += waiting + _exchange(switch, 1.5)
    finally:
        switch.reset_queues()
    if _queues(sent) != [0, 0, 0] or _messages(waiting) != [Bitmap(0, frozenset({5}))]:
        return f"three packets left queues {_queues(sent)}; the switch sent {_messages(waiting)}"
    after = _messages(_exchange(switch, 0.5, (DRIVER_PORT, refresh_packet(0))))
    if after != [Bitmap(0, frozenset())]:
        return f"after all packets left and their headers were lost, the refresh is {after}"
    time.sleep(1)
    sent = _exchange(switch, 0.5, (0, packet))
    if _messages(sent) != [Signal("pause", 0, 5), Signal("resume", 0, 5)]:
        return f"the next packet made the switch send {_messages(sent)}"
    if _queues(sent) != [1]:
        return f"a second later the flow's next packet left queue {_queues(sent)}, not 1"
    return None


def _exchange(switch: Live, seconds: float, *packets: tuple[int, bytes]) -> list[Sent]:
    """Send packets to ports, and return the packets received within `seconds`."""
    for port, packet in packets:
        switch.send(port, packet)
    sent: list[Sent] = []
    _listen(switch, sent, until=time.monotonic() + seconds)
    return sent


def _queues(sent: list[Sent]) -> list[int]:
    """Return the queues that packets left at port 1."""
    return [queue_named(each) for each in sent if each.port == 1]


def _messages(sent: list[Sent]) -> list[Signal | Bitmap]:
    """Return the messages to the neighbour at port 0."""
    read = (read_message(each) for each in sent if each.port == 0)
    return [message for message in read if message is not None]


def _listen(switch: Live, sent: list[Sent], *, until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        sent += switch.listen(left)
