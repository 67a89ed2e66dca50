# SPDX-License-Identifier: Apache-2.0
"""A scenario's path as a sequence of calls of BESS's service.

Sender and receiver are ports. Packets from the sender pass random losses and the queue, which is
drained at the link's rate. Packets from the receiver pass a delay if this build of BESS has one.
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
    "limit_bps",
    "path",
    "queue_status",
    "tap",
    "usable_queue",
]

#: A call of BESS's service: its name, and the request as JSON.
Call: TypeAlias = tuple[str, dict[str, Any]]

#: Overhead of an IP packet on the link in bytes: the Ethernet header, and BESS's allowance for
#: preamble, checksum and interframe gap. Full packets pass at the scenario's rate; the overhead
#: costs smaller packets relatively more.
FRAME_BYTES = 14 + 24

#: The module that delays packets, which only some unpublished builds of BESS have.
DELAY_MODULE = "QueueDelay"

#: Names of modules.
QUEUE, LOSS = "queue", "loss"
_LINK = "link"

_SMALLEST, _LARGEST = 4, 16_384
#: Capacity of the delay in packets, the largest that BESS supports.
_DELAYED_PACKETS = _LARGEST
_ANY_WORKER = -1

#: Capacity of a port's ring in packets; an entire TCP window may arrive at once.
_RING_PACKETS = 4_096


def check_bottleneck(bottleneck: Bottleneck) -> None:
    """Check that BESS can emulate this bottleneck.

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
                (2**power - 1 for power in range(2, 15)), key=lambda usable: abs(usable - packets)
            )
            allowed = "a power of two minus one (3, 7, 15, … 16383) with the engine bess"
            step = f"write for example queue_packets = {nearest}"
            raise validation.bad("queue_packets", packets, allowed, step)


def usable_queue(bottleneck: Bottleneck) -> Bottleneck:
    """Return a bottleneck with the usable length of a BESS queue of the given size.

    BESS leaves one slot of a queue free. Lengths that are not a size in BESS are unchanged.

    Examples
    --------
    >>> from ccbench import Bottleneck
    >>> usable_queue(Bottleneck(bandwidth_mbps=5, queue_packets=64)).queue_packets
    63
    """
    size = bottleneck.queue_packets
    assert size is not None
    if size & (size - 1) or not _SMALLEST <= size <= _LARGEST:
        return bottleneck
    return replace(bottleneck, queue_packets=size - 1)


def limit_bps(bandwidth_mbps: float) -> int:
    """Return the limit of BESS's traffic class for a rate in IP bytes of full packets.

    Examples
    --------
    >>> limit_bps(15)
    15380000
    """
    return round(bandwidth_mbps * 1e6 * (OPPORTUNITY_BYTES + FRAME_BYTES) / OPPORTUNITY_BYTES)


def path(
    bottleneck: Bottleneck, *, core: int, ports: Mapping[str, str], delay_ms: int | None
) -> list[Call]:
    """Return the calls that create the path; the last one starts it.

    Parameters
    ----------
    bottleneck : Bottleneck
        The bottleneck, accepted by :func:`check_bottleneck`.
    core : int
        The core of BESS's worker, which keeps it busy.
    ports : mapping
        The network interfaces of ``"sender"`` and ``"receiver"``.
    delay_ms : int, optional
        Delay of packets from the receiver by :data:`DELAY_MODULE`, if it is used.
    """
    assert bottleneck.bandwidth_mbps is not None
    assert bottleneck.queue_packets is not None
    forward = [_module("PortInc", "from_sender", port="sender")]
    if bottleneck.loss:
        forward.append(_module("RandomSplit", LOSS, drop_rate=bottleneck.loss, gates=[0]))
    # BESS leaves one slot free.
    forward.append(_module("Queue", QUEUE, size=bottleneck.queue_packets + 1))
    forward.append(_module("PortOut", "to_receiver", port="receiver"))
    reverse = [_module("PortInc", "from_receiver", port="receiver")]
    if delay_ms is not None:
        reverse.append(_module("Timestamp", "timestamp"))
        reverse.append(_module(DELAY_MODULE, "delay", size=_DELAYED_PACKETS, delay=delay_ms))
    reverse.append(_module("PortOut", "to_sender", port="sender"))
    # By default, packets leave in bursts of 32.
    single_packets = _command(QUEUE, "set_burst", _arg("QueueCommandSetBurstArg", burst=1))
    connections = [
        ("ConnectModules", {"m1": module[1]["name"], "m2": following[1]["name"]})
        for direction in (forward, reverse)
        for module, following in pairwise(direction)
    ]
    return [
        ("PauseAll", {}),
        ("ResetAll", {}),
        ("AddWorker", {"wid": 0, "core": core}),
        *(_port(i, name, interface) for i, (name, interface) in enumerate(ports.items())),
        *forward,
        *reverse,
        single_packets,
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
    """Return the traffic class of a link with a limit in bit/s."""
    return {
        "name": _LINK,
        "policy": "rate_limit",
        "resource": "bit",
        "limit": {"bit": limit},
        "max_burst": {"bit": 0},
        "wid": _ANY_WORKER,
    }


def queue_status() -> Call:
    """Return the call that reads the queue's length and counters."""
    return _command(QUEUE, "get_status", _arg("QueueCommandGetStatusArg"))


def tap(module: str, gate: str, file: Path, *, on: bool = True) -> Call:
    """Return the call that starts or ends the capture of a gate's packets to a pcap file.

    Parameters
    ----------
    module, gate : str
        The module, and ``"igate"`` for its input or ``"ogate"`` for its output.
    file : Path
        An existing regular file.
    on : bool
        Whether to start or end the capture.
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
    """Return a message of type Any as JSON."""
    return {"@type": f"type.googleapis.com/bess.pb.{message}", **fields}
