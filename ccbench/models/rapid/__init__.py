# SPDX-License-Identifier: Apache-2.0
"""RAPID, the congestion control that finds the available bandwidth within a few round trips.

:mod:`ccbench.models.rapid.stream` says when the packets of a p-stream leave,
:mod:`ccbench.models.rapid.estimator` what their delays tell, and
:mod:`ccbench.models.rapid.pathchirp` what PathChirp would have made of them. The sender itself is
the kernel module ``tcp_rapid``.
"""
