# SPDX-License-Identifier: Apache-2.0
"""The rate that the link has in fact, before a scenario begins."""

from __future__ import annotations

import math
import socket
import time
from typing import TYPE_CHECKING

import numpy as np

from ccbench.emulate.bess import pcap, pipeline, wires
from ccbench.emulate.realtime.namespaces import inside_namespace_of
from ccbench.trace import OPPORTUNITY_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ccbench.bottleneck import Bottleneck
    from ccbench.emulate.bess.client import Bess

__all__ = ["measured_mbps"]

#: The service that takes datagrams and does nothing; nothing of a scenario has its port.
_DISCARD = 9
_IP_AND_UDP_BYTES = 28

#: As long as it takes to be sure: seconds and packets.
_LEAST_S = 0.5
_LEAST_PACKETS = 30
#: How much more than the link can take is sent, and how often.
_OVERLOAD = 1.5
_TICK_S = 0.001
#: What is on its way arrives in this time.
_REST_S = 0.1


def measured_mbps(
    bess: Bess, hosts: Mapping[str, int], bottleneck: Bottleneck, file: Path
) -> float:
    """Measure the rate of a link in Mbit/s of IP bytes of full packets.

    Parameters
    ----------
    bess : Bess
        With the path, on which nothing else is.
    hosts : mapping
        A process in the network namespace of each host.
    bottleneck : Bottleneck
        Of the path.
    file : Path
        For the packets; it is not there yet.

    Raises
    ------
    RuntimeError
        If hardly a packet passes.
    """
    assert bottleneck.queue_packets is not None
    file.touch()
    bess.call(pipeline.tap(pipeline.QUEUE, "ogate", file))
    with inside_namespace_of(hosts["receiver"]):
        sink = socket.socket(type=socket.SOCK_DGRAM)  # without it, there would be answers
    with inside_namespace_of(hosts["sender"]):
        source = socket.socket(type=socket.SOCK_DGRAM)
    with sink, source:
        sink.bind(("", _DISCARD))
        _flood(source, bottleneck)
        time.sleep(_REST_S + bottleneck.queue_packets * bottleneck.packet_ms / 1e3)
    bess.call(pipeline.tap(pipeline.QUEUE, "ogate", file, on=False))
    times_ns = pcap.read(file)["time_ns"]
    file.unlink()
    if len(times_ns) < _LEAST_PACKETS / 2:
        raise RuntimeError(f"only {len(times_ns)} packets passed the switch: it does not work")
    packet_bits = 8 * OPPORTUNITY_BYTES
    return float(packet_bits * 1e3 / np.diff(times_ns).mean())


def _flood(source: socket.socket, bottleneck: Bottleneck) -> None:
    """Send full packets, faster than the link does."""
    seconds = max(_LEAST_S, _LEAST_PACKETS * bottleneck.packet_ms / 1e3)
    per_s = _OVERLOAD * 1e3 / bottleneck.packet_ms
    payload = bytes(OPPORTUNITY_BYTES - _IP_AND_UDP_BYTES)
    start_s, sent = time.monotonic(), 0
    while (elapsed_s := time.monotonic() - start_s) < seconds:
        due = math.ceil(elapsed_s * per_s)
        for _ in range(due - sent):
            source.sendto(payload, (wires.HOSTS["receiver"], _DISCARD))
        sent = due
        time.sleep(_TICK_S)
