# SPDX-License-Identifier: Apache-2.0
"""Models: predictions for a network without a run.

One module for each: :mod:`ccbench.models.bbr` for BBRv1 against loss-based congestion control,
:mod:`ccbench.models.abc` for the queue at an ABC router, :mod:`ccbench.models.bfc` for BFC's
pauses, queues and deadlocks.
"""
