# SPDX-License-Identifier: Apache-2.0
"""Distributions of flow sizes: the bytes that a short flow sends.

A distribution (:mod:`.distribution`) is made of pieces in ascending order (:mod:`.pieces`): power
laws, lognormal pieces and measured points, each between two sizes; so its mean and its quantiles
are closed, and a draw is the quantile of a uniform number. Those that have names are in
:mod:`ccbench.experiment.flow_sizes.named`, with the papers that they are from.
"""

from ccbench.experiment.flow_sizes.distribution import FlowSizes
from ccbench.experiment.flow_sizes.named import SIZES, find
from ccbench.experiment.flow_sizes.pieces import LogNormal, Piece, Points, PowerLaw

__all__ = ["SIZES", "FlowSizes", "LogNormal", "Piece", "Points", "PowerLaw", "find"]
