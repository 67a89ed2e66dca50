# SPDX-License-Identifier: Apache-2.0
"""When has a competition settled? The convergence detector of Ware section 5.3.3, Algorithm 1.

Flows in competition often swing widely for as long as they run, so neither "stays near its fair
share" nor "varies by less than X %" tells when they have settled. The detector asks instead whether
the *size* of the swings is stable: it follows the standard deviation of each flow's throughput over
a rolling window, cuts that trace in two where its mean changes most (one breakpoint, least
squares), and, while the two parts differ, goes on with the later one.

Where the paper leaves room
---------------------------
Both thresholds or one
    Algorithm 1 loops while *either* difference is too large; its explanation in the text stops when
    *at least one* is small enough, and so does the authors' later public artifact. We follow the
    text: a flow near 0 has a huge percentage, and a fast one many Mbit/s, however stable it is.
The axis of the returned time
    A rolling window over the seconds t to t + 60 may be called t or t + 60. We call it t, its
    start: if all windows from the one that starts at t on look alike, then so does all throughput
    from t on, which is what the caller measures. Figure 5.8 does the same (its deviations end at
    120 s of 180 s). It also leaves a whole window to be measured after any time that is returned.
Which time is returned
    The last breakpoint, where the second of two similar parts begins, as in the listing and in
    Figure 5.7 (70 s), and not the beginning of the first (55 s), as one sentence of the text says.
    It is a time after convergence, not the time of convergence.
A right mean of 0
    No swings at all in the later part leave no percentage: the difference alone decides.
The shortest part
    5 samples, as in the artifact; what cannot be cut in two of them "can no longer be segmented".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ccbench import _validate

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Step",
    "best_breakpoint",
    "converged_at",
    "convergence_steps",
    "measured_from",
    "rolling_deviation",
]

#: Length of the rolling window in seconds, as the thesis selected it (section 5.3.3.2).
WINDOW_S = 60.0
#: Two parts are alike if their mean deviations differ by at most this many Mbit/s ...
ABS_THRESHOLD_MBPS = 0.2
#: ... or by at most this fraction of the later one (both section 5.3.3.2).
PCT_THRESHOLD = 0.2
#: Fewest samples of a part.
MIN_SEGMENT = 5
#: What is ignored of a run that does not converge, in seconds (section 5.3.3.2).
SKIPPED_S = 60.0

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One iteration of Algorithm 1, as Figure 5.8 draws it, on one flow's deviation trace.

    Attributes
    ----------
    start : int
        Index at which the part under study begins (the possible convergence point).
    breakpoint : int
        Index at which its mean changes most (the validation breakpoint).
    left_mean, right_mean : float
        Mean deviation before and after the breakpoint, in the unit of the throughput.
    converged : bool
        Whether the two are alike, which ends the algorithm.
    """

    start: int
    breakpoint: int
    left_mean: float
    right_mean: float
    converged: bool


def rolling_deviation(throughput: FloatArray, window: int) -> FloatArray:
    """Return the standard deviation of every window of `window` samples.

    Parameters
    ----------
    throughput : ndarray, shape (n,)
        One flow's throughput.
    window : int
        Number of samples of a window.

    Returns
    -------
    ndarray, shape (n - window + 1,)
        Element i is that of the window that *starts* at sample i; empty if n < window.

    Examples
    --------
    >>> rolling_deviation(np.array([1.0, 3.0, 3.0, 3.0]), window=2).tolist()
    [1.0, 0.0, 0.0]
    """
    if throughput.size < window:
        return np.empty(0)
    windows = np.lib.stride_tricks.sliding_window_view(throughput, window)
    deviation: FloatArray = windows.std(axis=1)
    return deviation


def best_breakpoint(signal: FloatArray, min_segment: int = MIN_SEGMENT) -> int | None:
    """Return the index that splits `signal` into the two constants that fit it best.

    Best means least squares. The squared error of n values around their mean is
    ``sum(x^2) - sum(x)^2 / n``, so cumulative sums give the error of every split at once.
    ``ruptures.Dynp(model="l2", jump=1)`` finds the same breakpoint by dynamic programming; the
    tests hold one against the other.

    Parameters
    ----------
    signal : ndarray, shape (n,)
        The values to split.
    min_segment : int
        Fewest values of a part.

    Returns
    -------
    int or None
        First index of the second part, the earliest of equally good ones; None if `signal` is too
        short for two parts.

    Examples
    --------
    >>> best_breakpoint(np.array([0.0] * 10 + [1.0] * 10))
    10
    """
    n = signal.size
    if n < 2 * min_segment:
        return None
    # Centred on 0, the later part sums to minus what the earlier part sums to. The total sum of
    # squares is fixed, so the best split is the one whose two means explain most of it.
    left = np.cumsum(signal - signal.mean())
    splits = np.arange(min_segment, n - min_segment + 1)
    explained = np.square(left[splits - 1]) * (1 / splits + 1 / (n - splits))
    return int(splits[np.argmax(explained)])


def convergence_steps(deviation: FloatArray) -> tuple[Step, ...]:
    """Run Algorithm 1 on one flow's deviation trace.

    Parameters
    ----------
    deviation : ndarray, shape (n,)
        Rolling standard deviation in Mbit/s.

    Returns
    -------
    tuple of Step
        The iterations in order. The flow has converged if there is a last step and it says so; the
        time is that step's ``breakpoint``.

    Examples
    --------
    Swings of 5 Mbit/s that calm down to 1 after 20 s: after a first cut there, what is left cannot
    be told apart.

    >>> [step.breakpoint for step in convergence_steps(np.repeat([5.0, 1.0], [20, 40]))]
    [20, 25]
    """
    steps: list[Step] = []
    start = 0
    while (split := best_breakpoint(deviation[start:])) is not None:
        left_mean = float(deviation[start : start + split].mean())
        right_mean = float(deviation[start + split :].mean())
        converged = _alike(left_mean, right_mean)
        steps.append(
            Step(
                start=start,
                breakpoint=start + split,
                left_mean=left_mean,
                right_mean=right_mean,
                converged=converged,
            )
        )
        if converged:
            break
        start += split
    return tuple(steps)


def _alike(left_mean: float, right_mean: float) -> bool:
    difference = abs(left_mean - right_mean)
    if difference <= ABS_THRESHOLD_MBPS:
        return True
    return right_mean > 0 and difference / right_mean <= PCT_THRESHOLD


def converged_at(throughput: pd.DataFrame) -> float | None:
    """Return a time after which all flows of an experiment have converged.

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds, as
        ``Run.throughput(1.0)`` returns it. The thresholds were selected for intervals of 1 s.

    Returns
    -------
    float or None
        The latest flow's time, in seconds: at least `WINDOW_S` before the end of the trace. None if
        one of the flows does not converge, as always in a trace that is hardly longer than that.

    Raises
    ------
    InputError
        `throughput` has no flows or no intervals, or a value in it is not finite.

    Examples
    --------
    >>> converged_at(run.throughput(interval_s=1.0))  # doctest: +SKIP
    """
    _check(throughput)
    interval_s = float(throughput.index[0])
    window = max(2, round(WINDOW_S / interval_s))
    latest = 0.0
    for flow in throughput.columns:
        deviation = rolling_deviation(throughput[flow].to_numpy(dtype=np.float64), window)
        steps = convergence_steps(deviation)
        if not (steps and steps[-1].converged):
            return None
        latest = max(latest, steps[-1].breakpoint * interval_s)
    return latest


def measured_from(converged_at_s: float | None, duration_s: float) -> float:
    """Return when the part of a run begins over which harm is computed, in seconds.

    The point of convergence if there is one, else 60 s (section 5.3.3.2). A run of less than 120 s
    has no minute to spare: its second half counts, from a whole second on.

    Examples
    --------
    >>> measured_from(70.0, 180.0), measured_from(None, 180.0), measured_from(None, 30.0)
    (70.0, 60.0, 15.0)
    """
    if converged_at_s is not None:
        return converged_at_s
    return min(SKIPPED_S, duration_s // 2)


def _check(throughput: pd.DataFrame) -> None:
    if 0 in throughput.shape:
        allowed = "at least 1 interval of at least 1 flow"
        raise _validate.bad("throughput.shape", throughput.shape, allowed, "run for longer")
    for flow in throughput.columns:
        finite = np.isfinite(throughput[flow].to_numpy(dtype=np.float64))
        if not finite.all():
            row = int(np.argmin(finite))
            field = f"throughput of flow {flow} at {throughput.index[row]:g} s"
            raise _validate.bad(field, throughput[flow].iloc[row], "finite", "check the run")
