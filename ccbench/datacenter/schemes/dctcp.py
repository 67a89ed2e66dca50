# SPDX-License-Identifier: Apache-2.0
"""DCTCP.

Choices left open by the thesis:

- The marking probability rises from 0 to 20 % between 100 KB and 400 KB and is 1 beyond, as in
  HPCC's evaluation.
- There is no slow start: the window starts at one BDP, as the thesis says. It is reduced once per
  window, by the current alpha. ``dctcp-slow-start`` starts with ten packets (section 3.6.6.3).
"""

from dataclasses import replace

from ccbench.datacenter.scheme import Scheme

__all__ = ["SCHEMES"]

_DCTCP = Scheme(
    name="dctcp",
    summary="DCTCP, with PFC",
    control="dctcp",
    queued_acks=True,
    pfc=True,
    ecn_kb=(100.0, 400.0),
)

SCHEMES = (
    _DCTCP,
    replace(
        _DCTCP,
        name="dctcp-slow-start",
        summary="DCTCP with slow start from ten packets (section 3.6.6.3)",
        slow_start_packets=10,
    ),
)
