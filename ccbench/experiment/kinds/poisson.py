# SPDX-License-Identifier: Apache-2.0
"""UDP flows of packets with exponentially distributed gaps."""

from ccbench.experiment.kinds._descriptor import RATE, Kind

__all__ = ["KIND"]

KIND = Kind(
    name="poisson",
    summary="UDP, exponentially spaced packets at a mean of rate_mbps",
    settings={"rate_mbps": RATE},
    is_udp=True,
    draws_at_random=True,
)
