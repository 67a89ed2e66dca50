# SPDX-License-Identifier: Apache-2.0
r"""Elasticity detector: the response of the cross traffic's rate to a sender's pulses.

The metric is the ratio of the spectrum of the cross traffic's rate z at the frequency of the pulses
to its highest peak between that frequency and the first harmonic (section 3.3):

.. math::

    \eta = \frac{|FFT_z(f_p)|}{\max_{f \in (f_p + \epsilon, 2 f_p - \epsilon)} |FFT_z(f)|} \quad (3)

Choices that the paper does not specify:

- **The window holds whole pulses**, so that f_p is one of the FFT's frequencies. Between two of
  them, up to 36 % of the peak would be lost.
- **There is no taper**; the paper mentions none. The mean is subtracted, which does not affect
  other frequencies.
- **The interval is open**, as written in (3). With ε = 0.5 Hz and 5 s, it contains the 20
  frequencies from 5.6 to 9.4 Hz.
- **A rate without variation** at any of these frequencies has η = 0. Magnitudes below 1e-9 of the
  rates are treated as rounding errors.

For white noise, the distribution of η has a closed form: squared magnitudes are independent and
exponential, so that P(η > x) = n B(n, 1 + x²) with n frequencies in the interval and Euler's beta
function B. With the paper's settings, noise exceeds the threshold 2 in 0.01 % of windows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import fft

from ccbench.base import validation
from ccbench.base.arrays import check_row, numbers
from ccbench.base.checked_fields import check_fields, number, set_field
from ccbench.base.validation import Range
from ccbench.elasticity.pulse import PULSE_HZ

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MARGIN_HZ", "STEP_S", "THRESHOLD", "WINDOW_S", "Detector", "one_window", "spectrum"]

#: Distance ε of the compared frequencies from f_p and its double, in Hz.
MARGIN_HZ = 0.5
#: Length of the FFT in seconds.
WINDOW_S = 5.0
#: Smallest η of elastic cross traffic.
THRESHOLD = 2.0
#: Time between two samples of the rates in seconds.
STEP_S = 0.01

#: Relative tolerance of whole numbers.
_WHOLE = 1e-6
#: Fraction of the rates below which magnitudes are rounding errors.
_ROUNDING = 1e-9

_POSITIVE = Range(0, low_open=True)


def spectrum(
    samples: ArrayLike, *, step_s: float = STEP_S
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the amplitude spectrum of a rate over time.

    Parameters
    ----------
    samples : array_like
        Rates at equal intervals; the last axis is time, with 2 samples or more.
    step_s : float
        Interval in seconds, above 0.

    Returns
    -------
    frequencies_hz : numpy.ndarray
        Frequencies from 0 to half the sampling rate, shape (n // 2 + 1,).
    amplitudes : numpy.ndarray
        Amplitudes of the sines in the unit of `samples`, shape (..., n // 2 + 1). The mean is
        removed.

    Raises
    ------
    InputError
        If a value is out of range or not a number.

    Examples
    --------
    >>> time_s = np.arange(500) / 100
    >>> frequencies, amplitudes = spectrum(20 + 3 * np.sin(2 * np.pi * 5 * time_s))
    >>> float(frequencies[25]), round(float(amplitudes[25]), 6)
    (5.0, 3.0)
    """
    step_s = validation.number("step_s", step_s, _POSITIVE, example=STEP_S)
    values = numbers("samples", samples, Range(), example=24)
    if values.ndim == 0 or values.shape[-1] < 2:  # noqa: PLR2004 - one sample has no spectrum
        allowed = "(..., n), n at least 2"
        raise validation.bad("the shape of samples", values.shape, allowed, "observe for longer")
    return _spectrum(values, step_s)


def one_window(field: str, rates: ArrayLike, samples: int) -> NDArray[np.float64]:
    """Return rates as an array whose last axis is one window of `samples`.

    Raises
    ------
    InputError
        If a rate is not a finite number, or the last axis has another length.
    """
    windows = numbers(field, rates, Range(), example=24)
    if windows.ndim == 0 or windows.shape[-1] != samples:
        allowed = f"(..., {samples}), one window"
        step = "cut longer series with Detector.windows"
        raise validation.bad(f"the shape of {field}", windows.shape, allowed, step)
    return windows


@dataclass(frozen=True, kw_only=True)
class Detector:
    """The elasticity detector.

    Parameters
    ----------
    pulse_hz : float
        Frequency f_p of the sender's pulses, above 0.
    margin_hz : float
        Distance ε of the compared frequencies, above 1 / `window_s` and below `pulse_hz` / 2.
    window_s : float
        Length of the FFT in seconds, a whole number of pulses and of samples.
    threshold : float
        Smallest η of elastic cross traffic, at least 1.
    step_s : float
        Time between two samples of the rates, at most 1 / (4 `pulse_hz`).

    Raises
    ------
    InputError
        If settings are out of range or inconsistent.

    Examples
    --------
    >>> time_s = np.arange(500) / 100
    >>> at_5_hz, at_7_hz = np.sin(2 * np.pi * 5 * time_s), np.sin(2 * np.pi * 7 * time_s)
    >>> Detector().elasticity([20 + 3 * at_5_hz + at_7_hz, 20 + at_5_hz + 2 * at_7_hz]).round(3)
    array([3. , 0.5])
    """

    pulse_hz: float = field(default=PULSE_HZ, metadata=number(_POSITIVE, example=PULSE_HZ))
    margin_hz: float = MARGIN_HZ
    window_s: float = field(default=WINDOW_S, metadata=number(_POSITIVE, example=WINDOW_S))
    threshold: float = field(default=THRESHOLD, metadata=number(Range(1), example=THRESHOLD))
    step_s: float = field(default=STEP_S, metadata=number(_POSITIVE, example=STEP_S))

    def __post_init__(self) -> None:
        check_fields(self)
        pulse_hz, step_s, window_s = self.pulse_hz, self.step_s, self.window_s
        if 1 / step_s < 4 * pulse_hz:
            allowed = f"at most {1 / (4 * pulse_hz):g}, to resolve twice pulse_hz = {pulse_hz:g}"
            raise validation.bad("step_s", step_s, allowed, "sample more often")
        for unit, count in (("pulses", pulse_hz * window_s), ("samples", window_s / step_s)):
            if round(count) < 1 or abs(count - round(count)) > _WHOLE * count:
                allowed = f"a whole number of {unit}; these are {count:g}"
                step = f"write for example window_s = {max(1, round(25 / pulse_hz))}"
                raise validation.bad("window_s", window_s, allowed, step)
        least, most = 1 / window_s, pulse_hz / 2
        allowed_margin = Range(least, most, low_open=True, high_open=True)
        example = (least + most) / 2
        margin_hz = validation.number("margin_hz", self.margin_hz, allowed_margin, example=example)
        set_field(self, "margin_hz", margin_hz)
        if not len(self.compared):
            allowed = f"one that leaves a frequency between {pulse_hz:g} and {2 * pulse_hz:g} Hz"
            raise validation.bad("margin_hz", self.margin_hz, allowed, "lengthen window_s")

    @property
    def samples(self) -> int:
        """Number of samples in a window.

        Examples
        --------
        >>> Detector().samples
        500
        """
        return round(self.window_s / self.step_s)

    @property
    def compared(self) -> NDArray[np.int64]:
        """Positions in the FFT of the frequencies with which f_p is compared.

        Examples
        --------
        >>> Detector().compared[[0, -1]] / 5.0
        array([5.6, 9.4])
        """
        low = (self.pulse_hz + self.margin_hz) * self.window_s
        high = (2 * self.pulse_hz - self.margin_hz) * self.window_s
        return np.arange(math.floor(low + _WHOLE) + 1, math.ceil(high - _WHOLE))

    def elasticity(self, rates: ArrayLike) -> NDArray[np.float64]:
        """Return η of rates (3).

        Parameters
        ----------
        rates : array_like
            Rates of the cross traffic in any unit, at intervals of `step_s`; the last axis is time
            and has one window.

        Returns
        -------
        numpy.ndarray
            Shape of `rates` without the last axis; at least 0, infinite if only f_p is present.

        Raises
        ------
        InputError
            If a rate is not a finite number, or the last axis is not one window.
        """
        windows = one_window("rates", rates, self.samples)
        _, amplitudes = _spectrum(windows, self.step_s)
        floor = _ROUNDING * np.abs(windows).max(axis=-1, keepdims=True)
        amplitudes = np.where(amplitudes > floor, amplitudes, 0.0)
        return self.ratio(amplitudes)

    def ratio(self, amplitudes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return η of the :func:`spectrum` of one window, whose last axis is frequency (3).

        Examples
        --------
        >>> flat = np.ones(251)
        >>> float(Detector().ratio(flat))
        1.0
        """
        peak = amplitudes[..., round(self.pulse_hz * self.window_s)]
        others = amplitudes[..., self.compared].max(axis=-1)
        limit = np.where(peak > 0, np.inf, 0.0)
        return np.asarray(np.divide(peak, others, out=limit, where=others > 0))

    def windows(self, rates: ArrayLike, *, every: int = 10) -> NDArray[np.float64]:
        """Return the windows of a longer series of rates for :meth:`elasticity`.

        Parameters
        ----------
        rates : array_like
            Rates at intervals of `step_s`, shape (n,).
        every : int
            Samples from one window to the next, at least 1.

        Returns
        -------
        numpy.ndarray
            A view of shape (m, `samples`), starting with the first sample; empty if n is below
            `samples`.

        Raises
        ------
        InputError
            If a value is out of range or not a number.

        Examples
        --------
        >>> Detector().windows(np.zeros(600), every=50).shape
        (3, 500)
        """
        series = numbers("rates", rates, Range(), example=24)
        every = validation.whole("every", every, Range(1, 10**9), example=10)
        check_row("rates", series, step="give one series")
        if len(series) < self.samples:
            return np.empty((0, self.samples))
        return np.asarray(sliding_window_view(series, self.samples)[::every])

    def elasticity_over_time(self, rates: ArrayLike, *, every: int = 10) -> NDArray[np.float64]:
        """Return η of each window of a longer series of rates.

        Parameters, length of the result and errors are those of :meth:`windows`.

        Examples
        --------
        Cross traffic that responds to the pulses from 5 s on:

        >>> time_s = np.arange(1000) / 100
        >>> noise = np.random.default_rng(1).normal(size=1000)
        >>> response = np.where(time_s < 5, 0, 4 * np.sin(2 * np.pi * 5 * time_s))
        >>> Detector().elasticity_over_time(20 + noise + response, every=250) > 2
        array([False,  True,  True])
        """
        return self.elasticity(self.windows(rates, every=every))

    def is_elastic(self, elasticity: ArrayLike) -> NDArray[np.bool_]:
        """Return whether cross traffic of a given η is elastic: at the threshold or above.

        Examples
        --------
        >>> Detector().is_elastic([1.9, 2.0])
        array([False,  True])
        """
        return np.asarray(np.asarray(elasticity, dtype=float) >= self.threshold)


def _spectrum(
    samples: NDArray[np.float64], step_s: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    count = samples.shape[-1]
    transformed = fft.rfft(samples - samples.mean(axis=-1, keepdims=True), axis=-1)
    amplitudes = np.abs(transformed) * (2 / count)
    amplitudes[..., 0] = 0.0
    if count % 2 == 0:  # the highest frequency has no mirror image
        amplitudes[..., -1] /= 2
    return fft.rfftfreq(count, step_s), np.asarray(amplitudes)
