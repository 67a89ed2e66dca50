# SPDX-License-Identifier: Apache-2.0
r"""Elasticity: how far the cross traffic's rate goes up and down with a sender's pulses.

The metric compares the spectrum of the cross traffic's rate z at the pulses' frequency with the
highest peak between that and the first harmonic (section 3.3):

.. math::

    \eta = \frac{|FFT_z(f_p)|}{\max_{f \in (f_p + \epsilon, 2 f_p - \epsilon)} |FFT_z(f)|} \quad (3)

Where the paper leaves room:

- **The window holds whole pulses**, so that f_p is one of the FFT's frequencies; between two of
  them, up to 36 % of the peak would be lost.
- **No taper**: the paper names none. The mean is subtracted, which changes no other frequency.
- **The interval is open**, as it is written: with ε = 0.5 Hz and 5 s it has the 20 frequencies from
  5.6 to 9.4 Hz.
- **A rate that does not vary** at any of these frequencies has η = 0: nothing has reacted. What is
  lower than 1e-9 of the rates themselves is taken for rounding.

Of white noise, η has a closed distribution: magnitudes squared are independent and exponential, so
that P(η > x) = n B(n, 1 + x²) with n frequencies in the interval and Euler's B. With the paper's
settings, noise is above the threshold 2 in 0.01 % of windows.
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

#: What the compared frequencies keep away from f_p and its double, ε.
MARGIN_HZ = 0.5
#: Length of the FFT.
WINDOW_S = 5.0
#: Cross traffic is elastic from this η on.
THRESHOLD = 2.0
#: Time between two samples of the rates.
STEP_S = 0.01

#: Of numbers that ought to be whole.
_WHOLE = 1e-6
#: Magnitudes below this part of the rates are rounding.
_ROUNDING = 1e-9

_POSITIVE = Range(0, low_open=True)


def spectrum(
    samples: ArrayLike, *, step_s: float = STEP_S
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the amplitudes of the sines of which a rate over time is made, by their frequencies.

    Parameters
    ----------
    samples : array_like
        Rates at equal intervals; the last axis is time, with 2 samples or more.
    step_s : float
        The interval in seconds, above 0.

    Returns
    -------
    frequencies_hz : numpy.ndarray
        From 0 to half the sampling rate, shape (n // 2 + 1,).
    amplitudes : numpy.ndarray
        In the unit of `samples`: a sine of amplitude a at one of the frequencies has a there. The
        mean is left out. Shape (..., n // 2 + 1).

    Raises
    ------
    InputError
        If a value is out of range or no number.

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
        If a rate is no finite number, or the last axis has another length.
    """
    windows = numbers(field, rates, Range(), example=24)
    if windows.ndim == 0 or windows.shape[-1] != samples:
        allowed = f"(..., {samples}), one window"
        step = "cut longer series with Detector.windows"
        raise validation.bad(f"the shape of {field}", windows.shape, allowed, step)
    return windows


@dataclass(frozen=True, kw_only=True)
class Detector:
    """The elasticity detector, by its settings.

    Parameters
    ----------
    pulse_hz : float
        Frequency of the sender's pulses, f_p, above 0.
    margin_hz : float
        ε, above 1 / `window_s` and below `pulse_hz` / 2.
    window_s : float
        Length of the FFT; a whole number of pulses and of samples.
    threshold : float
        The η from which on cross traffic is elastic, at least 1.
    step_s : float
        Time between two samples of the rates; short enough for twice `pulse_hz`.

    Raises
    ------
    InputError
        If a setting is out of range, or two do not fit each other.

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
            allowed = f"at most {1 / (4 * pulse_hz):g}, to see twice pulse_hz = {pulse_hz:g}"
            raise validation.bad("step_s", step_s, allowed, "sample more often")
        for what, count in (("pulses", pulse_hz * window_s), ("samples", window_s / step_s)):
            if round(count) < 1 or abs(count - round(count)) > _WHOLE * count:
                allowed = f"a whole number of {what}; these are {count:g}"
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
        """The positions in the FFT of the frequencies that f_p's is compared with.

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
            Shape of `rates` without the last axis; at least 0, infinite where only f_p is there.

        Raises
        ------
        InputError
            If a rate is no finite number, or they are not one window.
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
        nothing = np.where(peak > 0, np.inf, 0.0)
        return np.asarray(np.divide(peak, others, out=nothing, where=others > 0))

    def windows(self, rates: ArrayLike, *, every: int = 10) -> NDArray[np.float64]:
        """Return the windows of a longer series of rates, as :meth:`elasticity` takes them.

        Parameters
        ----------
        rates : array_like
            Shape (n,), at intervals of `step_s`.
        every : int
            Samples from one window to the next, at least 1.

        Returns
        -------
        numpy.ndarray
            Shape (m, `samples`), a view. The first is the first `samples` samples; none if n is
            smaller.

        Raises
        ------
        InputError
            If a value is out of range or no number.

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

        Parameters, result's length and errors are those of :meth:`windows`.

        Examples
        --------
        Cross traffic that begins to follow the pulses after 5 of 10 seconds:

        >>> time_s = np.arange(1000) / 100
        >>> noise = np.random.default_rng(1).normal(size=1000)
        >>> follows = np.where(time_s < 5, 0, 4 * np.sin(2 * np.pi * 5 * time_s))
        >>> Detector().elasticity_over_time(20 + noise + follows, every=250) > 2
        array([False,  True,  True])
        """
        return self.elasticity(self.windows(rates, every=every))

    def is_elastic(self, elasticity: ArrayLike) -> NDArray[np.bool_]:
        """Tell whether cross traffic of this η is elastic: at the threshold or above.

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
    if count % 2 == 0:  # the highest frequency stands for itself alone
        amplitudes[..., -1] /= 2
    return fft.rfftfreq(count, step_s), np.asarray(amplitudes)
