# SPDX-License-Identifier: Apache-2.0
r"""Stability and steady state of ABC's queue: the fluid model of its control loop.

An ABC router signals the target rate (2.1) of the thesis to its senders, which adopt it one round
trip later; in addition, each of N senders adds one packet every l seconds. The queueing delay x
then follows the delay-differential equation (A.5):

.. math::

    \dot x(t) = A - \frac{1}{\delta} \left(x(t - \tau) - d_t\right)^+,
    \qquad A = \eta - 1 + \frac{N}{\mu l}

where tau is the propagation delay of a round trip and mu the link's rate in packets per second. The
surplus A is the traffic in excess of the link's rate while the router does not reduce it. If it is
negative, the queue empties and stays empty for any delta. If it is positive, the delay has one
fixed point (section 2.3.1.4),

.. math::

    x^* = A \delta + d_t

and delta > 2/3 tau is sufficient for every solution to converge to it (2.4, A.9). Near the fixed
point the equation is linear and converges if and only if delta > 2/pi tau, which is 0.637 tau.
Between these two values, the theorem makes no statement about solutions far from the fixed point;
below the smaller, the delay oscillates forever.

The model neglects the size of packets, queueing delay as part of the round trip (tau and l are
constant), the window over which the router measures rates, and the upper bound 1 of f. Unlike in
(A.5), the delay is never below 0.

References
----------
P. Goyal's thesis, section 2.3.1 and appendix A, whose equation numbers are used. In "ABC: A Simple
Explicit Congestion Controller for Wireless Networks" (NSDI 2020) they are section 3.1.4, theorem
3.1, and appendix C. J. Yorke, "Asymptotic stability for one dimensional differential-delay
equations", 1970. Roots of the linear equation: R. Corless et al., "On the Lambert W function",
1996.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import lambertw

from ccbench.base import validation
from ccbench.base.arrays import broadcastable, numbers
from ccbench.base.checked_fields import check_fields, number, whole
from ccbench.base.validation import RATE_MBPS, Range
from ccbench.experiment.flow import MAX_FLOWS, MTU_BYTES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["DELTA_BOUND", "LOCAL_DELTA_BOUND", "AbcModel", "fluid_delay"]

#: delta / tau above which the queueing delay converges from any start (A.9).
DELTA_BOUND = 2 / 3
#: delta / tau above which the queueing delay converges near the fixed point, and below which never.
LOCAL_DELTA_BOUND = 2 / math.pi

_RTT = Range(0.001, 10_000)
_FLOWS = Range(1, MAX_FLOWS)
_ETA = Range(0, 1, low_open=True)
_DELTA = Range(0.001, 1e6)
_THRESHOLD = Range(0, 1e6)
_INTERVAL = Range(0.001, 1e9)
_DURATION = Range(0.001, 1e6)
_DELAY = Range(0, 1e9)
_ROUND_TRIPS = Range(0, 1e6, low_open=True)
_STEPS = Range(10, 1_000_000)


def fluid_delay(  # noqa: PLR0913 - the equation has four parameters, the integrator two
    surplus: ArrayLike,
    delta: ArrayLike,
    *,
    threshold: ArrayLike = 0.0,
    start: ArrayLike = 0.0,
    round_trips: float = 100,
    steps: int = 200,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Integrate (A.5), with all times in units of the propagation delay tau.

    There is no other scale: x/tau as a function of t/tau depends only on A, delta/tau and d_t/tau.
    Each step depends only on past values, so the trapezoidal rule needs no iteration. Its error
    decreases with the square of the step.

    Parameters
    ----------
    surplus : array_like
        Surplus A as a fraction of the link's rate, of any sign. `surplus`, `delta`, `threshold` and
        `start` are broadcast to a shape S, with one solution for each element.
    delta : array_like
        delta/tau, above 0.
    threshold : array_like
        d_t/tau, at least 0.
    start : array_like
        x/tau at time 0 and in the preceding round trip, at least 0.
    round_trips : float
        Duration t/tau, above 0 to 1,000,000; rounded up to whole round trips.
    steps : int
        Steps per round trip, 10 to 1,000,000.

    Returns
    -------
    times : numpy.ndarray
        t/tau from 0, shape (n,).
    delays : numpy.ndarray
        x/tau at these times, shape (n,) + S.

    Raises
    ------
    InputError
        If a setting is out of range or not a number.

    Examples
    --------
    In the first round trip, the router reacts to the preceding delay, which is constant, so that
    the delay decreases linearly; with delta = tau, from 1 to 0:

    >>> times, delays = fluid_delay(0.0, 1.0, start=1.0, round_trips=1, steps=10)
    >>> delays.round(2).tolist()
    [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]

    Three values of delta, the first of which is too small for convergence:

    >>> _, delays = fluid_delay(0.1, [0.5, 0.7, 1.33], round_trips=300)
    >>> last = delays[-1000:]
    >>> (last.max(axis=0) - last.min(axis=0)).round(2).tolist()
    [0.12, 0.0, 0.0]
    """
    a = numbers("surplus", surplus, Range(), example=0.05)
    d = numbers("delta", delta, Range(0, low_open=True), example=1.33)
    threshold_ = numbers("threshold", threshold, Range(0), example=0.2)
    start_ = numbers("start", start, Range(0), example=0)
    shape = broadcastable(surplus=a, delta=d, threshold=threshold_, start=start_)
    round_trips = validation.number("round_trips", round_trips, _ROUND_TRIPS, example=100)
    steps = validation.whole("steps", steps, _STEPS, example=200)

    rounds = math.ceil(round_trips)
    delays = np.empty((rounds * steps + 1, *shape))
    past = np.broadcast_to(start_, (steps + 1, *shape))
    for i in range(rounds):
        rate = a - np.maximum(past - threshold_, 0) / d
        free = past[-1] + np.cumsum((rate[1:] + rate[:-1]) / (2 * steps), axis=0)
        # An empty queue stays empty until the surplus is positive; it does not go below 0.
        free -= np.minimum(np.minimum.accumulate(free, axis=0), 0)
        delays[i * steps] = past[-1]
        delays[i * steps + 1 : (i + 1) * steps + 1] = free
        past = delays[i * steps : (i + 1) * steps + 1]
    return np.arange(len(delays)) / steps, delays


@dataclass(frozen=True, kw_only=True)
class AbcModel:
    """ABC flows at one ABC router whose link has a constant rate.

    Parameters
    ----------
    bandwidth_mbps : float
        Rate mu of the link in Mbit/s of IP bytes, 0.001 to 100,000.
    rtt_ms : float
        Propagation delay tau of a round trip in milliseconds, 0.001 to 10,000; the longest, if RTTs
        differ.
    flows : int
        Number N of flows, 1 or more.
    eta : float
        Target utilisation, above 0 to 1.
    delta_ms : float
        Time in which the router drains a queue, 0.001 to 1,000,000 ms. The default is the thesis's
        value for a round trip of 100 ms.
    delay_threshold_ms : float
        Queueing delay d_t that the router tolerates, 0 to 1,000,000 ms.
    increase_interval_ms : float, optional
        Interval l in which each sender adds a packet, 0.001 to 1e9 ms. Default: the round trip
        (2.3). A long interval disables the additive increase.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    The thesis's eta and delta at 24 Mbit/s and 100 ms. Four flows add four packets per round trip
    to a BDP of 200, the 2 % that eta leaves; ten flows build a queue:

    >>> AbcModel(bandwidth_mbps=24, rtt_ms=100, flows=4).steady_delay_ms
    0.0
    >>> model = AbcModel(bandwidth_mbps=24, rtt_ms=100, flows=10)
    >>> round(model.surplus, 3), round(model.steady_delay_ms, 2), model.is_stable
    (0.03, 3.99, True)
    >>> round(model.smallest_delta_ms, 1)
    66.7
    """

    bandwidth_mbps: float = field(metadata=number(RATE_MBPS, example=24))
    rtt_ms: float = field(metadata=number(_RTT, example=100))
    flows: int = field(default=1, metadata=whole(_FLOWS, example=1))
    eta: float = field(default=0.98, metadata=number(_ETA, example=0.98))
    delta_ms: float = field(default=133.0, metadata=number(_DELTA, example=133))
    delay_threshold_ms: float = field(default=0.0, metadata=number(_THRESHOLD, example=20))
    increase_interval_ms: float | None = field(
        default=None, metadata=number(_INTERVAL, example=100, optional=True)
    )

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def surplus(self) -> float:
        """Surplus A of (A.5) as a fraction of the link's rate, while the delay is below d_t.

        If it is 0 or less, the additive increase stays within the capacity that eta leaves
        ("gentle" in the thesis).
        """
        interval_ms = (
            self.rtt_ms if self.increase_interval_ms is None else self.increase_interval_ms
        )
        packets_per_s = self.bandwidth_mbps * 1e6 / (8 * MTU_BYTES)
        surplus = self.eta - 1 + self.flows * 1e3 / (packets_per_s * interval_ms)
        # Rounding of 1 - 0.98 must not turn a surplus of 0 into a small number.
        return 0.0 if abs(surplus) < 8 * np.finfo(float).eps else surplus

    @property
    def steady_delay_ms(self) -> float:
        """Steady queueing delay in ms: A delta + d_t, or 0 if A < 0.

        If A = 0, any delay from 0 to d_t is steady, and the result is d_t.
        """
        if self.surplus < 0:
            return 0.0
        return self.surplus * self.delta_ms + self.delay_threshold_ms

    @property
    def steady_rate_mbps(self) -> float:
        """Steady rate r* of arriving packets in Mbit/s: (1 + A) mu (A.7), at most mu (A.10).

        Examples
        --------
        >>> round(AbcModel(bandwidth_mbps=24, rtt_ms=100, flows=2).steady_rate_mbps, 2)
        23.76
        """
        return min(1.0, 1 + self.surplus) * self.bandwidth_mbps

    @property
    def smallest_delta_ms(self) -> float:
        """Delta in ms above which theorem 1 guarantees convergence: 2/3 tau, or 0 if A <= 0."""
        return DELTA_BOUND * self.rtt_ms if self.surplus > 0 else 0.0

    @property
    def is_stable(self) -> bool:
        """Whether theorem 1 guarantees that the delay converges from any start (2.4).

        Examples
        --------
        >>> many = {"bandwidth_mbps": 24, "rtt_ms": 100, "flows": 20}
        >>> AbcModel(**many, delta_ms=67).is_stable, AbcModel(**many, delta_ms=66).is_stable
        (True, False)
        """
        return self.delta_ms > self.smallest_delta_ms

    @property
    def is_locally_stable(self) -> bool:
        """Whether the delay converges near the fixed point: delta > 2/pi tau, or A <= 0.

        This follows from :attr:`is_stable`. If it is false, the delay oscillates forever.
        """
        return self.surplus <= 0 or self.delta_ms > LOCAL_DELTA_BOUND * self.rtt_ms

    @property
    def time_constant_ms(self) -> float:
        r"""Time constant of small deviations in ms; infinite if they do not decay.

        The linear equation has solutions exp(st) with s tau = W(-tau/delta), where W is Lambert's
        function; the principal branch decays most slowly. The time constant is shortest, tau, at
        delta = e tau, above which the delay does not oscillate. NaN for A <= 0, which has no fixed
        point to oscillate around.

        Examples
        --------
        >>> model = AbcModel(bandwidth_mbps=24, rtt_ms=100, flows=20, delta_ms=133)
        >>> round(model.time_constant_ms)
        194
        """
        if self.surplus <= 0:
            return math.nan
        root = lambertw(-self.rtt_ms / self.delta_ms).real
        decay = 1.0 if math.isnan(root) else -root  # NaN at -1, where two branches meet
        return self.rtt_ms / decay if decay > 0 else math.inf

    def delay_ms(
        self, duration_s: float, *, start_ms: ArrayLike = 0.0, steps: int = 200
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Integrate the fluid model.

        Parameters
        ----------
        duration_s : float
            Duration, 0.001 to 1,000,000 s; rounded up to whole round trips.
        start_ms : array_like
            Queueing delay at time 0 and in the preceding round trip, 0 to 1e9 ms; of a shape S,
            with one solution for each element.
        steps : int
            Steps per round trip, 10 to 1,000,000.

        Returns
        -------
        times_s : numpy.ndarray
            Times in seconds, shape (n,).
        delays_ms : numpy.ndarray
            Queueing delay at these times, shape (n,) + S.

        Raises
        ------
        InputError
            If an argument is out of range.

        Examples
        --------
        >>> model = AbcModel(bandwidth_mbps=24, rtt_ms=100, flows=10)
        >>> times_s, delays_ms = model.delay_ms(10, start_ms=[0, 250])
        >>> delays_ms[-1].round(2).tolist()
        [3.99, 3.99]
        """
        duration_s = validation.number("duration_s", duration_s, _DURATION, example=10)
        start = numbers("start_ms", start_ms, _DELAY, example=0)
        times, delays = fluid_delay(
            self.surplus,
            self.delta_ms / self.rtt_ms,
            threshold=self.delay_threshold_ms / self.rtt_ms,
            start=start / self.rtt_ms,
            round_trips=duration_s * 1e3 / self.rtt_ms,
            steps=steps,
        )
        return times * self.rtt_ms / 1e3, delays * self.rtt_ms
