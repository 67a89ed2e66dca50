# SPDX-License-Identifier: Apache-2.0
r"""Estimate of a Wi-Fi link's rate from block ACKs, even without a backlog.

A router sends a batch of b frames (an A-MPDU) and waits for its block ACK before sending the next.
With a backlog, the batch would have had M frames, the receiver's limit. The time T_IA between two
block ACKs consists of the frames' transmission and an overhead h that is independent of their
number, so that a batch of M frames of S bits would have taken (M - b) S / R longer at the bitrate
R. This gives the rate of the link (2.6, 2.8):

.. math::

    \hat T_{IA}(M, t) = T_{IA}(b, t) + \frac{(M - b) S}{R}, \qquad
    \hat\mu(t) = \frac{M S}{\hat T_{IA}(M, t)}

The estimate is smoothed over a sliding window and limited to twice the current rate (2.5), because
ABC can at most double a rate in a round trip.

The rate of a user with a separate queue is estimated from that user's batches alone; the times of
other users' batches count as overhead. Users that share a queue are estimated together.

The thesis does not specify:

- **The weights of the moving average.** Here they are the times of the batches with M frames each:
  the average is of the time per frame, and the estimate is the rate of a backlogged link in the
  window. The plain mean of rates is some per cent too high if the overhead varies.
- **The current rate** of the cap. Here it is the rate over the same window.
- **Idle times** before a batch. They count as overhead and bias the estimate low. They occur only
  if a batch of one frame ends before the next frame arrives; the cap is then even lower, provided
  that the overhead exceeds the time of about one frame.

References
----------
P. Goyal's thesis, section 2.5.1, whose equation numbers are used. In "ABC: A Simple Explicit
Congestion Controller for Wireless Networks" (NSDI 2020) it is section 5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.arrays import broadcastable, check_increasing, check_row, numbers
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CAP",
    "WINDOW_MS",
    "dequeue_rate_mbps",
    "full_batch_ms",
    "link_rate_mbps",
    "smoothed_link_rate_mbps",
]

#: Upper bound of the estimate as a multiple of the current rate.
CAP = 2.0
#: Length T of the sliding window in milliseconds, longer than the time between two block ACKs.
WINDOW_MS = 40.0

_POSITIVE = Range(0, low_open=True)
_CAP = Range(1, 1e6)


def dequeue_rate_mbps(
    frames: ArrayLike, intervals_ms: ArrayLike, *, frame_bytes: ArrayLike
) -> NDArray[np.float64]:
    """Return the rate of each batch in Mbit/s (2.5).

    Parameters
    ----------
    frames : array_like
        Number b of frames of each batch, above 0. All arguments are broadcast against each other.
    intervals_ms : array_like
        Time T_IA from the previous block ACK to that of the batch in milliseconds, above 0.
    frame_bytes : array_like
        Size S/8 of a frame in bytes, above 0; the mean, if sizes differ.

    Raises
    ------
    InputError
        If a value is out of range or not a number.

    Examples
    --------
    >>> dequeue_rate_mbps([4, 20], [2, 5], frame_bytes=1500).tolist()
    [24.0, 48.0]
    """
    b = numbers("frames", frames, _POSITIVE, example=20)
    interval = numbers("intervals_ms", intervals_ms, _POSITIVE, example=5)
    size = numbers("frame_bytes", frame_bytes, _POSITIVE, example=1500)
    broadcastable(frames=b, intervals_ms=interval, frame_bytes=size)
    return np.asarray(b * size * 8 / (interval * 1e3))


def full_batch_ms(
    frames: ArrayLike,
    intervals_ms: ArrayLike,
    *,
    frame_bytes: ArrayLike,
    bitrate_mbps: ArrayLike,
    max_frames: ArrayLike,
) -> NDArray[np.float64]:
    """Return the time between block ACKs in ms if each batch had been full (2.8).

    Parameters
    ----------
    frames, intervals_ms, frame_bytes : array_like
        As in :func:`dequeue_rate_mbps`.
    bitrate_mbps : array_like
        Bitrate R of the physical layer for each batch in Mbit/s, above 0.
    max_frames : array_like
        Maximum number M of frames of a batch, at least `frames`.

    Raises
    ------
    InputError
        If a value is out of range or not a number, or a batch has more than `max_frames`.

    Examples
    --------
    Sixteen more frames of 12,000 bits take 3 ms more at 64 Mbit/s:

    >>> full_batch_ms(4, 2, frame_bytes=1500, bitrate_mbps=64, max_frames=20).tolist()
    5.0
    """
    b = numbers("frames", frames, _POSITIVE, example=20)
    interval = numbers("intervals_ms", intervals_ms, _POSITIVE, example=5)
    size = numbers("frame_bytes", frame_bytes, _POSITIVE, example=1500)
    bitrate = numbers("bitrate_mbps", bitrate_mbps, _POSITIVE, example=65)
    most = numbers("max_frames", max_frames, _POSITIVE, example=20)
    broadcastable(
        frames=b, intervals_ms=interval, frame_bytes=size, bitrate_mbps=bitrate, max_frames=most
    )
    excess = np.broadcast_arrays(b, most)
    if np.any(too_many := excess[0] > excess[1]):
        first = tuple(float(x[too_many][0]) for x in excess)
        step = "max_frames is the limit that receiver and router have agreed on"
        raise validation.bad("frames", first[0], f"at most max_frames = {first[1]:g}", step)
    return np.asarray(interval + (most - b) * size * 8 / (bitrate * 1e3))


def link_rate_mbps(
    frames: ArrayLike,
    intervals_ms: ArrayLike,
    *,
    frame_bytes: ArrayLike,
    bitrate_mbps: ArrayLike,
    max_frames: ArrayLike,
) -> NDArray[np.float64]:
    """Estimate the link's rate from each single batch in Mbit/s (2.6).

    Parameters and errors are those of :func:`full_batch_ms`.

    Examples
    --------
    A full batch, and one of four frames with the same overhead of 1.25 ms:

    >>> settings = {"frame_bytes": 1500, "bitrate_mbps": 64, "max_frames": 20}
    >>> link_rate_mbps([20, 4], [5, 2], **settings).tolist()
    [48.0, 48.0]
    """
    full = full_batch_ms(
        frames,
        intervals_ms,
        frame_bytes=frame_bytes,
        bitrate_mbps=bitrate_mbps,
        max_frames=max_frames,
    )
    return dequeue_rate_mbps(max_frames, full, frame_bytes=frame_bytes)


def smoothed_link_rate_mbps(  # noqa: PLR0913 - batches and averaging, by keyword
    ack_times_ms: ArrayLike,
    frames: ArrayLike,
    *,
    frame_bytes: ArrayLike,
    bitrate_mbps: ArrayLike,
    max_frames: ArrayLike,
    window_ms: float = WINDOW_MS,
    cap: float | None = CAP,
) -> NDArray[np.float64]:
    """Estimate the link's rate at each block ACK in Mbit/s, as an ABC router does.

    Parameters
    ----------
    ack_times_ms : array_like
        Increasing arrival times of block ACKs in milliseconds, shape (n,): of one user with a
        separate queue, or of all users with a shared queue.
    frames : array_like
        Frames of each acknowledged batch. This and the following arguments have shape (n,) or are
        one number for all batches.
    frame_bytes, bitrate_mbps, max_frames : array_like
        As in :func:`full_batch_ms`, for the user of each batch.
    window_ms : float
        Length of the window, above 0. The last batch always belongs to it.
    cap : float, optional
        Upper bound as a multiple of the current rate, 1 to 1,000,000; None: no bound.

    Returns
    -------
    numpy.ndarray
        Shape (n,); NaN at the first block ACK, which has no predecessor.

    Raises
    ------
    InputError
        If a value is out of range or not a number, a batch has more than `max_frames`, or times do
        not increase.

    Examples
    --------
    With 4 frames in 2 ms, the estimate is 48 Mbit/s. With 2 frames in 4 ms, it is limited to twice
    the current rate:

    >>> settings = {"frame_bytes": 1500, "bitrate_mbps": 64, "max_frames": 20}
    >>> smoothed_link_rate_mbps([0, 2, 4, 6], 4, **settings).tolist()
    [nan, 48.0, 48.0, 48.0]
    >>> smoothed_link_rate_mbps([0, 4, 8, 12], 2, **settings).tolist()
    [nan, 12.0, 12.0, 12.0]
    """
    times = np.atleast_1d(numbers("ack_times_ms", ack_times_ms, Range(), example=5))
    check_row("ack_times_ms", times, step="call it once for each link")
    step = "sort the block ACKs by time; two cannot arrive at once"
    check_increasing("ack_times_ms", times, step)
    window_ms = validation.number("window_ms", window_ms, _POSITIVE, example=WINDOW_MS)
    if cap is not None:
        cap = validation.number("cap", cap, _CAP, example=CAP)
    settings = {
        "frames": frames,
        "frame_bytes": frame_bytes,
        "bitrate_mbps": bitrate_mbps,
        "max_frames": max_frames,
    }
    arrays = {
        name: numbers(name, values, _POSITIVE, example=20) for name, values in settings.items()
    }
    broadcastable(ack_times_ms=times, **arrays)
    b, size, bitrate, most = (np.broadcast_to(x, times.shape)[1:] for x in arrays.values())

    intervals = np.diff(times)
    full = full_batch_ms(b, intervals, frame_bytes=size, bitrate_mbps=bitrate, max_frames=most)
    first = np.searchsorted(times[1:], times[1:] - window_ms, side="right")

    def in_window(values: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray(sums[1:] - sums[first])

    bits = 8 * size
    rates = in_window(most * bits) / in_window(full)
    if cap is not None:
        rates = np.minimum(rates, cap * in_window(b * bits) / in_window(intervals))
    return np.concatenate([[np.nan], rates / 1e3])[: len(times)]
