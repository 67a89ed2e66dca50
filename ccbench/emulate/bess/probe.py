# SPDX-License-Identifier: Apache-2.0
"""The rate that the link has in fact, before a scenario begins."""

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

#: The service that takes datagrams and does nothing; nothing of a scenario has its port.
_DISCARD = 9
_IP_AND_UDP_BYTES = 28
#: What datagrams begin with, by which they are told apart.
_NUMBER = struct.Struct("!I")

#: As long as it takes to be sure: seconds and packets.
_LEAST_S = 1.0
_LEAST_PACKETS = 200
#: How much more than the link can take is sent, and how often.
_OVERLOAD = 1.5
_TICK_S = 0.001
#: What is on its way arrives in this time.
_REST_S = 0.1


def probe(
    bess: Bess,
    hosts: Mapping[str, int],
    bottleneck: Bottleneck,
    folder: Path,
    waiting: Callable[[], None],
) -> float:
    """Return by how much the link is too fast, as a share, with traffic of our own.

    Parameters
    ----------
    bess : Bess
        With the path, on which nothing else is.
    hosts : mapping
        A process in the network namespace of each host.
    bottleneck : Bottleneck
        Of the path.
    folder : Path
        Where to put packets meanwhile.
    waiting : callable
        Is called often while this takes time.

    Raises
    ------
    RuntimeError
        If too few packets pass to tell.
    """
    taps = dict(zip(("igate", "ogate"), (folder / name for name in files.PROBE), strict=True))
    for gate, file in taps.items():
        file.touch()
        bess.call(pipeline.tap(pipeline.QUEUE, gate, file))
    with inside_namespace_of(hosts["receiver"]):
        sink = socket.socket(type=socket.SOCK_DGRAM)  # without it, there would be answers
    with inside_namespace_of(hosts["sender"]):
        source = socket.socket(type=socket.SOCK_DGRAM)
    with sink, source:
        sink.bind(("", _DISCARD))
        _flood(source, bottleneck, waiting)
        while bess.call(pipeline.queue_status()).count:
            waiting()
            time.sleep(_REST_S)
        time.sleep(_REST_S)
    for gate, file in taps.items():
        bess.call(pipeline.tap(pipeline.QUEUE, gate, file, on=False))
    arrivals, departures = (pcap.read(file) for file in taps.values())
    for file in taps.values():
        file.unlink()
    passed = arrivals[packet_record.seen_later(arrivals, departures)]
    error = rate_error(passed, departures, gaps_ns(departures, bottleneck))
    if error is None:
        raise RuntimeError(
            f"of {len(arrivals)} packets that came to the switch, {len(departures)} passed, and "
            "too few had to wait: it does not work, or this machine cannot send at its rate"
        )
    return error


def _flood(source: socket.socket, bottleneck: Bottleneck, waiting: Callable[[], None]) -> None:
    """Send full packets, faster than the link does."""
    seconds = max(_LEAST_S, _LEAST_PACKETS * bottleneck.packet_ms / 1e3)
    per_s = _OVERLOAD * 1e3 / bottleneck.packet_ms / (1 - bottleneck.loss)
    rest = bytes(OPPORTUNITY_BYTES - _IP_AND_UDP_BYTES - _NUMBER.size)
    start_s, sent = time.monotonic(), 0
    while (elapsed_s := time.monotonic() - start_s) < seconds:
        for number in range(sent, math.ceil(elapsed_s * per_s)):
            source.sendto(_NUMBER.pack(number) + rest, (wires.HOSTS["receiver"], _DISCARD))
            sent = number + 1
        waiting()
        time.sleep(_TICK_S)
