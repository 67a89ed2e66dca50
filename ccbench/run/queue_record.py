# SPDX-License-Identifier: Apache-2.0
"""What a run knows of one queue: its events, or a summary of them. Both answer the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from ccbench.run import table_files

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.run.queue_summary import QueueSummary

__all__ = ["Events", "QueueRecord", "Summarised"]


class QueueRecord(Protocol):
    """What is known of one queue."""

    def time_ns_by_packets(self) -> pd.Series[Any]:
        """Return for how long how many packets waited; index ascending, without 0 ns."""

    def backlog_at(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return how many packets wait at some instants."""

    def carried_packets(self) -> int:
        """Return how many packets left for the link."""

    def carried_bytes(self) -> int:
        """Return the IP bytes of these packets."""

    def waited_ns(self) -> int:
        """Return for how long all packets together have waited."""


@dataclass(frozen=True)
class Events:
    """A queue by its events.

    Parameters
    ----------
    events : DataFrame
        Rows of ``queue`` of a :class:`~ccbench.run.run.Run`, of one bottleneck.
    duration_ns : int
        Length of the run.
    """

    events: pd.DataFrame
    duration_ns: int

    def time_ns_by_packets(self) -> pd.Series[Any]:
        """Return for how long how many packets waited; index ascending, without 0 ns."""
        times = np.concatenate([[0], self.events["time_ns"], [self.duration_ns]])
        packets = np.concatenate([[0], self.events["backlog_packets"]])
        time_ns = pd.Series(np.diff(times)).groupby(packets).sum()
        return time_ns[time_ns > 0]

    def backlog_at(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return how many packets wait at some instants."""
        return table_files.backlog_at(self.events, at_ns)

    def carried_packets(self) -> int:
        """Return how many packets left for the link."""
        return int((self.events["event"] == "dequeue").sum())

    def carried_bytes(self) -> int:
        """Return the IP bytes of these packets."""
        return int(self.events.loc[self.events["event"] == "dequeue", "bytes"].sum())

    def waited_ns(self) -> int:
        """Return for how long all packets together have waited."""
        until_ns = np.append(self.events["time_ns"].to_numpy()[1:], self.duration_ns)
        lasted_ns = until_ns - self.events["time_ns"]
        return int(lasted_ns.to_numpy() @ self.events["backlog_packets"].to_numpy(np.int64))


@dataclass(frozen=True)
class Summarised:
    """A queue by the summary of its run.

    Parameters
    ----------
    summary : QueueSummary
        Of all queues.
    bottleneck : int
        Which one.
    """

    summary: QueueSummary
    bottleneck: int

    def time_ns_by_packets(self) -> pd.Series[Any]:
        """Return for how long how many packets waited; index ascending, without 0 ns."""
        time_ns = self._mine(self.summary.occupancy).set_index("packets")["time_ns"]
        return time_ns[time_ns > 0]

    def backlog_at(self, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return how many packets wait at some instants, which are those of samples."""
        samples = self._mine(self.summary.samples)
        sample = np.searchsorted(samples["time_ns"].to_numpy(), at_ns)
        return np.asarray(samples["backlog_packets"].to_numpy()[sample])

    def carried_packets(self) -> int:
        """Return how many packets left for the link."""
        return self.summary.packets("dequeue", self.bottleneck)

    def carried_bytes(self) -> int:
        """Return the IP bytes of these packets."""
        return self.summary.bytes("dequeue", self.bottleneck)

    def waited_ns(self) -> int:
        """Return for how long all packets together have waited."""
        occupancy = self._mine(self.summary.occupancy)
        return int(occupancy["time_ns"].to_numpy() @ occupancy["packets"].to_numpy(np.int64))

    def _mine(self, table: pd.DataFrame) -> pd.DataFrame:
        return table[table["bottleneck"] == self.bottleneck]
