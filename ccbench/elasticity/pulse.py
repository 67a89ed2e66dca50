# SPDX-License-Identifier: Apache-2.0
r"""The pulse that a sender adds to its rate (section 3.4, figure 6).

It is a positive half-sine for a quarter of the period T and a negative half-sine of a third of the
height for the other three quarters, so that its mean is 0:

.. math::

    p(t) = \begin{cases}
        A \sin(4 \pi t / T) & 0 \le t < T / 4 \\
        -\frac{A}{3} \sin\left(\frac{4 \pi}{3} (t / T - 1/4)\right) & T / 4 \le t < T
    \end{cases}

with A = μ/4. It requires a sending rate of μ/12 only; a symmetric pulse would require μ/4.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.arrays import numbers
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "PULSE_HZ",
    "PULSE_SIZE",
    "burst_bytes",
    "fundamental_mbps",
    "least_rate_mbps",
    "pulse_mbps",
]

#: Height of a pulse as a fraction of the link's rate: μ/4.
PULSE_SIZE = 0.25
#: Frequency f_p of the pulses in Hz.
PULSE_HZ = 5.0

#: Fraction of the period in which the pulse is positive, and ratio of negative to positive height.
_UP = 0.25
_DOWN_TO_UP = _UP / (1 - _UP)

_POSITIVE = Range(0, low_open=True)
_SIZE = Range(0, 1, low_open=True)


def pulse_mbps(
    time_s: ArrayLike,
    link_mbps: float,
    *,
    size: float = PULSE_SIZE,
    frequency_hz: float = PULSE_HZ,
) -> NDArray[np.float64]:
    """Return a pulser's addition to its rate over time, in Mbit/s (figure 6).

    Parameters
    ----------
    time_s : array_like
        Time since the start of a pulse in seconds, of any shape.
    link_mbps : float
        Rate μ of the bottleneck, above 0.
    size : float
        Height of the positive half-sine as a fraction of `link_mbps`, above 0 and at most 1.
    frequency_hz : float
        Frequency f_p = 1/T of the pulses, above 0.

    Raises
    ------
    InputError
        If a value is out of range or not a number.

    Examples
    --------
    The maximum is after an eighth of the period, the minimum after five eighths:

    >>> pulse_mbps([0.025, 0.125], 96).round(3).tolist()
    [24.0, -8.0]
    """
    link, size, frequency = _checked(link_mbps, size, frequency_hz)
    phase = (numbers("time_s", time_s, Range(), example=0.1) * frequency) % 1.0
    up = np.sin(np.pi * phase / _UP)
    down = -_DOWN_TO_UP * np.sin(np.pi * (phase - _UP) / (1 - _UP))
    return np.asarray(link * size * np.where(phase < _UP, up, down))


def least_rate_mbps(link_mbps: float, *, size: float = PULSE_SIZE) -> float:
    """Return the minimum rate of a pulsing sender in Mbit/s: μ/12 for pulses of μ/4.

    Parameters and errors are those of :func:`pulse_mbps`.

    Examples
    --------
    >>> least_rate_mbps(96)
    8.0
    """
    link, size, _ = _checked(link_mbps, size, PULSE_HZ)
    return link * size * _DOWN_TO_UP


def burst_bytes(
    link_mbps: float, *, size: float = PULSE_SIZE, frequency_hz: float = PULSE_HZ
) -> float:
    """Return the maximum number of bytes that a pulse adds to the queue: T μ / 8π for μ/4.

    Parameters and errors are those of :func:`pulse_mbps`.

    Examples
    --------
    About 4 % of the link's capacity in a period:

    >>> round(burst_bytes(96)), round(burst_bytes(96) / (96e6 / 8 * 0.2), 3)
    (95493, 0.04)
    """
    link, size, frequency = _checked(link_mbps, size, frequency_hz)
    return link * 1e6 / 8 * size * (2 / math.pi) * _UP / frequency


def fundamental_mbps(link_mbps: float, *, size: float = PULSE_SIZE) -> float:
    r"""Return the amplitude of the pulses' fundamental at f_p, in Mbit/s.

    It is 16 √2 / 15 π = 0.48 of the height of the pulse. The rest consists of harmonics.

    Parameters and errors are those of :func:`pulse_mbps`.

    Examples
    --------
    >>> round(fundamental_mbps(96), 2)
    11.52
    """
    link, size, _ = _checked(link_mbps, size, PULSE_HZ)
    return link * size * 16 * math.sqrt(2) / (15 * math.pi)


def _checked(link_mbps: float, size: float, frequency_hz: float) -> tuple[float, float, float]:
    number = validation.number
    return (
        number("link_mbps", link_mbps, _POSITIVE, example=96),
        number("size", size, _SIZE, example=PULSE_SIZE),
        number("frequency_hz", frequency_hz, _POSITIVE, example=PULSE_HZ),
    )
