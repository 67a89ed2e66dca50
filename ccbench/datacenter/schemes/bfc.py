# SPDX-License-Identifier: Apache-2.0
"""BFC and its variants.

Choices left open by the thesis:

- BFC has neither PFC nor end-to-end congestion control: the thesis reports drops for BFC, and
  limits windows only in some variants. Pause bitmaps are not sent, as frames are never lost here.
- A flow is not assigned an empty but paused queue, where it would wait, as long as another queue is
  empty. The thesis only speaks of empty queues; the authors' simulator does the same.
- The authors' simulator (prateshg/BFC_NS3_NSDI2022) differs from the thesis in more respects: a
  packet pauses its upstream queue only if another packet of its flow is in the switch, so that
  flows of one packet never do; the threshold is 1.5 1-hop BDPs; flows retain their queues for 6 μs;
  a port has 7200 flow table entries; 256 packets of a flow share an ACK. ``bfc-ns3`` reproduces
  this; ``bfc`` follows the thesis.
- A sender's network card has a queue for each flow with data to send, as RDMA cards do, and pauses
  each individually. With no more queues than a switch port has, the many small flows to the
  receiver of an incast would soon occupy all of them.
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
        summary="BFC as in the authors' simulator where it differs from the thesis",
        pause_packets=2,
        pause_threshold_hops=1.5,
        sticky_hops=3.0,
        table_per_queue=225,
        packets_per_ack=256,
    ),
    replace(
        _BFC,
        name="bfc-nic",
        summary="network cards ignore pauses; a flow's window is one BDP (appendix E)",
        control="window",
        nic_backpressure=False,
    ),
    replace(
        _BFC,
        name="bfc-sampling",
        summary="bookkeeping for half of the packets (appendix E)",
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
        summary="BFC with shortest remaining flow first (appendix F.1)",
        shortest_first=True,
    ),
    replace(
        _BFC,
        name="bfc-incast-label",
        summary="incast flows share one queue per port (appendix F.3)",
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
        summary="BFC with queue assignment by hash (section 3.6.6.5)",
        assignment="stochastic",
    ),
)
