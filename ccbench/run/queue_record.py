# SPDX-License-Identifier: Apache-2.0
"""The record of one queue, from its events or from a summary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from ccbench.run import intervals, queue_events

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.run.queue_summary import QueueSummary
    from ccbench.run.record import RunRecord

__all__ = ["EventRecord", "QueueRecord", "SummaryRecord", "backlog_at"]


class QueueRecord(Protocol):
    """The record of one queue."""

    def time_ns_by_packets(self) -> pd.Series[Any]:
        """Return the time at each queue length, if above 0 ns, by packets in ascending order."""

    def backlog_at(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the number of waiting packets at some instants."""

    def packets(self, event: str) -> int:
        """Return the number of packets with an event."""


@dataclass(frozen=True)
class EventRecord:
    """The record of a queue from its events.

    Parameters
    ----------
    run : Run
        A run with a queue log.
    bottleneck : int
        Position of the bottleneck.
    queue : str, optional
        One of the queues of its qdisc; by default the whole qdisc.

    Raises
    ------
    InputError
        If the run has no queue log, or there is no such queue.
    """

    run: RunRecord
    bottleneck: int
    queue: str | None = None

    def __post_init__(self) -> None:
        _ = self._events

    @cached_property
    def _events(self) -> pd.DataFrame:
        return queue_events.events(self.run, self.bottleneck, self.queue)

    def time_ns_by_packets(self) -> pd.Series[Any]:
        """Return the time at each queue length, if above 0 ns, by packets in ascending order."""
        duration_ns = intervals.duration_ns(self.run.scenario)
        times = np.concatenate([[0], self._events["time_ns"], [duration_ns]])
        lengths = np.concatenate([[0], self._events["backlog_packets"]])
        time_ns = pd.Series(np.diff(times)).groupby(lengths).sum()
        return time_ns[time_ns > 0]

    def backlog_at(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the number of waiting packets at some instants."""
        return backlog_at(self._events, at_ns)

    def packets(self, event: str) -> int:
        """Return the number of packets with an event."""
        return int((self._events["event"] == event).sum())


@dataclass(frozen=True)
class SummaryRecord:
    """The record of a queue from the summary of its run.

    Parameters
    ----------
    summary : QueueSummary
        Summary of all queues.
    bottleneck : int
        Position of the bottleneck.
    queue : str, optional
        One of the queues of its qdisc; by default the whole qdisc.
    """

    summary: QueueSummary
    bottleneck: int
    queue: str | None = None

    def time_ns_by_packets(self) -> pd.Series[Any]:
        """Return the time at each queue length, if above 0 ns, by packets in ascending order."""
        time_ns = self._rows("occupancy").set_index("packets")["time_ns"]
        return time_ns[time_ns > 0]

    def backlog_at(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the number of waiting packets at instants of samples."""
        samples = self._rows("samples")
        sample = np.searchsorted(samples["time_ns"].to_numpy(), at_ns)
        return np.asarray(samples["backlog_packets"].to_numpy()[sample])

    def packets(self, event: str) -> int:
        """Return the number of packets with an event."""
        return self.summary.packets(event, self.bottleneck, self.queue)

    def _rows(self, table: str) -> pd.DataFrame:
        return self.summary.rows(table, self.bottleneck, self.queue)


def backlog_at(events: pd.DataFrame, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return the number of waiting packets at some instants from a queue's ordered events.

    This is the backlog after the last event at or before each instant; 0 before the first event.
    """
    latest = np.searchsorted(events["time_ns"].to_numpy(), at_ns, side="right")
    backlog = np.concatenate([[0], events["backlog_packets"].to_numpy()])
    return np.asarray(backlog[latest])
