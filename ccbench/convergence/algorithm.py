# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 on one flow: the time from which its deviation is stable (Ware, section 5.3.3).

Competing flows often oscillate widely for as long as they run, so neither "stays near its fair
share" nor "varies by less than X %" indicates convergence. The detector tests instead whether the
*size* of the oscillations is stable: it computes the standard deviation of each flow's throughput
over a rolling window, splits this trace where its mean changes most (one breakpoint, least
squares), and continues with the later part while the two parts differ.

Ambiguities of the paper
------------------------
The study ``ware-5.9`` compares these choices with their alternatives on 144 runs with typical
noise, which are labelled by an independent rule (:mod:`ccbench.convergence.labels`).

One or both thresholds (`thresholds`)
    Algorithm 1 loops while *either* difference is too large. Its explanation in the text stops when
    *at least one* is small enough, and so does the authors' later public artifact. We follow the
    text: with both thresholds, a slow flow could fail by its large percentage and a fast flow by
    its difference in Mbit/s, however stable they are.
Time of a window (`window_named_by`)
    The time of a rolling window over the seconds t to t + 60 may be t or t + 60. We use its start
    t: if all windows from the one that starts at t are similar, so is all throughput from t on,
    which the caller measures. Figure 5.8 does the same (its deviations end at 120 s of 180 s). A
    whole window is then left to measure after any returned time; with t + 60, there may be too
    little.
Reference of the percentage (`percent_of`)
    Algorithm 1 divides by the right mean, which may be near 0. The example in its explanation, 0.42
    for 11.26 and 6.51, divides by the left mean, as do the artifact and therefore this code. A
    right mean of 0 then needs no special rule; with a left mean of 0, the difference in Mbit/s
    decides.
Returned time
    The last breakpoint, at which the second of two similar parts starts, as in the listing and in
    Figure 5.7 (70 s), and not the start of the first part (55 s), as in one sentence of the text.
    It is a time after convergence, not the time of convergence.
Shortest part
    5 samples, as in the artifact; a shorter trace than two such parts "can no longer be segmented".

Departure from the paper
------------------------
Limit on slow links (`abs_threshold_share`)
    The limit of 0.2 Mbit/s is that of links of tens of Mbit/s. On a link of 1 Mbit/s, all
    deviations of a sharing flow would be similar. The limit is therefore at most 2 % of the highest
    throughput of all flows together in an interval, which is about the rate of the link: from
    10 Mbit/s on, it is 0.2 Mbit/s as in the paper.

Limitations
-----------
The result is a time from which to measure, not a proof of convergence. The detector accepts flows
even if a competitor arrives 50 s before the end, because all windows that contain its arrival have
similar deviations. It does not detect a rate that drifts evenly;
:mod:`ccbench.convergence.trend` does, beside it. Nor does it measure the speed of
convergence: for a flow that never changes, it returns a random time, and thus a late time for the
latest of many flows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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

#: Minimum number of samples of a part.
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
        Largest difference in Mbit/s between the mean deviations of similar parts.
    abs_threshold_share : float
        Limit of `abs_threshold_mbps` as a fraction of the rate of the link, 0 to 1.
    pct_threshold : float
        Largest difference as a fraction of one of the mean deviations.
    min_segment : int
        Minimum number of windows of a part, 1 or more.
    thresholds : {"either", "both"}
        Whether similar parts must meet one or both of the two thresholds.
    window_named_by : {"start", "end"}
        The end of a window that is its time. The later end leaves as little as `min_segment`
        seconds to measure.
    percent_of : {"left", "right", "larger"}
        The mean deviation to which `pct_threshold` refers: that of the earlier part, that of the
        later part, or the larger of the two.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Examples
    --------
    >>> Detector(thresholds="both").window_s
    60.0
    """

    window_s: float = 60.0
    abs_threshold_mbps: float = 0.2
    abs_threshold_share: float = 0.02
    pct_threshold: float = 0.2
    min_segment: int = MIN_SEGMENT
    thresholds: Literal["either", "both"] = "either"
    window_named_by: Literal["start", "end"] = "start"
    percent_of: Literal["left", "right", "larger"] = "left"

    def __post_init__(self) -> None:
        validation.number("window_s", self.window_s, Range(0, low_open=True), example=60)
        threshold = self.abs_threshold_mbps
        validation.number("abs_threshold_mbps", threshold, Range(0), example=0.2)
        share = self.abs_threshold_share
        validation.number("abs_threshold_share", share, Range(0, 1), example=0.02)
        validation.number("pct_threshold", self.pct_threshold, Range(0), example=0.2)
        validation.whole("min_segment", self.min_segment, Range(1), example=MIN_SEGMENT)
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                step = f'write for example {name} = "{choices[0]}"'
                raise validation.bad(name, value, f"one of {', '.join(choices)}", step)

    def on_link(self, rate_mbps: float) -> Detector:
        """Return the detector for a link of a given rate.

        Examples
        --------
        >>> [Detector().on_link(rate_mbps).abs_threshold_mbps for rate_mbps in (1, 100)]
        [0.02, 0.2]
        """
        limit = min(self.abs_threshold_mbps, self.abs_threshold_share * rate_mbps)
        return replace(self, abs_threshold_mbps=limit)

    def alike(self, left_mean: float, right_mean: float) -> bool:
        """Return whether two parts with given mean deviations in Mbit/s are similar.

        Examples
        --------
        >>> Detector().alike(11.0, 10.0), Detector(thresholds="both").alike(11.0, 10.0)
        (True, False)
        """
        difference = abs(left_mean - right_mean)
        base = {"left": left_mean, "right": right_mean, "larger": max(left_mean, right_mean)}
        # A product, because a mean of 0 has no percentage.
        near = difference <= self.abs_threshold_mbps
        similar = difference <= self.pct_threshold * base[self.percent_of]
        return (near and similar) if self.thresholds == "both" else (near or similar)


#: The parameters of the thesis, with the choices of this module's docstring.
DEFAULT_DETECTOR = Detector()


@dataclass(frozen=True, kw_only=True)
class Step:
    """One iteration of Algorithm 1 on one flow's deviation trace, as in Figure 5.8.

    Attributes
    ----------
    start : int
        Index of the start of the remaining part (the possible convergence point).
    breakpoint : int
        Index at which its mean changes most (the validation breakpoint).
    left_mean, right_mean : float
        Mean deviation before and after the breakpoint, in the unit of the throughput.
    converged : bool
        Whether the two parts are similar, which ends the algorithm.
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
        Throughput of one flow.
    window : int
        Number of samples of a window.

    Returns
    -------
    ndarray, shape (n - window + 1,)
        Element i belongs to the window that *starts* at sample i; empty if n < window.

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
    """Return the index that splits `signal` into two constant parts with the least squared error.

    The squared error of n values around their mean is ``sum(x^2) - sum(x)^2 / n``, so cumulative
    sums give the errors of all splits at once. ``ruptures.Dynp(model="l2", jump=1)`` finds the same
    breakpoint by dynamic programming, as the tests verify.

    Parameters
    ----------
    signal : ndarray, shape (n,)
    min_segment : int
        Minimum number of values of a part.

    Returns
    -------
    int or None
        First index of the second part, the earliest of several equally good; None if `signal` is
        too short for two parts.

    Examples
    --------
    >>> best_breakpoint(np.array([0.0] * 10 + [1.0] * 10))
    10
    """
    n = signal.size
    if n < 2 * min_segment:
        return None
    # With a mean of 0, the sums of the two parts differ only in sign. The total sum of squares is
    # constant, so the means of the best split explain most of it.
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
        Parameters of the algorithm.

    Returns
    -------
    tuple of Step
        The iterations in order. The flow has converged if the last step has; the time of
        convergence is its ``breakpoint``.

    Examples
    --------
    Oscillations of 5 Mbit/s that decrease to 1 Mbit/s after 20 s. After a first split at 20, the
    remaining parts are similar:

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
