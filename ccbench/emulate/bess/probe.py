# SPDX-License-Identifier: Apache-2.0
"""Measurement of the link's rate before a scenario starts."""

from __future__ import annotations

import math
import socket
import struct
import time
from typing import TYPE_CHECKING

from ccbench.emulate.bess import files, pcap, pipeline, wires
from ccbench.emulate.bess.records import gaps_ns, rate_error
from ccbench.emulate.realtime import packet_record
from ccbench.emulate.realtime.namespaces import inside_namespace_of
from ccbench.experiment.trace import OPPORTUNITY_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ccbench.emulate.bess.client import Bess
    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["probe"]

#: Port of the discard service, which no flow of a scenario uses.
_DISCARD = 9
_IP_AND_UDP_BYTES = 28
#: Sequence number at the start of each datagram, which identifies it.
_NUMBER = struct.Struct("!I")

#: Minimum duration in seconds and number of packets of a measurement.
_MIN_S = 1.0
_MIN_PACKETS = 200
#: Offered load relative to the link's rate, and interval of sending in seconds.
_OVERLOAD = 1.5
_TICK_S = 0.001
#: Time for packets in flight to arrive, in seconds.
_DRAIN_S = 0.1


def probe(
    bess: Bess,
    hosts: Mapping[str, int],
    bottleneck: Bottleneck,
    folder: Path,
    waiting: Callable[[], None],
) -> float:
    """Return the relative error of the link's rate, measured with test traffic.

    Parameters
    ----------
    bess : Bess
        The switch, without other traffic.
    hosts : mapping
        A process in the network namespace of each host.
    bottleneck : Bottleneck
        The bottleneck of the path.
    folder : Path
        Folder for temporary captures.
    waiting : callable
        Called often during the measurement.

    Raises
    ------
    RuntimeError
        If too few packets pass for an estimate.
    """
    taps = dict(zip(("igate", "ogate"), (folder / name for name in files.PROBE), strict=True))
    for gate, file in taps.items():
        file.touch()
        bess.call(pipeline.tap(pipeline.QUEUE, gate, file))
    with inside_namespace_of(hosts["receiver"]):
        sink = socket.socket(type=socket.SOCK_DGRAM)  # prevents ICMP errors
    with inside_namespace_of(hosts["sender"]):
        source = socket.socket(type=socket.SOCK_DGRAM)
    with sink, source:
        sink.bind(("", _DISCARD))
        _flood(source, bottleneck, waiting)
        while bess.call(pipeline.queue_status()).count:
            waiting()
            time.sleep(_DRAIN_S)
        time.sleep(_DRAIN_S)
    for gate, file in taps.items():
        bess.call(pipeline.tap(pipeline.QUEUE, gate, file, on=False))
    arrivals, departures = (pcap.read(file) for file in taps.values())
    for file in taps.values():
        file.unlink()
    passed = arrivals[packet_record.seen_later(arrivals, departures)]
    error = rate_error(passed, departures, gaps_ns(departures, bottleneck))
    if error is None:
        raise RuntimeError(
            f"{len(departures)} of {len(arrivals)} packets passed the switch, and too few were "
            "queued: it does not work, or this machine cannot send at its rate"
        )
    return error


def _flood(source: socket.socket, bottleneck: Bottleneck, waiting: Callable[[], None]) -> None:
    """Send full packets above the link's rate."""
    seconds = max(_MIN_S, _MIN_PACKETS * bottleneck.packet_ms / 1e3)
    per_s = _OVERLOAD * 1e3 / bottleneck.packet_ms / (1 - bottleneck.loss)
    padding = bytes(OPPORTUNITY_BYTES - _IP_AND_UDP_BYTES - _NUMBER.size)
    start_s, sent = time.monotonic(), 0
    while (elapsed_s := time.monotonic() - start_s) < seconds:
        for number in range(sent, math.ceil(elapsed_s * per_s)):
            source.sendto(_NUMBER.pack(number) + padding, (wires.HOSTS["receiver"], _DISCARD))
            sent = number + 1
        waiting()
        time.sleep(_TICK_S)
