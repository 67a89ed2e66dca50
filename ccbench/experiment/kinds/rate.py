# SPDX-License-Identifier: Apache-2.0
"""TCP flows whose application offers data at a rate."""

from ccbench.experiment.kinds._descriptor import RATE, Kind

__all__ = ["KIND"]

KIND = Kind(
    name="rate",
    summary="TCP, the application offers rate_mbps",
    settings={"rate_mbps": RATE},
    has_rate=True,
    has_subflows=True,
)
