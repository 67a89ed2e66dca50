# SPDX-License-Identifier: Apache-2.0
"""Harm and relative harm.

A failed measurement is never a harm: a missing, negative or infinite value, or a solo run that
achieved nothing, is an error and not a harm of 1.

References
----------
R. Ware's thesis defines harm in section 4.3.1 and relative harm in section 5.3.1.
"""

from __future__ import annotations

import math

from ccbench.base import validation

__all__ = ["BEST_HARM", "expected_harm", "harm", "relative_harm"]

#: Lower bound of harm in means and searches. Without it, the harm of a run without any losses would
#: be infinitely negative and have no mean with others.
BEST_HARM = -1.0


def harm(solo: float, competing: float, *, less_is_better: bool = False) -> float:
    """Return the fraction of its solo performance that a flow loses (Ware section 4.3.1).

    Parameters
    ----------
    solo, competing : float
        The metric without and with the competitor, in the same unit, at least 0.
    less_is_better : bool
        False for metrics such as throughput, ``(solo - competing) / solo``; True for metrics such
        as delay, ``(competing - solo) / competing``.

    Returns
    -------
    float
        0 for no harm, 1 for the greatest harm; negative if competition improves the metric, without
        a lower bound if less is better. If less is better and `solo` is 0 (no queueing, no losses),
        every competitor with a larger value has a harm of 1, which does not distinguish them.

    Raises
    ------
    InputError
        If a value is negative or not finite, or more is better and `solo` is 0.

    Examples
    --------
    >>> round(harm(15.0, 10.0), 2)
    0.33
    >>> round(harm(40.0, 50.0, less_is_better=True), 2)
    0.2
    """
    for name, value in (("solo", solo), ("competing", competing)):
        if not (math.isfinite(value) and value >= 0):
            raise validation.bad(name, value, "a finite number of at least 0", "check the run")
    if less_is_better:
        if solo == competing:  # also 0 and 0, such as no losses in either run
            return 0.0
        # Competition improves the metric to 0, its optimum: without a lower bound.
        return (competing - solo) / competing if competing > 0 else -math.inf
    if solo == 0:
        step = "check why nothing was achieved alone"
        raise validation.bad("solo", solo, "above 0 if more is better", step)
    return (solo - competing) / solo


def expected_harm(*, n_alpha: int, n_beta: int) -> float:
    """Return beta's harm under equal sharing, ``1 - n_beta / (n_alpha + n_beta)``.

    Parameters
    ----------
    n_alpha, n_beta : int
        Number of flows of the new CCA (alpha) and of the deployed CCA (beta), at least 1 each.

    Raises
    ------
    InputError
        If one side has no flow.

    Examples
    --------
    >>> expected_harm(n_alpha=1, n_beta=1)
    0.5
    """
    for name, value in (("n_alpha", n_alpha), ("n_beta", n_beta)):
        if value < 1:
            raise validation.bad(name, value, "at least 1", "harm needs flows on both sides")
    return 1 - n_beta / (n_alpha + n_beta)


def relative_harm(solo: float, competing: float, *, n_alpha: int, n_beta: int) -> float:
    """Return harm minus the harm under equal sharing (Ware section 5.3.1).

    It is comparable between scenarios with different numbers of flows. The thesis calls "anything
    above 1" harm; according to its formula and figures, and here, it is anything above 0.

    Parameters
    ----------
    solo, competing : float
        The beta flows' throughput without and with the alpha flows (both the sum over the beta
        flows, or both the mean).
    n_alpha, n_beta : int
        Number of flows of each side.

    Returns
    -------
    float
        0 for equal sharing; above 0 if alpha takes more than its share, at most
        ``n_beta / (n_alpha + n_beta)``; below 0 if beta takes more than its share.

    Raises
    ------
    InputError
        As :func:`harm` and :func:`expected_harm`.

    Examples
    --------
    A half left by one competitor is equal sharing; a sixth left by two competitors is not:

    >>> relative_harm(30.0, 15.0, n_alpha=1, n_beta=1)
    0.0
    >>> round(relative_harm(30.0, 5.0, n_alpha=2, n_beta=1), 2)
    0.17
    """
    return harm(solo, competing) - expected_harm(n_alpha=n_alpha, n_beta=n_beta)
