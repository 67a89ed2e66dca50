# SPDX-License-Identifier: Apache-2.0
"""Schemes: how switches queue and pause, and how senders control their rate.

Where the thesis (section 3.6.2.1) leaves room:

- Pause frames have a class of their own, before all data, and ACKs too: the thesis says so for
  BFC's pauses. It counts as one of BFC's physical queues, so `queues` of 32 are 31 for data.
- The thesis ran DCTCP and HPCC with HPCC's simulator, and DCQCN with bobzhuyb/ns3-rdma. As in
  their configurations, switches queue the ACKs of DCTCP and HPCC with the data, and 256 packets of
  DCQCN share an ACK.
- DCTCP and DCQCN mark with a probability that rises from 0 to 20 % between 100 KB and 400 KB, and
  everything beyond, as in HPCC's evaluation.
- DCQCN's timers are those of its paper (section 5); its additive increase of 40 Mbit/s at 40 Gbit/s
  is scaled to the link, and hyper increase is five times that. Alpha starts at 1.
- DCTCP has no slow start: its window starts at one BDP, as the thesis has it, and cuts once per
  window with the alpha of that moment.
- HPCC's additive increase is 80 bytes, as in its paper; its telemetry takes 80 bytes, as in the
  thesis, on data and ACKs.
- BFC has no PFC and no end-to-end control: the thesis reports drops for it, and caps windows only
  in some of its variants. Pause bitmaps are not sent, as no frame is ever lost here.
- A queue that is empty but paused is given to no flow as long as another is empty: it would wait.
  The thesis speaks of empty queues only; the authors' simulator does so too.
- The authors' simulator (prateshg/BFC_NS3_NSDI2022) differs from the thesis in more: a packet
  pauses its upstream queue only if its flow has another one in the switch, so that a flow of one
  packet never does; the threshold is 1.5 1-hop BDPs; queues stay a flow's own for 6 μs; a port has
  7200 entries of the flow table; 256 packets of a flow share an ACK. ``bfc-ns3`` is BFC like that,
  ``bfc`` is the thesis's.
- A sender's network card has a queue for each flow that has something to send, as cards for RDMA
  do, and pauses each alone. With no more queues than a switch's port has, the many small flows to
  the receiver of an incast soon hold all of them.
- Ideal-FQ never runs out of buffer; its windows are one BDP.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ccbench.base import validation
from ccbench.base.validation import Range

__all__ = ["ASSIGNMENTS", "CONTROLS", "SCHEMES", "Scheme", "scheme"]

#: End-to-end controls: the position is their number in the compiled core.
CONTROLS = ("none", "window", "dctcp", "dcqcn", "hpcc", "delay")
#: Ways to choose a queue: the position is their number in the compiled core.
ASSIGNMENTS = ("single", "stochastic", "per-flow", "dynamic")

_SHARE = Range(0, 1, low_open=True)


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """How switches and senders behave.

    Parameters
    ----------
    name : str
        For people.
    control : str
        Of senders (:data:`CONTROLS`): ``window`` is a fixed window, ``delay`` algorithm 2 of the
        thesis.
    assignment : str
        Of packets to queues (:data:`ASSIGNMENTS`).
    queues : int
        Physical queues of a port, with that of control packets; 2 to 4096.
    shortest_first : bool
        Queues and flows with the least left go first (SRF), instead of taking turns.
    backpressure : bool
        BFC's pausing of upstream queues.
    nic_backpressure : bool
        Whether senders' network cards heed it.
    nic_queues : int
        Queues of a network card that can be paused; 0 for one per flow.
    table_per_queue : int
        Entries of the flow table for each queue.
    skip_paused : bool
        No new flow gets a queue that is empty but paused, while another one is empty.
    pause_threshold_hops : float
        BFC's threshold in 1-hop BDPs at a queue's drain rate.
    pause_packets : int
        How many packets a flow must have in a switch before one of them pauses where it came from.
    sticky_hops : float
        How long a queue stays a flow's own, in 1-hop RTTs.
    sampling : float
        Share of packets that bookkeeping sees.
    incast_label : bool
        Incast flows share one queue of each port.
    packets_per_ack : int
        Packets of a flow for each ACK; the last packet always has one.
    queued_acks : bool
        Switches queue ACKs with the data instead of sending them first.
    pfc : bool
        PFC with a dynamic threshold.
    pfc_share : float
        The share of the free buffer that an ingress may take before it is stopped.
    endless_buffer : bool
        Switches never run out of buffer.
    ecn_kb : tuple of float, optional
        Queue lengths (10³ bytes) from which on some packets, and all, are marked.
    ecn_probability : float
        Probability of a mark just below the second.
    window_bdp : float
        First window in BDPs of the longest way; the only one with ``window``.
    dctcp_gain, dcqcn_gain : float
        g of their papers.
    hpcc_target : float
        η.
    hpcc_stages : int
        maxStage.
    target_rtts : float
        Target of ``delay`` in base RTTs.

    Raises
    ------
    InputError
        If a value is out of range, or two contradict each other.

    Examples
    --------
    >>> scheme("bfc").queues, scheme("bfc-128").queues
    (32, 128)
    """

    name: str
    control: str = "none"
    assignment: str = "single"
    queues: int = 2
    shortest_first: bool = False
    backpressure: bool = False
    nic_backpressure: bool = True
    nic_queues: int = 0
    table_per_queue: int = 100
    skip_paused: bool = False
    pause_threshold_hops: float = 1.0
    pause_packets: int = 1
    sticky_hops: float = 2.0
    sampling: float = 1.0
    incast_label: bool = False
    packets_per_ack: int = 1
    queued_acks: bool = False
    pfc: bool = False
    pfc_share: float = 0.11
    endless_buffer: bool = False
    ecn_kb: tuple[float, float] | None = None
    ecn_probability: float = 0.2
    window_bdp: float = 1.0
    dctcp_gain: float = 1 / 16
    dcqcn_gain: float = 1 / 256
    hpcc_target: float = 0.95
    hpcc_stages: int = 5
    target_rtts: float = 2.5

    def __post_init__(self) -> None:
        number, whole, flag = validation.number, validation.whole, validation.flag
        validation.one_line("name", self.name)
        validation.one_of("control", self.control, CONTROLS)
        validation.one_of("assignment", self.assignment, ASSIGNMENTS)
        above = Range(0, 1e6, low_open=True)
        values = {
            "queues": whole("queues", self.queues, Range(2, 4096), example=32),
            "table_per_queue": whole(
                "table_per_queue", self.table_per_queue, Range(1, 100_000), example=100
            ),
            "pause_packets": whole("pause_packets", self.pause_packets, Range(1, 1000), example=1),
            "nic_queues": whole("nic_queues", self.nic_queues, Range(0, 65_536), example=32),
            "packets_per_ack": whole(
                "packets_per_ack", self.packets_per_ack, Range(1, 100_000), example=1
            ),
            "hpcc_stages": whole("hpcc_stages", self.hpcc_stages, Range(0, 1000), example=5),
        }
        values |= {
            field: flag(field, getattr(self, field))
            for field in (
                *("shortest_first", "backpressure", "nic_backpressure", "incast_label"),
                *("pfc", "endless_buffer", "skip_paused", "queued_acks"),
            )
        }
        ranges = {
            **dict.fromkeys(("pause_threshold_hops", "window_bdp", "target_rtts"), above),
            **dict.fromkeys(("sampling", "pfc_share", "dctcp_gain", "dcqcn_gain"), _SHARE),
            **dict.fromkeys(("hpcc_target",), _SHARE),
            "ecn_probability": Range(0, 1),
            "sticky_hops": Range(0, 1e6),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        for field, allowed in ranges.items():
            share = number(field, getattr(self, field), allowed, example=1)
            object.__setattr__(self, field, share)
        self._check_together()

    def _check_together(self) -> None:
        if self.ecn_kb is not None:
            low, high = self.ecn_kb
            if not 0 <= low <= high:
                allowed = "two lengths, the smaller first"
                raise validation.bad("ecn_kb", self.ecn_kb, allowed, "write (100, 400)")
        if self.incast_label and self.assignment != "dynamic":
            raise validation.bad(
                "incast_label", self.incast_label, "false here", 'write assignment = "dynamic"'
            )
        if self.packets_per_ack > 1 and self.control not in ("none", "dcqcn"):
            allowed = f"1 with the control {self.control!r}, which each ACK drives"
            raise validation.bad("packets_per_ack", self.packets_per_ack, allowed, "write 1")
        if self.queued_acks and self.assignment != "single":
            step = 'write assignment = "single"'
            raise validation.bad("queued_acks", self.queued_acks, "false here", step)
        if self.backpressure and self.assignment == "per-flow":
            step = 'write assignment = "dynamic"'
            raise validation.bad("backpressure", self.backpressure, "false with per-flow", step)


_ECN = (100.0, 400.0)
_BFC = Scheme(name="bfc", assignment="dynamic", queues=32, backpressure=True, skip_paused=True)
_IDEAL = Scheme(name="ideal-fq", control="window", assignment="per-flow", endless_buffer=True)

#: The schemes of the thesis, by name.
SCHEMES = {
    known.name: known
    for known in (
        _BFC,
        replace(_BFC, name="bfc-128", queues=128),
        replace(
            _BFC,
            name="bfc-ns3",
            pause_packets=2,
            pause_threshold_hops=1.5,
            sticky_hops=3.0,
            table_per_queue=225,
            packets_per_ack=256,
        ),
        replace(_BFC, name="bfc-nic", control="window", nic_backpressure=False),
        replace(_BFC, name="bfc-sampling", sampling=0.5),
        replace(_BFC, name="bfc-cc", control="delay"),
        replace(_BFC, name="bfc-srf", shortest_first=True),
        replace(_BFC, name="bfc-incast-label", incast_label=True),
        replace(_BFC, name="bfc-single", assignment="single", queues=2),
        replace(_BFC, name="bfc-stochastic", assignment="stochastic"),
        _IDEAL,
        replace(_IDEAL, name="ideal-srf", shortest_first=True),
        Scheme(name="dctcp", control="dctcp", queued_acks=True, pfc=True, ecn_kb=_ECN),
        Scheme(name="dcqcn", control="dcqcn", packets_per_ack=256, pfc=True, ecn_kb=_ECN),
        Scheme(name="hpcc", control="hpcc", queued_acks=True, pfc=True),
    )
}


def scheme(name: str) -> Scheme:
    """Return a scheme of the thesis by its name in :data:`SCHEMES`.

    Raises
    ------
    InputError
        If there is none of that name.

    Examples
    --------
    >>> scheme("hpcc").pfc
    True
    """
    validation.one_of("scheme", name, SCHEMES)
    return SCHEMES[name]
