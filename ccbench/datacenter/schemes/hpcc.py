# SPDX-License-Identifier: Apache-2.0
"""HPCC.

Where the thesis leaves room: the additive increase is 80 bytes, as in its paper; the telemetry
takes 80 bytes, as in the thesis, on data and ACKs.
"""

from ccbench.datacenter.scheme import Scheme

__all__ = ["SCHEMES"]

SCHEMES = (
    Scheme(name="hpcc", summary="HPCC, with PFC", control="hpcc", queued_acks=True, pfc=True),
)
