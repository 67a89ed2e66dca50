# SPDX-License-Identifier: Apache-2.0
"""Ideal-FQ: a queue per flow, unlimited buffers, and windows of one BDP."""

from dataclasses import replace

from ccbench.datacenter.scheme import Scheme

__all__ = ["SCHEMES"]

_IDEAL = Scheme(
    name="ideal-fq",
    summary="a queue per flow, unlimited buffers, windows of one BDP",
    control="window",
    assignment="per-flow",
    endless_buffer=True,
)

SCHEMES = (
    _IDEAL,
    replace(
        _IDEAL,
        name="ideal-srf",
        summary="Ideal-FQ with shortest remaining flow first",
        shortest_first=True,
    ),
)
