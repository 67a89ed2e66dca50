# SPDX-License-Identifier: Apache-2.0
"""HPCC.

Choices left open by the thesis: the additive increase is 80 bytes, as in its paper; telemetry takes
80 bytes on data packets and ACKs, as in the thesis.
"""

from ccbench.datacenter.scheme import Scheme

__all__ = ["SCHEMES"]

SCHEMES = (
    Scheme(name="hpcc", summary="HPCC, with PFC", control="hpcc", queued_acks=True, pfc=True),
)
