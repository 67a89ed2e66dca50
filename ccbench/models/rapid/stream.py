# SPDX-License-Identifier: Apache-2.0
r"""P-streams: groups of N packets that probe a path at increasing rates.

Packet i leaves P / r_(i-1) after its predecessor. The rates are a geometric progression, and the
gaps have a given mean:

.. math::

    r_i = m^{i-1} r_1, \qquad \frac{N-1}{r_{avg}} = \sum_{i=1}^{N-1} \frac{1}{r_i}

With the paper's m = 1.07 and N = 22, r_1 is 0.55 and r_21 is 2.14 times r_avg; the paper states
"about 0.6" and "about 2.5".

References
----------
V. Konda and J. Kaur, "Rethinking the Timescales at Which Congestion-control Operates", section
III.A.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.validation import Range
from ccbench.experiment.flow import MTU_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FACTOR", "PACKETS", "rates_mbps", "send_times_ns"]

#: Number N of packets of a stream.
PACKETS = 22
#: Ratio m of successive rates of a stream.
FACTOR = 1.07

_MEAN = Range(0, low_open=True)
_PACKETS = Range(3, 10_000)
_FACTOR = Range(1, 10, low_open=True)


def rates_mbps(
    mean_mbps: float, *, packets: int = PACKETS, factor: float = FACTOR
) -> NDArray[np.float64]:
    """Return the rates r_1 to r_(N-1) of a stream in Mbit/s.

    Parameters
    ----------
    mean_mbps : float
        Mean rate r_avg of the stream, above 0.
    packets : int
        Number N of packets, 3 to 10,000.
    factor : float
        Ratio m of successive rates, above 1 and at most 10.

    Returns
    -------
    numpy.ndarray
        Shape (`packets` - 1,), increasing.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> rates_mbps(100).round(1)[[0, -1]].tolist()
    [55.2, 213.6]
    >>> rates_mbps(12, packets=4, factor=2).round(9).tolist()
    [7.0, 14.0, 28.0]
    """
    mean_mbps = validation.number("mean_mbps", mean_mbps, _MEAN, example=100)
    packets = validation.whole("packets", packets, _PACKETS, example=PACKETS)
    factor = validation.number("factor", factor, _FACTOR, example=FACTOR)
    relative = factor ** np.arange(packets - 1.0)
    return np.asarray(mean_mbps * relative * np.mean(1 / relative))


def send_times_ns(
    mean_mbps: float,
    *,
    packets: int = PACKETS,
    factor: float = FACTOR,
    packet_bytes: int = MTU_BYTES,
) -> NDArray[np.float64]:
    """Return the sending times of a stream's packets in nanoseconds, starting at 0.

    Parameters
    ----------
    mean_mbps, packets, factor
        As in :func:`rates_mbps`.
    packet_bytes : int
        Size of the packets, 1 or more.

    Returns
    -------
    numpy.ndarray
        Shape (`packets`,).

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    Three gaps with a mean of 1.5 ms, each half as long as the previous:

    >>> (send_times_ns(8, packets=4, factor=2) / 1e6).round(3).tolist()
    [0.0, 2.571, 3.857, 4.5]
    """
    packet_bytes = validation.whole("packet_bytes", packet_bytes, Range(1, 2**31), example=1500)
    gaps_ns = packet_bytes * 8e3 / rates_mbps(mean_mbps, packets=packets, factor=factor)
    return np.concatenate(([0.0], np.cumsum(gaps_ns)))
