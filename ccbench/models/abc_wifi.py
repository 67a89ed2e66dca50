# SPDX-License-Identifier: Apache-2.0
r"""The rate of a Wi-Fi link, estimated from its block ACKs, even where it is not used to the full.

A router sends a batch of b frames (an A-MPDU) and waits for the one block ACK before it sends the
next. If it had more to send, the batch would have had M frames, the most that the receiver takes.
The time from one block ACK to the next, T_IA, is that of the frames and an overhead h which does
not depend on how many they are, so that M frames of S bits would have taken (M - b) S / R more at
the bitrate R. This gives the link's rate without a backlog (2.6, 2.8):

.. math::

    \hat T_{IA}(M, t) = T_{IA}(b, t) + \frac{(M - b) S}{R}, \qquad
    \hat\mu(t) = \frac{M S}{\hat T_{IA}(M, t)}

smoothed over a sliding window, and at most twice the rate at which the link now sends (2.5): ABC
cannot more than double a rate in a round trip.

Of several users, one who has a queue of their own is estimated from their batches alone: times at
which others send are overhead. Users who share a queue are estimated together, from all batches.

Where the thesis leaves room:

- **The weights of the moving average** are the batches' own times, with M frames each: what is
  averaged is then the time for a frame, and what comes out is what a backlog would have sent in
  the window. The plain mean of rates is too high by some per cent where the overhead varies.
- **The current rate** of the cap is that of the same window.
- **Idle times** before a batch look like overhead, and make the estimate too low. They occur only
  where a batch of one frame is done before the next frame comes, and there the cap is lower still,
  as long as the overhead exceeds the time of about one frame.

References
----------
P. Goyal's thesis, section 2.5.1; the equations bear its numbers. In "ABC: A Simple Explicit
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

#: The estimate is at most this multiple of the current rate.
CAP = 2.0
#: Length of the sliding window in milliseconds, T; longer than the time between two block ACKs.
WINDOW_MS = 40.0

_POSITIVE = Range(0, low_open=True)
_CAP = Range(1, 1e6)


def dequeue_rate_mbps(
    frames: ArrayLike, intervals_ms: ArrayLike, *, frame_bytes: ArrayLike
) -> NDArray[np.float64]:
    """Return the rates at which batches were sent in Mbit/s (2.5).

    Parameters
    ----------
    frames : array_like
        Frames in each batch, b, above 0. It and the others are broadcast against each other.
    intervals_ms : array_like
        Time from the block ACK before it to its own in milliseconds, T_IA, above 0.
    frame_bytes : array_like
        Size of a frame in bytes, S/8, above 0; the mean, if they differ.

    Returns
    -------
    numpy.ndarray
        One rate for each batch.

    Raises
    ------
    InputError
        If a value is out of range or no number.

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
    """Return in how many ms each batch would have been acknowledged, had it been a full one (2.8).

    Parameters
    ----------
    frames, intervals_ms, frame_bytes : array_like
        As in :func:`dequeue_rate_mbps`.
    bitrate_mbps : array_like
        Bitrate of the physical layer for each batch in Mbit/s, R, above 0.
    max_frames : array_like
        The most frames that a batch may have, M, at least `frames`.

    Raises
    ------
    InputError
        If a value is out of range or no number, or a batch has more than `max_frames`.

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
    """Estimate the link's rate from each batch alone in Mbit/s (2.6).

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


def smoothed_link_rate_mbps(  # noqa: PLR0913 - what was sent, and how it is averaged; by keyword
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
        When block ACKs were received in milliseconds, increasing, shape (n,): those of one user
        where users have queues of their own, else those of all.
    frames : array_like
        Frames in the batch that each acknowledges, shape (n,) or one number for all; so the next.
    frame_bytes, bitrate_mbps, max_frames : array_like
        As in :func:`full_batch_ms`, those of the batch's user.
    window_ms : float
        Length of the window, above 0. The last batch is always in it.
    cap : float, optional
        The most that comes out, as a multiple of the current rate, 1 to 1,000,000; None: no limit.

    Returns
    -------
    numpy.ndarray
        Shape (n,); NaN at the first block ACK, which has none before it.

    Raises
    ------
    InputError
        If a value is out of range or no number, a batch has more than `max_frames`, or times do
        not increase.

    Examples
    --------
    Batches of 4 frames in 2 ms: the link would take 48 Mbit/s. Of 2 in 4 ms, more than is sent now,
    by far, so that twice that rate is what comes out:

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
