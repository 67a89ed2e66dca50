# SPDX-License-Identifier: Apache-2.0
"""Traces of queue occupancy, by which servers are classified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ccbench.base import validation
from ccbench.run.queue_events import check_events, parts
from ccbench.run.queue_record import backlog_at
from ccbench.run.tables import EVENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import pandas as pd

    from ccbench.run.run import Run

#: Events at a queue: columns by name.
Events: TypeAlias = "pd.DataFrame | Mapping[str, npt.NDArray[Any]]"

__all__ = ["DURATION_S", "STEP_S", "Events", "events_of", "instants_ns", "occupancy"]

#: Time between two points of a trace in seconds. The thesis does not state it. A shorter interval
#: adds no information, as a packet takes 1.2 to 2.4 ms on its links.
STEP_S = 0.02

#: Length of a trace in seconds; longer traces hardly improve accuracy (section 2.3.3.3).
DURATION_S = 20.0


def occupancy(
    events: Events,
    *,
    from_s: float | None = None,
    duration_s: float = DURATION_S,
    step_s: float = STEP_S,
) -> npt.NDArray[np.float32]:
    """Return the number of packets in a queue at equal intervals.

    Parameters
    ----------
    events : DataFrame or mapping of str to ndarray
        Events at the queue in order, with the columns ``time_ns`` and ``backlog_packets``, as in
        ``queue`` of a :class:`~ccbench.run.run.Run`.
    from_s : float, optional
        Start of the trace in seconds; by default the first packet.
    duration_s : float
        Length of the trace in seconds.
    step_s : float
        Time between two points in seconds.

    Returns
    -------
    ndarray, shape (duration_s / step_s,)

    Raises
    ------
    InputError
        If the events end before the end of the trace.

    Examples
    --------
    >>> import pandas as pd
    >>> events = pd.DataFrame({"time_ns": [5_000_000, 30_000_000], "backlog_packets": [1, 2]})
    >>> occupancy(events, duration_s=0.02)
    array([1.], dtype=float32)
    """
    times_ns = np.asarray(events["time_ns"])
    at_ns = instants_ns(events, from_s=from_s, duration_s=duration_s, step_s=step_s)
    length_s = (times_ns[-1:].sum() - at_ns[:1].sum()) / 1e9
    if length_s < duration_s - step_s:
        allowed = f"at least {duration_s:g} s of events"
        raise validation.bad("trace", f"{max(0.0, length_s):.3g} s", allowed, "record for longer")
    return backlog_at(events, at_ns).astype(np.float32)


def instants_ns(
    events: Events,
    *,
    from_s: float | None = None,
    duration_s: float = DURATION_S,
    step_s: float = STEP_S,
) -> npt.NDArray[np.int64]:
    """Return the times of the points of a trace in nanoseconds; see :func:`occupancy`.

    Examples
    --------
    >>> import pandas as pd
    >>> instants_ns(pd.DataFrame({"time_ns": [5_000_000]}), duration_s=0.04).tolist()
    [5000000, 25000000]
    """
    first_ns = np.asarray(events["time_ns"])[:1].sum() if from_s is None else round(from_s * 1e9)
    return np.asarray(first_ns + np.arange(round(duration_s / step_s)) * round(step_s * 1e9))


def events_of(run: Run, bottleneck: int = 0) -> dict[str, npt.NDArray[Any]]:
    """Return the events at a bottleneck of a run, as for :func:`occupancy`.

    Raises
    ------
    InputError
        If the run has no queue log.
    """
    check_events(run, bottleneck)
    names = "time_ns", "backlog_packets", "event"
    columns = zip(*parts(run, bottleneck, None, *names), strict=True)
    events = dict(zip(names, map(np.concatenate, columns), strict=True))
    return {**events, "event": np.array(EVENTS)[events["event"]]}
