# SPDX-License-Identifier: Apache-2.0
"""HPCC and its variants without PFC.

Choices left open by the thesis:

- The additive increase is 80 bytes, as in its paper; telemetry takes 80 bytes on data packets and
  ACKs, as in the thesis.
- Without PFC (``hpcc-pfc``), a switch that drops a packet notifies its sender by a frame of 64
  bytes, which precedes data on the links that the packet came from. The sender has the packet
  resent before others; packets in flight exclude dropped ones. ACKs are not dropped.
- Telemetry of a port with several queues is that of all together. With queue assignment, one of 32
  queues is that of ACKs, which is served first, as with BFC.
"""

from dataclasses import replace

from ccbench.datacenter.scheme import Scheme

__all__ = ["SCHEMES"]

_HPCC = Scheme(name="hpcc", summary="HPCC, with PFC", control="hpcc", queued_acks=True, pfc=True)
_WITHOUT_PFC = replace(
    _HPCC,
    name="hpcc-pfc",
    summary="HPCC without PFC, with drops reported to the sender (HPCC-PFC)",
    pfc=False,
    drop_notices=True,
)

_QUEUES = replace(_WITHOUT_PFC, queued_acks=False, queues=32)

SCHEMES = (
    _HPCC,
    _WITHOUT_PFC,
    replace(
        _QUEUES,
        name="hpcc-pfc-sfq",
        summary="HPCC-PFC with 32 queues, assigned by hash (section 3.6.5)",
        assignment="stochastic",
    ),
    replace(
        _QUEUES,
        name="hpcc-pfc-dqa",
        summary="HPCC-PFC with 32 queues, assigned dynamically (section 3.6.5)",
        assignment="dynamic",
    ),
)
