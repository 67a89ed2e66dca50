# SPDX-License-Identifier: Apache-2.0
"""BFC and its variants.

Where the thesis leaves room:

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
"""

from dataclasses import replace

from ccbench.datacenter.scheme import Scheme

__all__ = ["SCHEMES"]

_BFC = Scheme(
    name="bfc",
    summary="BFC with 32 queues per port",
    assignment="dynamic",
    queues=32,
    backpressure=True,
    skip_paused=True,
)

SCHEMES = (
    _BFC,
    replace(_BFC, name="bfc-128", summary="BFC with 128 queues per port", queues=128),
    replace(
        _BFC,
        name="bfc-ns3",
        summary="BFC of the authors' simulator where that differs from the thesis",
        pause_packets=2,
        pause_threshold_hops=1.5,
        sticky_hops=3.0,
        table_per_queue=225,
        packets_per_ack=256,
    ),
    replace(
        _BFC,
        name="bfc-nic",
        summary="network cards ignore pauses, but cap the window of a flow at one BDP (appendix E)",
        control="window",
        nic_backpressure=False,
    ),
    replace(
        _BFC,
        name="bfc-sampling",
        summary="bookkeeping of half of the packets (appendix E)",
        sampling=0.5,
    ),
    replace(
        _BFC,
        name="bfc-cc",
        summary="BFC with end-to-end congestion control (algorithm 2)",
        control="delay",
    ),
    replace(
        _BFC,
        name="bfc-srf",
        summary="BFC with the shortest remaining flow first (appendix F.1)",
        shortest_first=True,
    ),
    replace(
        _BFC,
        name="bfc-incast-label",
        summary="incast flows share one queue of a port (appendix F.3)",
        incast_label=True,
    ),
    replace(
        _BFC,
        name="bfc-single",
        summary="BFC with one queue for all flows (section 3.6.1)",
        assignment="single",
        queues=2,
    ),
    replace(
        _BFC,
        name="bfc-stochastic",
        summary="BFC with queues chosen by a hash (section 3.6.6.5)",
        assignment="stochastic",
    ),
)
