# SPDX-License-Identifier: Apache-2.0
"""Recovery of flows from a disturbance by other flows (HarmGen, ACM SIGCOMM 2026)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.harm._pairs import check_samples, sides

if TYPE_CHECKING:
    from ccbench.run.run import Run

__all__ = ["recovery_s"]


def recovery_s(
    solo: Run, competing: Run, *, since_s: float, share: float = 0.9, interval_s: float = 1.0
) -> float:
    """Return the time in which the flows of `solo` recover from a disturbance.

    Parameters
    ----------
    solo, competing : Run
        The same network without and with other flows, which start or stop at `since_s`.
    since_s : float
        Start of the disturbance in seconds.
    share : float
        Fraction of the solo throughput that counts as recovered, above 0 and at most 1.
    interval_s : float
        Interval of throughput in seconds.

    Returns
    -------
    float
        Seconds from `since_s` to the end of the first interval in which the flows' total throughput
        is at least `share` of that alone in the same interval. Infinite if there is none within the
        run.

    Raises
    ------
    InputError
        If the runs are not those of an experiment, a flow has no samples, `share` or `since_s` is
        out of range, or the flows transfer nothing alone after `since_s`.

    Examples
    --------
    >>> recovery_s(solo, competing, since_s=30)  # doctest: +SKIP
    """
    beta = sides(solo.scenario, competing.scenario).beta
    check_samples(solo, "solo run")
    check_samples(competing, "competing run")
    validation.number("share", share, validation.Range(0, 1, low_open=True), example=0.9)
    until_s = validation.Range(0, solo.scenario.duration_s, high_open=True)
    validation.number("since_s", since_s, until_s, example=30)
    alone = solo.throughput(interval_s).sum(axis=1)
    together = competing.throughput(interval_s).iloc[:, beta].sum(axis=1)
    later = alone.index > since_s + interval_s / 2
    if not (alone[later] > 0).any():
        allowed = "a time after which the flows send in the solo run"
        raise validation.bad("since_s", since_s, allowed, "choose an earlier time")
    recovered = together[later] >= share * alone[later].where(alone[later] > 0, np.inf)
    if not recovered.any():
        return float("inf")
    return float(recovered.index[int(recovered.argmax())]) - since_s
