# SPDX-License-Identifier: Apache-2.0
"""UDP flows of evenly spaced packets."""

from ccbench.experiment.kinds._descriptor import RATE, Kind

__all__ = ["KIND"]

KIND = Kind(
    name="cbr",
    summary="UDP, evenly spaced packets at rate_mbps",
    settings={"rate_mbps": RATE},
    is_udp=True,
    has_rate=True,
)
