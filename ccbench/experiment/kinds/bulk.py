# SPDX-License-Identifier: Apache-2.0
"""TCP flows with unlimited data."""

from ccbench.experiment.kinds._descriptor import Kind

__all__ = ["KIND"]

KIND = Kind(
    name="bulk",
    summary="TCP, unlimited data",
    is_endless=True,
    has_rate=True,
    has_subflows=True,
)
