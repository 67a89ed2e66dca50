# SPDX-License-Identifier: Apache-2.0
"""Traces of queue occupancy: what is compared when servers are classified."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.run.queue_record import backlog_at

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

__all__ = ["DURATION_S", "STEP_S", "occupancy"]

#: Time between two points of a trace, in seconds. The thesis does not say which it took; finer ones
#: tell nothing more, as a packet takes 1.2 to 2.4 ms on its links.
STEP_S = 0.02

#: How long traces are, in seconds: longer ones tell hardly more (section 2.3.3.3).
DURATION_S = 20.0


def occupancy(
    events: pd.DataFrame, *, from_s: float | None = None, duration_s: float = DURATION_S
) -> npt.NDArray[np.float32]:
    """Return how many packets wait in a queue, every :data:`STEP_S`.

    Parameters
    ----------
    events : DataFrame
        What happened at the queue, in order: columns ``time_ns`` and ``backlog_packets``, as in
        ``queue`` of a :class:`~ccbench.run.run.Run`.
    from_s : float, optional
        When the trace begins. Left out: with the first packet.
    duration_s : float
        How long it is.

    Returns
    -------
    ndarray, shape (duration_s / STEP_S,)

    Raises
    ------
    InputError
        If the events end before the trace does.

    Examples
    --------
    >>> import pandas as pd
    >>> events = pd.DataFrame({"time_ns": [5_000_000, 30_000_000], "backlog_packets": [1, 2]})
    >>> occupancy(events, duration_s=0.02)
    array([1.], dtype=float32)
    """
    times_ns = events["time_ns"].to_numpy()
    points = round(duration_s / STEP_S)
    first_ns = times_ns[:1].sum() if from_s is None else round(from_s * 1e9)
    lasts_s = (times_ns[-1:].sum() - first_ns) / 1e9
    if lasts_s < duration_s - STEP_S:
        allowed = f"{duration_s:g} s of events at least"
        raise validation.bad("trace", f"{max(0.0, lasts_s):.3g} s", allowed, "observe for longer")
    at_ns = first_ns + np.arange(points) * round(STEP_S * 1e9)
    return backlog_at(events, at_ns).astype(np.float32)
