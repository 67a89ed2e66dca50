# SPDX-License-Identifier: Apache-2.0
"""RAPID, a congestion control that measures the available bandwidth within a few round trips.

:mod:`ccbench.models.rapid.stream` computes the sending times of a p-stream,
:mod:`ccbench.models.rapid.estimator` the available bandwidth from its delays, and
:mod:`ccbench.models.rapid.pathchirp` PathChirp's estimate for comparison. The sender is the kernel
module ``tcp_rapid``.
"""
