# SPDX-License-Identifier: Apache-2.0
"""DCTCP.

Choices left open by the thesis:

- The marking probability rises from 0 to 20 % between 100 KB and 400 KB and is 1 beyond, as in
  HPCC's evaluation.
- There is no slow start: the window starts at one BDP, as the thesis says. It is reduced once per
  window, by the current alpha.
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
