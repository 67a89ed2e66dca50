# SPDX-License-Identifier: Apache-2.0
"""Distributions of the sizes of short flows, in bytes of payload.

A distribution (:mod:`.distribution`) is a mixture of pieces in ascending order (:mod:`.pieces`):
bounded power laws, truncated lognormals and measured points. Its mean and quantiles have closed
forms, and samples are drawn by inverting its distribution function.
:mod:`ccbench.experiment.flow_sizes.named` contains the named distributions and their sources.
"""

from ccbench.experiment.flow_sizes.distribution import FlowSizes
from ccbench.experiment.flow_sizes.named import SIZES, find
from ccbench.experiment.flow_sizes.pieces import LogNormal, Piece, Points, PowerLaw

__all__ = ["SIZES", "FlowSizes", "LogNormal", "Piece", "Points", "PowerLaw", "find"]
