# SPDX-License-Identifier: Apache-2.0
"""DCTCP.

Where the thesis leaves room:

- Packets are marked with a probability that rises from 0 to 20 % between 100 KB and 400 KB, and all
  beyond, as in HPCC's evaluation.
- There is no slow start: the window starts at one BDP, as the thesis has it, and is cut once per
  window with the alpha of that moment.
"""

from ccbench.datacenter.scheme import Scheme

__all__ = ["SCHEMES"]

SCHEMES = (
    Scheme(
        name="dctcp",
        summary="DCTCP, with PFC",
        control="dctcp",
        queued_acks=True,
        pfc=True,
        ecn_kb=(100.0, 400.0),
    ),
)
