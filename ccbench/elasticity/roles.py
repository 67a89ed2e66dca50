# SPDX-License-Identifier: Apache-2.0
r"""Roles of several NimbusCC flows on one link: one pulser and its watchers (section 4.2).

The pulser has a frequency for each of its modes. Watchers do not pulse; they recognise the pulser's
mode in the spectrum of their receive rate R. They smooth their own rate so that it does not follow
the pulses, since the pulser would take them for elastic cross traffic.

Choices that the paper does not specify:

- **A peak** in R is a magnitude of at least `threshold` times the highest magnitude above both
  frequencies and below the first harmonic, as in (3) with (f_high + ε, 2 f_low − ε). The paper does
  not define "no peak".
- **The moving average** of watchers has a gain of a tenth at the lower of the two frequencies. The
  paper mutes higher frequencies without giving a factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.arrays import broadcastable, exponential_average, numbers
from ccbench.base.checked_fields import set_field
from ccbench.base.validation import Range
from ccbench.elasticity.detector import (
    MARGIN_HZ,
    STEP_S,
    THRESHOLD,
    WINDOW_S,
    Detector,
    one_window,
    spectrum,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "COMPETITIVE_HZ",
    "DELAY_HZ",
    "GAIN",
    "KAPPA",
    "PulserMode",
    "Watcher",
    "election_probability",
    "ewma_gain",
    "ewma_weight",
    "has_other_pulsers",
    "smoothed",
]

#: Frequency f_pc of the pulser in TCP-competitive mode, in Hz.
COMPETITIVE_HZ = 5.0
#: Frequency f_pd of the pulser in delay-control mode, in Hz.
DELAY_HZ = 6.0
#: Maximum expected number of pulsers that are elected within an FFT's length.
KAPPA = 1.0
#: Gain of a watcher's moving average at the lower frequency of a pulser.
GAIN = 0.1

_POSITIVE = Range(0, low_open=True)


class PulserMode(IntEnum):
    """Result of a watcher (:class:`Watcher`): no pulser, or a pulser in one of its modes.

    Examples
    --------
    >>> PulserMode(1).name
    'COMPETITIVE'
    """

    NO_PULSER = 0
    COMPETITIVE = 1
    DELAY = 2


@dataclass(frozen=True, kw_only=True)
class Watcher:
    """A flow that detects the pulser in its receive rate.

    Parameters
    ----------
    competitive_hz, delay_hz : float
        Frequencies f_pc and f_pd of the pulser's two modes, different and above 0.
    margin_hz, window_s, threshold, step_s : float
        As in :class:`~ccbench.elasticity.detector.Detector`, for both frequencies.

    Raises
    ------
    InputError
        If settings are out of range or inconsistent.

    Examples
    --------
    >>> time_s = np.arange(500) / 100
    >>> noise = np.random.default_rng(1).normal(size=500)
    >>> received = [10 + noise + 3 * np.sin(2 * np.pi * hz * time_s) for hz in (0, 5, 6)]
    >>> [PulserMode(mode).name for mode in Watcher().detect(received)]
    ['NO_PULSER', 'COMPETITIVE', 'DELAY']
    """

    competitive_hz: float = COMPETITIVE_HZ
    delay_hz: float = DELAY_HZ
    margin_hz: float = MARGIN_HZ
    window_s: float = WINDOW_S
    threshold: float = THRESHOLD
    step_s: float = STEP_S

    def __post_init__(self) -> None:
        names = ("margin_hz", "window_s", "threshold", "step_s")
        for name in ("competitive_hz", "delay_hz"):
            frequency = validation.number(name, getattr(self, name), _POSITIVE, example=5)
            with validation.within(f"{name} = {frequency:g}: "):
                Detector(pulse_hz=frequency, **{other: getattr(self, other) for other in names})
            set_field(self, name, frequency)
        apart = round(abs(self.competitive_hz - self.delay_hz) * self.window_s)
        if apart < 1:
            allowed = f"at least {1 / self.window_s:g} away from {self.competitive_hz:g}"
            raise validation.bad("delay_hz", self.delay_hz, allowed, "choose another frequency")
        if not len(self.compared):
            allowed = "close enough for frequencies between both and twice the lower one"
            raise validation.bad("delay_hz", self.delay_hz, allowed, "choose a closer frequency")

    @property
    def compared(self) -> NDArray[np.int64]:
        """Positions in the FFT of the frequencies with which the two are compared.

        Examples
        --------
        >>> Watcher().compared[[0, -1]] / 5.0
        array([6.6, 9.4])
        """
        both = (self.competitive_hz, self.delay_hz)
        low = (max(both) + self.margin_hz) * self.window_s
        high = (2 * min(both) - self.margin_hz) * self.window_s
        return np.arange(math.floor(low + 1e-6) + 1, math.ceil(high - 1e-6))

    def detect(self, receive_mbps: ArrayLike) -> NDArray[np.int64]:
        """Return the :class:`PulserMode` from the spectrum of a receive rate.

        Parameters
        ----------
        receive_mbps : array_like
            R at intervals of `step_s`; the last axis is time and has one window.

        Returns
        -------
        numpy.ndarray
            Shape of `receive_mbps` without the last axis.

        Raises
        ------
        InputError
            If a rate is not a finite number, or the last axis is not one window.
        """
        samples = round(self.window_s / self.step_s)
        rates = one_window("receive_mbps", receive_mbps, samples)
        _, amplitudes = spectrum(rates, step_s=self.step_s)
        competitive, delay = (
            amplitudes[..., round(hz * self.window_s)]
            for hz in (self.competitive_hz, self.delay_hz)
        )
        rounding = 1e-9 * np.abs(rates).max(axis=-1)
        others = np.maximum(amplitudes[..., self.compared].max(axis=-1), rounding)
        higher = np.where(competitive >= delay, PulserMode.COMPETITIVE, PulserMode.DELAY)
        is_peak = np.maximum(competitive, delay) >= self.threshold * others
        is_peak &= np.maximum(competitive, delay) > 0
        return np.asarray(np.where(is_peak, higher, PulserMode.NO_PULSER), dtype=np.int64)


def has_other_pulsers(
    cross_mbps: ArrayLike,
    receive_mbps: ArrayLike,
    *,
    pulse_hz: float = COMPETITIVE_HZ,
    step_s: float = STEP_S,
) -> NDArray[np.bool_]:
    """Return whether a pulser is not alone: the cross traffic varies more at f_p than the pulser.

    Parameters
    ----------
    cross_mbps, receive_mbps : array_like
        Rate ẑ of the cross traffic and receive rate R of the pulser at intervals of `step_s`; the
        last axis is time, of equal length and a whole number of pulses.
    pulse_hz : float
        Frequency of the pulser.
    step_s : float
        Time between two samples.

    Returns
    -------
    numpy.ndarray
        Shape of the broadcast rates without the last axis.

    Raises
    ------
    InputError
        If a value is out of range or not a number, shapes do not match, or pulses are not whole.

    Examples
    --------
    >>> tone = np.sin(2 * np.pi * 5 * np.arange(500) / 100)
    >>> has_other_pulsers([10 + 2 * tone, 10 + 4 * tone], 10 + 3 * tone)
    array([False,  True])
    """
    cross = numbers("cross_mbps", cross_mbps, Range(), example=24)
    receive = numbers("receive_mbps", receive_mbps, Range(), example=24)
    broadcastable(cross_mbps=cross, receive_mbps=receive)
    pulse_hz = validation.number("pulse_hz", pulse_hz, _POSITIVE, example=COMPETITIVE_HZ)
    peaks = []
    for rates in (cross, receive):
        frequencies, amplitudes = spectrum(rates, step_s=step_s)
        bin_hz = frequencies[1]
        at = round(pulse_hz / bin_hz)
        if not 1 <= at < len(frequencies) or abs(at * bin_hz - pulse_hz) > 1e-6 * pulse_hz:
            allowed = f"a multiple of {bin_hz:g} up to {frequencies[-1]:g}"
            raise validation.bad("pulse_hz", pulse_hz, allowed, "observe a whole number of pulses")
        peaks.append(amplitudes[..., at])
    return np.asarray(peaks[0] > peaks[1])


def election_probability(
    receive_mbps: ArrayLike,
    *,
    link_mbps: float,
    decision_s: float = 0.01,
    window_s: float = WINDOW_S,
    kappa: float = KAPPA,
) -> NDArray[np.float64]:
    """Return the probability that a flow becomes the pulser at a decision, if there is none (5).

    Parameters
    ----------
    receive_mbps : array_like
        Receive rate R_i of the flow, at least 0; any shape.
    link_mbps : float
        Rate μ of the bottleneck, above 0.
    decision_s : float
        Time τ between two decisions, above 0.
    window_s : float
        Length of the FFT, above 0.
    kappa : float
        Expected number κ of new pulsers within `window_s` on a full link, above 0.

    Raises
    ------
    InputError
        If a value is out of range or not a number.

    Examples
    --------
    >>> election_probability([24, 48], link_mbps=96).tolist()
    [0.0005, 0.001]
    """
    rates = numbers("receive_mbps", receive_mbps, Range(0), example=24)
    link = validation.number("link_mbps", link_mbps, _POSITIVE, example=96)
    decision = validation.number("decision_s", decision_s, _POSITIVE, example=0.01)
    window = validation.number("window_s", window_s, _POSITIVE, example=WINDOW_S)
    kappa = validation.number("kappa", kappa, _POSITIVE, example=KAPPA)
    return np.asarray(np.minimum(kappa * decision / window * rates / link, 1.0))


def ewma_weight(
    *,
    frequency_hz: float = min(COMPETITIVE_HZ, DELAY_HZ),
    gain: float = GAIN,
    step_s: float = STEP_S,
) -> float:
    r"""Return the weight of a new sample in a moving average with a given gain at a frequency.

    With the weight a, the gain of the average is a / √(1 − 2 (1 − a) cos ω + (1 − a)²), where ω =
    2π f step; this function is its inverse.

    Parameters
    ----------
    frequency_hz : float
        Frequency, above 0 and below half the sampling rate.
    gain : float
        Factor of the amplitude at this frequency, above 0 and below 1.
    step_s : float
        Time between two samples, above 0.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> weight = ewma_weight()
    >>> round(weight, 4), round(float(ewma_gain(5, weight=weight)), 6)
    (0.031, 0.1)
    """
    step_s = validation.number("step_s", step_s, _POSITIVE, example=STEP_S)
    nyquist = Range(0, 0.5 / step_s, low_open=True, high_open=True)
    frequency_hz = validation.number("frequency_hz", frequency_hz, nyquist, example=5)
    below_1 = Range(0, 1, low_open=True, high_open=True)
    gain = validation.number("gain", gain, below_1, example=GAIN)
    # a² = g² (1 − 2 b c + b²) with b = 1 − a is a² (1 − g²) − 2 g² (1 − c) a − 2 g² (1 − c) = 0
    square = gain**2
    turn = 2 * square * (1 - math.cos(2 * math.pi * frequency_hz * step_s))
    half = turn / (2 * (1 - square))
    return -half + math.sqrt(half**2 + turn / (1 - square))


def ewma_gain(
    frequency_hz: ArrayLike, *, weight: float, step_s: float = STEP_S
) -> NDArray[np.float64]:
    """Return the gain of a moving average at a frequency: the factor of the amplitude.

    Parameters
    ----------
    frequency_hz : array_like
        Frequency, at least 0.
    weight : float
        Weight of a new sample, above 0 and at most 1.
    step_s : float
        Time between two samples, above 0.

    Examples
    --------
    >>> ewma_gain([0, 50], weight=0.5).round(3).tolist()
    [1.0, 0.333]
    """
    frequency = numbers("frequency_hz", frequency_hz, Range(0), example=5)
    weight = validation.number("weight", weight, Range(0, 1, low_open=True), example=0.03)
    step_s = validation.number("step_s", step_s, _POSITIVE, example=STEP_S)
    turn = np.exp(-2j * np.pi * frequency * step_s)
    return np.asarray(weight / np.abs(1 - (1 - weight) * turn))


def smoothed(rates: ArrayLike, *, weight: float) -> NDArray[np.float64]:
    """Return the moving average of a watcher's rate, at which the watcher sends.

    Parameters
    ----------
    rates : array_like
        Rates at equal intervals; the last axis is time.
    weight : float
        Weight of a new sample, above 0 and at most 1; see :func:`ewma_weight`.

    Returns
    -------
    numpy.ndarray
        Shape of `rates`; the first value is that of `rates`.

    Raises
    ------
    InputError
        If a value is out of range or not a number.

    Examples
    --------
    >>> smoothed([8, 0, 0, 0], weight=0.5).tolist()
    [8.0, 4.0, 2.0, 1.0]
    """
    series = np.atleast_1d(numbers("rates", rates, Range(), example=24))
    weight = validation.number("weight", weight, Range(0, 1, low_open=True), example=0.03)
    if series.shape[-1] == 0:
        return series
    return exponential_average(series, decay=1 - weight)
