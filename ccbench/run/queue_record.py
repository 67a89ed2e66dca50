# SPDX-License-Identifier: Apache-2.0
"""The record of one queue, from its events or from a summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.run.queue_summary import QueueSummary

__all__ = ["EventRecord", "QueueRecord", "SummaryRecord", "backlog_at"]


class QueueRecord(Protocol):
    """The record of one queue."""

    def time_ns_by_packets(self) -> pd.Series[Any]:
        """Return the time at each queue length, if above 0 ns, by packets in ascending order."""

    def backlog_at(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the number of waiting packets at some instants."""

    def carried_bytes(self) -> int:
        """Return the IP bytes of these packets."""

    def waited_ns(self) -> int:
        """Return the sum of the waiting times of all packets."""

    def packets(self, event: str) -> int:
        """Return the number of packets with an event."""


@dataclass(frozen=True)
class EventRecord:
    """The record of a queue from its events.

    Parameters
    ----------
    events : DataFrame
        Rows of one bottleneck in ``queue`` of a :class:`~ccbench.run.run.Run`.
    duration_ns : int
        Length of the run.
    """

    events: pd.DataFrame
    duration_ns: int

    def time_ns_by_packets(self) -> pd.Series[Any]:
        """Return the time at each queue length, if above 0 ns, by packets in ascending order."""
        times = np.concatenate([[0], self.events["time_ns"], [self.duration_ns]])
        packets = np.concatenate([[0], self.events["backlog_packets"]])
        time_ns = pd.Series(np.diff(times)).groupby(packets).sum()
        return time_ns[time_ns > 0]

    def backlog_at(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the number of waiting packets at some instants."""
        return backlog_at(self.events, at_ns)

    def carried_bytes(self) -> int:
        """Return the IP bytes of these packets."""
        return int(self.events.loc[self.events["event"] == "dequeue", "bytes"].sum())

    def waited_ns(self) -> int:
        """Return the sum of the waiting times of all packets."""
        end_ns = np.append(self.events["time_ns"].to_numpy()[1:], self.duration_ns)
        length_ns = end_ns - self.events["time_ns"]
        return int(length_ns.to_numpy() @ self.events["backlog_packets"].to_numpy(np.int64))

    def packets(self, event: str) -> int:
        """Return the number of packets with an event."""
        return int((self.events["event"] == event).sum())


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

    def carried_bytes(self) -> int:
        """Return the IP bytes of these packets."""
        return self.summary.bytes("dequeue", self.bottleneck, self.queue)

    def waited_ns(self) -> int:
        """Return the sum of the waiting times of all packets."""
        occupancy = self._rows("occupancy")
        return int(occupancy["time_ns"].to_numpy() @ occupancy["packets"].to_numpy(np.int64))

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
