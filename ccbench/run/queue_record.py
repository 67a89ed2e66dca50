# SPDX-License-Identifier: Apache-2.0
"""The record of one queue, from its events or from a summary."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ccbench.run import intervals, queue_events
from ccbench.run.tables import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt
    import pandas as pd

    from ccbench.run.queue_summary import QueueSummary
    from ccbench.run.record import RunRecord

__all__ = ["EventRecord", "QueueRecord", "SummaryRecord", "backlog_at"]


class QueueRecord(Protocol):
    """The record of one queue."""

    def time_ns_by_packets(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return lengths of the queue in ascending order, and the time at each, above 0 ns."""

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
        queue_events.check_events(self.run, self.bottleneck, self.queue)

    def time_ns_by_packets(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return lengths of the queue in ascending order, and the time at each, above 0 ns."""
        spent = np.zeros(1)
        now_ns, length = 0, 0
        end = np.array([intervals.duration_ns(self.run.scenario)]), np.array([0])
        for times_ns, lengths in itertools.chain(self._parts("time_ns", "backlog_packets"), [end]):
            if not len(times_ns):
                continue
            waited_ns = np.diff(times_ns, prepend=now_ns)
            part = np.bincount(np.append(length, lengths[:-1]), waited_ns)
            spent = np.pad(spent, (0, max(0, len(part) - len(spent))))
            spent[: len(part)] += part  # whole numbers below 2^53
            now_ns, length = int(times_ns[-1]), int(lengths[-1])
        packets = np.flatnonzero(spent > 0)
        return packets, spent[packets].astype(np.int64)

    def backlog_at(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the number of waiting packets at some instants."""
        parts = [*self._parts("time_ns", "backlog_packets")]
        times_ns, backlog = (np.concatenate(column) for column in zip(*parts, strict=True))
        return backlog_at({"time_ns": times_ns, "backlog_packets": backlog}, at_ns)

    def packets(self, event: str) -> int:
        """Return the number of packets with an event."""
        code = CATEGORIES["event"].index(event)
        return sum(int((events == code).sum()) for (events,) in self._parts("event"))

    def _parts(self, *names: str) -> Iterator[tuple[npt.NDArray[Any], ...]]:
        return queue_events.parts(self.run, self.bottleneck, self.queue, *names)


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

    def time_ns_by_packets(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return lengths of the queue in ascending order, and the time at each, above 0 ns."""
        packets, time_ns = self._columns("occupancy", "packets", "time_ns")
        return packets[time_ns > 0], time_ns[time_ns > 0]

    def backlog_at(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the number of waiting packets at instants of samples."""
        times_ns, backlog = self._columns("samples", "time_ns", "backlog_packets")
        return np.asarray(backlog[np.searchsorted(times_ns, at_ns)])

    def packets(self, event: str) -> int:
        """Return the number of packets with an event."""
        return self.summary.packets(event, self.bottleneck, self.queue)

    def _columns(self, table: str, *names: str) -> tuple[npt.NDArray[Any], ...]:
        return self.summary.columns_of(table, self.bottleneck, self.queue, *names)


def backlog_at(
    events: pd.DataFrame | Mapping[str, npt.NDArray[Any]], at_ns: npt.NDArray[np.int64]
) -> npt.NDArray[Any]:
    """Return the number of waiting packets at some instants from a queue's ordered events.

    This is the backlog after the last event at or before each instant; 0 before the first event.
    """
    latest = np.searchsorted(np.asarray(events["time_ns"]), at_ns, side="right")
    backlog = np.concatenate([[0], np.asarray(events["backlog_packets"])])
    return np.asarray(backlog[latest])
