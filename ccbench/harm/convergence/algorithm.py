# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 on one flow: the time after which its deviation stays alike (Ware, 5.3.3).

Flows in competition often swing widely for as long as they run, so neither "stays near its fair
share" nor "varies by less than X %" tells when they have settled. The detector asks instead whether
the *size* of the swings is stable: it follows the standard deviation of each flow's throughput over
a rolling window, cuts that trace in two where its mean changes most (one breakpoint, least
squares), and, while the two parts differ, goes on with the later one.

Where the paper leaves room
---------------------------
Numbers are from 72 real runs with 264 flows, labelled by a rule that knows nothing of the detector
(:mod:`ccbench.harm.convergence.labels`). "Near" are flows whose mean throughput after the returned
time is within 10 % of that after the label. The study ``ware-5.9`` prints them anew.

Both thresholds or one (`thresholds`)
    Algorithm 1 loops while *either* difference is too large; its explanation in the text stops when
    *at least one* is small enough, and so does the authors' later public artifact. We follow the
    text: a flow near 0 has a huge percentage, and a fast one many Mbit/s, however stable it is. It
    finds 97 % of the flows that have converged, of which 89 % are near; with both it is 87 % and
    87 %.
The axis of the returned time (`window_named_by`)
    A rolling window over the seconds t to t + 60 may be called t or t + 60. We call it t, its
    start: if all windows from the one that starts at t on look alike, then so does all throughput
    from t on, which is what the caller measures. Figure 5.8 does the same (its deviations end at
    120 s of 180 s). It also leaves a whole window to be measured after any time that is returned.
    89 % are near; with t + 60 it is 67 %, as too little is left to measure.
What the percentage is of (`percent_of`)
    Algorithm 1 divides by the right mean, which may be near 0. The example in its explanation, 0.42
    for 11.26 and 6.51, divides by the left one, and so does the artifact: that is what the authors
    ran, and what we do. A right mean of 0 then needs no rule of its own; a left mean of 0 leaves
    the difference in Mbit/s to decide. It matters little: 5 of the 72 times differ, and 89 % are
    near with the left, the right or the larger of the two.
Which time is returned
    The last breakpoint, where the second of two similar parts begins, as in the listing and in
    Figure 5.7 (70 s), and not the beginning of the first (55 s), as one sentence of the text says.
    It is a time after convergence, not the time of convergence.
The shortest part
    5 samples, as in the artifact; what cannot be cut in two of them "can no longer be segmented".

What it cannot do
-----------------
It says where to begin measuring, and is better at that than ignoring the first minute (89 % against
78 % near). It is no proof of convergence. Of the 51 flows that had not converged by their label it
turned none away, not even when a competitor arrived 50 s before the end: the windows that hold its
arrival have much the same deviation. Nor does it see a rate that drifts evenly. And it is not a
speed: of a flow that never changes it returns any time, depending on noise, and so a late one for
the latest of many flows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from ccbench.base import validation
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DEFAULT_DETECTOR",
    "MIN_SEGMENT",
    "Detector",
    "Step",
    "best_breakpoint",
    "convergence_steps",
    "rolling_deviation",
]

#: Fewest samples of a part.
MIN_SEGMENT = 5

FloatArray = npt.NDArray[np.float64]

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "thresholds": ("either", "both"),
    "window_named_by": ("start", "end"),
    "percent_of": ("left", "right", "larger"),
}


@dataclass(frozen=True, kw_only=True)
class Detector:
    """The parameters of Algorithm 1; the defaults are those of section 5.3.3.2.

    Parameters
    ----------
    window_s : float
        Length of the rolling window in seconds, above 0.
    abs_threshold_mbps : float
        Two parts are alike if their mean deviations differ by at most this many Mbit/s ...
    pct_threshold : float
        ... or by at most this fraction of one of them.
    min_segment : int
        Fewest windows of a part, 1 or more.
    thresholds : {"either", "both"}
        Whether one of the two is enough.
    window_named_by : {"start", "end"}
        Which end of a window is its time. The later one leaves as little as `min_segment` seconds
        to measure.
    percent_of : {"left", "right", "larger"}
        The mean deviation that `pct_threshold` is a fraction of: that of the earlier part, of the
        later part, or of the part with the wider swings.

    Raises
    ------
    InputError
        A parameter is out of range.

    Examples
    --------
    >>> Detector(thresholds="both").window_s
    60.0
    """

    window_s: float = 60.0
    abs_threshold_mbps: float = 0.2
    pct_threshold: float = 0.2
    min_segment: int = MIN_SEGMENT
    thresholds: Literal["either", "both"] = "either"
    window_named_by: Literal["start", "end"] = "start"
    percent_of: Literal["left", "right", "larger"] = "left"

    def __post_init__(self) -> None:
        validation.number("window_s", self.window_s, Range(0, low_open=True), example=60)
        threshold = self.abs_threshold_mbps
        validation.number("abs_threshold_mbps", threshold, Range(0), example=0.2)
        validation.number("pct_threshold", self.pct_threshold, Range(0), example=0.2)
        validation.whole("min_segment", self.min_segment, Range(1), example=MIN_SEGMENT)
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                step = f'write for example {name} = "{choices[0]}"'
                raise validation.bad(name, value, f"one of {', '.join(choices)}", step)

    def alike(self, left_mean: float, right_mean: float) -> bool:
        """Say whether two parts with these mean deviations in Mbit/s count as alike.

        Examples
        --------
        >>> Detector().alike(11.0, 10.0), Detector(thresholds="both").alike(11.0, 10.0)
        (True, False)
        """
        difference = abs(left_mean - right_mean)
        base = {"left": left_mean, "right": right_mean, "larger": max(left_mean, right_mean)}
        # Multiplied, not divided: a mean of 0 has no percentage.
        near = difference <= self.abs_threshold_mbps
        similar = difference <= self.pct_threshold * base[self.percent_of]
        return (near and similar) if self.thresholds == "both" else (near or similar)


#: The thesis's parameters, read as the top of this file says.
DEFAULT_DETECTOR = Detector()


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


def convergence_steps(
    deviation: FloatArray, detector: Detector = DEFAULT_DETECTOR
) -> tuple[Step, ...]:
    """Run Algorithm 1 on one flow's deviation trace.

    Parameters
    ----------
    deviation : ndarray, shape (n,)
        Rolling standard deviation in Mbit/s.
    detector : Detector
        When two parts are alike, and how short a part may be.

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
    while (split := best_breakpoint(deviation[start:], detector.min_segment)) is not None:
        left_mean = float(deviation[start : start + split].mean())
        right_mean = float(deviation[start + split :].mean())
        converged = detector.alike(left_mean, right_mean)
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
