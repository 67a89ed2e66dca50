# SPDX-License-Identifier: Apache-2.0
"""Packets in flight, from the record of the bottleneck's queue.

A queue's occupancy hides the sender's window while the queue is empty. But packets that left the
queue less than a base round trip ago are not yet acknowledged. Together with the waiting packets
they are the packets in flight, which a sender that always has data keeps at its window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.classify.occupancy import DURATION_S, STEP_S, instants_ns, occupancy

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.classify.occupancy import Events
    from ccbench.classify.setting import Setting

__all__ = ["in_flight"]


def in_flight(
    events: Events,
    setting: Setting,
    *,
    from_s: float | None = None,
    duration_s: float = DURATION_S,
    step_s: float = STEP_S,
) -> npt.NDArray[np.float32]:
    """Return the number of packets in flight at equal intervals.

    Parameters
    ----------
    events : DataFrame
        Events at a drop-tail queue, all of one sender, as for
        :func:`~ccbench.classify.occupancy.occupancy`, with the column ``event`` if known. Without
        it, the link is assumed to be busy while packets wait, and idle otherwise. The column
        ``in_flight_packets`` of a sender's recording is the result itself.
    setting : Setting
        The bottleneck.
    from_s : float, optional
        Start in seconds; by default the first packet.
    duration_s : float
        Length in seconds.
    step_s : float
        Time between two points in seconds.

    Returns
    -------
    ndarray, shape (duration_s / step_s,)
        Waiting packets, and packets that left the queue in the last round-trip time of the setting.

    Raises
    ------
    InputError
        If the events end before the end of the trace.

    Examples
    --------
    A packet enters an empty queue, leaves it at once, and is in flight for 85 ms:

    >>> import pandas as pd
    >>> from ccbench.classify.setting import SETTINGS
    >>> packets = {"time_ns": [0, 0, 10**9], "backlog_packets": [1, 0, 1]}
    >>> events = pd.DataFrame({**packets, "event": ["enqueue", "dequeue", "enqueue"]})
    >>> in_flight(events, SETTINGS[0], duration_s=0.12)
    array([1., 1., 1., 1., 1., 0.], dtype=float32)
    """
    span: dict[str, Any] = {"from_s": from_s, "duration_s": duration_s, "step_s": step_s}
    waiting = occupancy(events, **span)
    at_ns = instants_ns(events, **span)
    times_ns = np.asarray(events["time_ns"], np.int64)
    if "in_flight_packets" in events:
        last = np.maximum(np.searchsorted(times_ns, at_ns, side="right") - 1, 0)
        return np.asarray(events["in_flight_packets"], np.float32)[last]
    if "event" in events:
        left = np.cumsum(np.asarray(events["event"]) == "dequeue")
    else:
        some_wait = np.asarray(events["backlog_packets"]) > 0
        waited_ns = np.diff(times_ns, append=times_ns[-1]) * some_wait
        left = np.append(0, np.cumsum(waited_ns[:-1])) * 1e-9 * setting.packets_per_s
    left = np.append(0, left)
    until = np.searchsorted(times_ns, at_ns, side="right")
    since = np.searchsorted(times_ns, at_ns - round(setting.rtt_ms * 1e6), side="right")
    return np.asarray(waiting + left[until] - left[since], dtype=np.float32)
