# SPDX-License-Identifier: Apache-2.0
"""A scenario's path as what BESS is to be asked for, in order: data only.

Sender and receiver are ports. From the sender, packets pass random losses and the queue; the queue
is emptied at the link's rate. From the receiver, they pass a delay if this BESS has one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from ccbench.base import validation
from ccbench.experiment.trace import OPPORTUNITY_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ccbench.experiment.bottleneck import Bottleneck

__all__ = [
    "DELAY_MODULE",
    "FRAME_BYTES",
    "LOSS",
    "QUEUE",
    "Call",
    "check_bottleneck",
    "counted_in_places",
    "limit_bps",
    "path",
    "queue_status",
    "tap",
]

#: A call of BESS's service: its name, and the request as JSON has it.
Call: TypeAlias = tuple[str, dict[str, Any]]

#: What a packet of IP is more on the link: the Ethernet header, and what BESS's traffic classes
#: count for preamble, checksum and the gap between frames. So full packets have the scenario's
#: rate; smaller ones pay relatively more.
FRAME_BYTES = 14 + 24

#: Of a few builds of BESS; the published one has no module that delays.
DELAY_MODULE = "QueueDelay"

#: Names of modules.
QUEUE, LOSS = "queue", "loss"
_LINK = "link"

_SMALLEST, _LARGEST = 4, 16_384
#: Packets that may be on their way back. Of the sizes that BESS allows, the largest.
_DELAYED_PACKETS = _LARGEST
_ANY_WORKER = -1

#: Packets that may wait at a port until BESS takes them; a window of TCP comes at once.
_RING_PACKETS = 4_096


def check_bottleneck(bottleneck: Bottleneck) -> None:
    """Check that BESS can be this bottleneck.

    Raises
    ------
    InputError
        If it cannot.
    """
    with validation.within("bottlenecks[0]."):
        validation.one_of("qdisc", bottleneck.qdisc, ("droptail",))
        if bottleneck.trace is not None:
            allowed = "left out with the engine bess, whose links have constant rates"
            step = "write bandwidth_mbps, or use another engine"
            raise validation.bad("trace", bottleneck.trace.name, allowed, step)
        packets = bottleneck.queue_packets
        assert packets is not None
        size = packets + 1
        if size & packets or not _SMALLEST <= size <= _LARGEST:
            nearest = min(
                (2**power - 1 for power in range(2, 15)), key=lambda held: abs(held - packets)
            )
            allowed = "a power of two less one (3, 7, 15, … 16383) with the engine bess"
            step = f"write for example queue_packets = {nearest}"
            raise validation.bad("queue_packets", packets, allowed, step)


def counted_in_places(bottleneck: Bottleneck) -> Bottleneck:
    """Return what somebody has in BESS who says how many places its queue has.

    That holds one packet less. What is no number of places in BESS stays as it is.

    Examples
    --------
    >>> from ccbench import Bottleneck
    >>> counted_in_places(Bottleneck(bandwidth_mbps=5, queue_packets=64)).queue_packets
    63
    """
    places = bottleneck.queue_packets
    assert places is not None
    if places & (places - 1) or not _SMALLEST <= places <= _LARGEST:
        return bottleneck
    return replace(bottleneck, queue_packets=places - 1)


def limit_bps(bandwidth_mbps: float) -> int:
    """Return the limit of BESS's traffic class for a rate, which counts IP bytes of full packets.

    Examples
    --------
    >>> limit_bps(15)
    15380000
    """
    return round(bandwidth_mbps * 1e6 * (OPPORTUNITY_BYTES + FRAME_BYTES) / OPPORTUNITY_BYTES)


def path(
    bottleneck: Bottleneck, *, core: int, ports: Mapping[str, str], delay_ms: int | None
) -> list[Call]:
    """Return the calls that make the path; the last sets it going.

    Parameters
    ----------
    bottleneck : Bottleneck
        What :func:`check_bottleneck` has passed.
    core : int
        Where BESS's worker is to run: it keeps that core busy.
    ports : mapping
        The network interfaces that lead to ``"sender"`` and ``"receiver"``.
    delay_ms : int, optional
        How long answers are held back by :data:`DELAY_MODULE`, if it is to do so.
    """
    assert bottleneck.bandwidth_mbps is not None
    assert bottleneck.queue_packets is not None
    there = [_module("PortInc", "from_sender", port="sender")]
    if bottleneck.loss:
        there.append(_module("RandomSplit", LOSS, drop_rate=bottleneck.loss, gates=[0]))
    # Of its places, BESS leaves one free.
    there.append(_module("Queue", QUEUE, size=bottleneck.queue_packets + 1))
    there.append(_module("PortOut", "to_receiver", port="receiver"))
    back = [_module("PortInc", "from_receiver", port="receiver")]
    if delay_ms is not None:
        back.append(_module("Timestamp", "timestamp"))
        back.append(_module(DELAY_MODULE, "delay", size=_DELAYED_PACKETS, delay=delay_ms))
    back.append(_module("PortOut", "to_sender", port="sender"))
    # Otherwise packets leave in bunches of 32.
    one_by_one = _command(QUEUE, "set_burst", _arg("QueueCommandSetBurstArg", burst=1))
    connections = [
        ("ConnectModules", {"m1": one[1]["name"], "m2": following[1]["name"]})
        for way in (there, back)
        for one, following in pairwise(way)
    ]
    return [
        ("PauseAll", {}),
        ("ResetAll", {}),
        ("AddWorker", {"wid": 0, "core": core}),
        *(_port(i, name, interface) for i, (name, interface) in enumerate(ports.items())),
        *there,
        *back,
        one_by_one,
        *connections,
        ("AddTc", {"class": _link(limit_bps(bottleneck.bandwidth_mbps))}),
        (
            "UpdateTcParent",
            {"class": {"leaf_module_name": QUEUE, "parent": _LINK, "wid": _ANY_WORKER}},
        ),
        ("CheckSchedulingConstraints", {}),
        ("ResumeAll", {}),
    ]


def _link(limit: int) -> dict[str, Any]:
    """Return the traffic class of a link of so many bits per second."""
    return {
        "name": _LINK,
        "policy": "rate_limit",
        "resource": "bit",
        "limit": {"bit": limit},
        "max_burst": {"bit": 0},
        "wid": _ANY_WORKER,
    }


def queue_status() -> Call:
    """Return the call that tells what the queue holds and has done."""
    return _command(QUEUE, "get_status", _arg("QueueCommandGetStatusArg"))


def tap(module: str, gate: str, file: Path, *, on: bool = True) -> Call:
    """Return the call that writes every packet at a gate to a file, as pcap, or ends that.

    Parameters
    ----------
    module, gate : str
        Whose, and ``"igate"``, where packets come in, or ``"ogate"``, where they leave.
    file : Path
        An ordinary file that is there.
    on : bool
        Whether it begins or ends.
    """
    hook = {
        "class_name": "TcpDump",
        "hook_name": f"{module} {gate}",
        "module_name": module,
        gate: 0,
        "arg": _arg("TcpdumpArg", fifo=str(file)),
    }
    return "ConfigureGateHook", {"hook": hook, "enable": on}


def _port(number: int, name: str, interface: str) -> Call:
    vdev = f"net_af_packet{number},iface={interface},framecnt={_RING_PACKETS}"
    port = {
        "name": name,
        "driver": "PMDPort",
        "num_inc_q": 1,
        "num_out_q": 1,
        "arg": _arg("PMDPortArg", vdev=vdev),
    }
    return "CreatePort", port


def _module(mclass: str, name: str, **arguments: Any) -> Call:
    module = {"name": name, "mclass": mclass, "arg": _arg(f"{mclass}Arg", **arguments)}
    return "CreateModule", module


def _command(module: str, command: str, argument: dict[str, Any]) -> Call:
    return "ModuleCommand", {"name": module, "cmd": command, "arg": argument}


def _arg(message: str, **fields: Any) -> dict[str, Any]:
    """Return a message of any kind as JSON has it."""
    return {"@type": f"type.googleapis.com/bess.pb.{message}", **fields}
