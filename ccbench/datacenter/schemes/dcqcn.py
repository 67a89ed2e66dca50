# SPDX-License-Identifier: Apache-2.0
"""DCQCN.

Choices left open by the thesis:

- Packets are marked as with DCTCP.
- The timers are those of its paper (section 5). The paper's additive increase of 40 Mbit/s at 40
  Gbit/s is scaled to the link rate, and the hyper increase is five times as large. Alpha starts at
  1.
"""

from ccbench.datacenter.scheme import Scheme

__all__ = ["SCHEMES"]

SCHEMES = (
    Scheme(
        name="dcqcn",
        summary="DCQCN, with PFC",
        control="dcqcn",
        packets_per_ack=256,
        pfc=True,
        ecn_kb=(100.0, 400.0),
    ),
)
