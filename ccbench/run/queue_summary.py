# SPDX-License-Identifier: Apache-2.0
"""What queues did, in few numbers: what a run keeps where its events would be too many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ccbench.run import table_files

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TABLES", "QueueSummary"]

#: The tables of a summary, and their columns.
TABLES = {
    "occupancy": table_files.OCCUPANCY_COLUMNS,
    "waits": table_files.WAIT_COLUMNS,
    "counts": table_files.COUNT_COLUMNS,
    "samples": table_files.BACKLOG_COLUMNS,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class QueueSummary:
    """What the queues of a run did, without its single events.

    All numbers are exact, and are what the events of the same scenario would give.

    Parameters
    ----------
    occupancy : DataFrame
        For how long how many packets waited. Columns: ``bottleneck`` from 0; ``packets``;
        ``time_ns``, whose sum is the run's length for each bottleneck; ``arrivals``, the packets
        that found so many waiting, whose sum is all that arrived. Sorted by bottleneck and packets,
        and without those that never waited. Two more than `queue_packets` of the longest queue, or
        anything above, count as that.
    waits : DataFrame
        How long those packets waited that left for the link. Columns: ``bottleneck``; ``from_ns``
        and ``to_ns``, which is exclusive, 1.6 % apart; ``packets``.
    counts : DataFrame
        What became of each flow's packets. Columns: ``bottleneck``; ``flow``; ``event`` as in
        ``queue`` of a :class:`~ccbench.run.run.Run`; ``packets``; ``bytes`` of IP. Without what
        never happened.
    samples : DataFrame
        What waited at the multiples of the scenario's `sample_interval_ms`, from 0 on. Columns:
        ``time_ns``; ``bottleneck``; ``backlog_packets``; ``backlog_bytes``.

    Raises
    ------
    ValueError
        If a table does not have these columns: a mistake in an engine.

    Examples
    --------
    >>> summarised.queue_summary.counts.query("event == 'drop'")  # doctest: +SKIP
    """

    occupancy: pd.DataFrame = field(repr=False)
    waits: pd.DataFrame = field(repr=False)
    counts: pd.DataFrame = field(repr=False)
    samples: pd.DataFrame = field(repr=False)

    def __post_init__(self) -> None:
        for name, columns in TABLES.items():
            frame = table_files.normal(f"queue_summary.{name}", getattr(self, name), columns)
            object.__setattr__(self, name, frame)

    def packets(self, event: str, bottleneck: int) -> int:
        """Return how often an event happened at a bottleneck."""
        return int(self._counts_of(event, bottleneck)["packets"].sum())

    def bytes(self, event: str, bottleneck: int) -> int:
        """Return the IP bytes of the packets to which an event happened at a bottleneck."""
        return int(self._counts_of(event, bottleneck)["bytes"].sum())

    def _counts_of(self, event: str, bottleneck: int) -> pd.DataFrame:
        counts = self.counts
        return counts[(counts["event"] == event) & (counts["bottleneck"] == bottleneck)]
