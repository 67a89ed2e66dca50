# SPDX-License-Identifier: Apache-2.0
"""Analytical models of congestion control.

:mod:`ccbench.models.bbr` describes BBRv1 against loss-based congestion control,
:mod:`ccbench.models.abc` and :mod:`ccbench.models.abc_wifi` the queue of an ABC router and its
estimate of a Wi-Fi link's rate, :mod:`ccbench.models.bfc` BFC's pauses, queues and deadlocks, and
:mod:`ccbench.models.rapid` RAPID's estimate of the available bandwidth.
"""
