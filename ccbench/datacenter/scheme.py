# SPDX-License-Identifier: Apache-2.0
"""Schemes: queueing and backpressure at switches, rate control at senders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ccbench.base import validation
from ccbench.base.checked_fields import check_fields, checked, number, whole
from ccbench.base.validation import Range

__all__ = ["ASSIGNMENTS", "CONTROLS", "Scheme"]

#: End-to-end congestion controls; the position is the number in the compiled core.
CONTROLS = ("none", "window", "dctcp", "dcqcn", "hpcc", "delay", "expresspass", "homa")
#: Queue assignments; the position is the number in the compiled core.
ASSIGNMENTS = ("single", "stochastic", "per-flow", "dynamic")

#: Controls that no ACK drives.
_WITHOUT_ACKS = ("none", "dcqcn", "expresspass", "homa")
#: Controls without retransmission.
_LOSSLESS = ("expresspass", "homa")

_SHARE = Range(0, 1, low_open=True)
_ABOVE_0 = Range(0, 1e6, low_open=True)


def _word(default: str, allowed: tuple[str, ...]) -> Any:
    """Return a field with a fixed set of allowed words."""

    def check(name: str, value: str) -> str:
        validation.one_of(name, value, allowed)
        return value

    return field(default=default, metadata=checked(check))


def _flag(*, default: bool) -> Any:
    return field(default=default, metadata=checked(validation.flag))


def _count(default: int, low: int, high: int, *, example: int | None = None) -> Any:
    example = default if example is None else example
    return field(default=default, metadata=whole(Range(low, high), example=example))


def _number(default: float, allowed: Range) -> Any:
    return field(default=default, metadata=number(allowed, example=1))


def _lengths(name: str, value: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = value
        if 0 <= low <= high:
            return value
    except (TypeError, ValueError):
        pass
    raise validation.bad(name, value, "two lengths, the smaller first", "write (100, 400)")


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """Behaviour of switches and senders.

    Parameters
    ----------
    name : str
        Name in results.
    summary : str
        Description in one line.
    control : str
        Senders' congestion control (:data:`CONTROLS`): ``window`` is a fixed window, ``delay`` is
        algorithm 2 of the thesis.
    assignment : str
        Assignment of packets to queues (:data:`ASSIGNMENTS`).
    queues : int
        Physical queues of a port, including the queue of control packets; 2 to 4096.
    classes : int
        Priority classes of the traffic (:attr:`Workload.classes`), each with an equal part of the
        data queues; with ``homa``, its priority levels.
    spray : bool
        Each packet selects among equal paths, instead of each flow.
    shortest_first : bool
        Shortest remaining flow first (SRF), in queues and network cards, instead of round robin.
    backpressure : bool
        BFC's pausing of upstream queues.
    nic_backpressure : bool
        Whether senders' network cards obey pauses.
    nic_queues : int
        Pausable queues of a network card; 0 for one per flow.
    table_per_queue : int
        Flow table entries per queue.
    skip_paused : bool
        No new flow is assigned an empty but paused queue while another queue is empty.
    pause_threshold_hops : float
        BFC's threshold, in 1-hop BDPs at a queue's drain rate.
    pause_packets : int
        Minimum number of a flow's packets in a switch for one of them to pause its upstream queue.
    sticky_hops : float
        Time for which a flow without packets retains its queue, in 1-hop RTTs.
    sampling : float
        Share of packets included in the bookkeeping.
    incast_label : bool
        Incast flows share one queue of each port.
    packets_per_ack : int
        Packets of a flow per ACK; the last packet is always acknowledged.
    queued_acks : bool
        Switches queue ACKs with the data instead of prioritising them.
    drop_notices : bool
        A switch that drops a packet notifies its sender, which sends the packet again.
    pfc : bool
        PFC with a dynamic threshold.
    pfc_share : float
        Share of the free buffer that an ingress port may take before it is paused.
    endless_buffer : bool
        Switches have unlimited buffers.
    ecn_kb : tuple of float, optional
        Queue lengths (10³ bytes) above which some packets, and all packets, are marked.
    ecn_probability : float
        Marking probability just below the second length.
    pair_rtt : bool
        Windows and RTTs are those of a flow's own path, instead of the longest path.
    window_bdp : float
        Initial window in BDPs of the longest path; with ``window``, the constant window; with
        ``homa``, RTTbytes.
    slow_start_packets : int
        Initial window of ``dctcp`` in packets, with slow start; 0 for none.
    dctcp_gain, dcqcn_gain : float
        g in their papers.
    hpcc_target : float
        η.
    hpcc_stages : int
        maxStage.
    target_rtts : float
        Target of ``delay``, in base RTTs.
    credit_queue : int
        Credits that a port can queue (``expresspass``).
    credit_alpha : float
        Initial credit rate as a share of the largest, α of ``expresspass``.
    credit_weight : float
        Initial aggressiveness, w_init of ``expresspass``.

    Raises
    ------
    InputError
        If a value is out of range, or two values contradict each other.

    Examples
    --------
    >>> Scheme(name="mine", assignment="dynamic", backpressure=True, queues=32).packets_per_ack
    1
    """

    name: str = field(metadata=checked(validation.one_line))
    summary: str = field(default="", metadata=checked(validation.one_line))
    control: str = _word("none", CONTROLS)
    assignment: str = _word("single", ASSIGNMENTS)
    queues: int = _count(2, 2, 4096, example=32)
    classes: int = _count(1, 1, 64, example=4)
    spray: bool = _flag(default=False)
    shortest_first: bool = _flag(default=False)
    backpressure: bool = _flag(default=False)
    nic_backpressure: bool = _flag(default=True)
    nic_queues: int = _count(0, 0, 65_536, example=32)
    table_per_queue: int = _count(100, 1, 100_000)
    skip_paused: bool = _flag(default=False)
    pause_threshold_hops: float = _number(1.0, _ABOVE_0)
    pause_packets: int = _count(1, 1, 1000)
    sticky_hops: float = _number(2.0, Range(0, 1e6))
    sampling: float = _number(1.0, _SHARE)
    incast_label: bool = _flag(default=False)
    packets_per_ack: int = _count(1, 1, 100_000)
    queued_acks: bool = _flag(default=False)
    drop_notices: bool = _flag(default=False)
    pfc: bool = _flag(default=False)
    pfc_share: float = _number(0.11, _SHARE)
    endless_buffer: bool = _flag(default=False)
    ecn_kb: tuple[float, float] | None = field(
        default=None, metadata=checked(_lengths, optional=True)
    )
    ecn_probability: float = _number(0.2, Range(0, 1))
    pair_rtt: bool = _flag(default=False)
    window_bdp: float = _number(1.0, _ABOVE_0)
    slow_start_packets: int = _count(0, 0, 10_000, example=10)
    dctcp_gain: float = _number(1 / 16, _SHARE)
    dcqcn_gain: float = _number(1 / 256, _SHARE)
    hpcc_target: float = _number(0.95, _SHARE)
    hpcc_stages: int = _count(5, 0, 1000)
    target_rtts: float = _number(2.5, _ABOVE_0)
    credit_queue: int = _count(16, 1, 10_000)
    credit_alpha: float = _number(0.5, _SHARE)
    credit_weight: float = _number(1 / 16, _SHARE)

    def __post_init__(self) -> None:
        check_fields(self)
        self._check_queues()
        self._check_control()

    def _check_queues(self) -> None:
        """Check that settings of queues fit together."""
        if self.incast_label and self.assignment != "dynamic":
            raise validation.bad(
                "incast_label", self.incast_label, "false here", 'write assignment = "dynamic"'
            )
        if self.queued_acks and self.assignment != "single":
            step = 'write assignment = "single"'
            raise validation.bad("queued_acks", self.queued_acks, "false here", step)
        if self.backpressure and self.assignment == "per-flow":
            step = 'write assignment = "dynamic"'
            raise validation.bad("backpressure", self.backpressure, "false with per-flow", step)
        if self.classes > 1 and (self.assignment == "per-flow" or self.incast_label):
            step = 'write assignment = "dynamic", without incast_label'
            raise validation.bad("classes", self.classes, "1 here", step)
        if self.drop_notices and self.pfc:
            raise validation.bad("pfc", self.pfc, "false with drop_notices", "write pfc = False")

    def _check_control(self) -> None:
        """Check that other settings fit the control."""
        if self.slow_start_packets and self.control != "dctcp":
            raise validation.bad(
                "slow_start_packets", self.slow_start_packets, "0 here", 'write control = "dctcp"'
            )
        if self.packets_per_ack > 1 and self.control not in _WITHOUT_ACKS:
            allowed = f"1 with the control {self.control!r}, which each ACK drives"
            raise validation.bad("packets_per_ack", self.packets_per_ack, allowed, "write 1")
        if self.spray and self.control != "homa":
            step = 'write control = "homa"'
            raise validation.bad("spray", self.spray, "false here: packets overtake", step)
        if self.drop_notices and self.control != "hpcc":
            step = 'write control = "hpcc"'
            raise validation.bad("drop_notices", self.drop_notices, "false here", step)
        if self.control == "homa" and (self.assignment != "single" or self.classes == 1):
            allowed = 'at least 2 with "homa", and assignment = "single"'
            raise validation.bad("classes", self.classes, allowed, "write classes = 32")
        if self.control in _LOSSLESS and not self.endless_buffer:
            allowed = f"true with {self.control!r}, which does not retransmit here"
            raise validation.bad("endless_buffer", self.endless_buffer, allowed, "write True")
