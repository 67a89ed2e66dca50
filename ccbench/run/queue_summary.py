# SPDX-License-Identifier: Apache-2.0
"""Summary of a run's queues, recorded instead of a log of all events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ccbench.run.stored_tables import TableHolder
from ccbench.run.tables import CATEGORIES, SUMMARY_TABLES, normalised, with_queue

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

__all__ = ["QueueSummary"]


@dataclass(frozen=True, kw_only=True, eq=False)
class QueueSummary(TableHolder):
    """Distributions, counters and samples of a run's queues, without single events.

    All numbers are exact: they equal those computed from the events of the same scenario. If a
    qdisc has a queue for L4S, all tables have a further column ``queue``: rows about one of its
    queues, ``classic`` or ``l4s``, in addition to those about the bottleneck, where it is missing.

    Parameters
    ----------
    occupancy : DataFrame
        Time at each queue length. Columns: ``bottleneck`` from 0; ``packets``, the length;
        ``time_ns``, which adds up to the run's length for each bottleneck; ``arrivals``, the number
        of packets that arrived at that length. Sorted by bottleneck and packets, without lengths
        that never occurred.
    waits : DataFrame
        Histogram of the waiting times of packets that left for the link. Columns: ``bottleneck``;
        ``from_ns`` and ``to_ns`` (exclusive), 1.6 % apart; ``packets``.
    counts : DataFrame
        Number of each flow's packets by event. Columns: ``bottleneck``; ``flow``; ``event`` as in
        ``queue`` of a :class:`~ccbench.run.run.Run`; ``packets``; ``bytes`` of IP; ``waited_ns``,
        the sum of the packets' waiting times until the event. Without events that never occurred.
    samples : DataFrame
        Backlog at multiples of the scenario's `sample_interval_ms` from 0. Columns: ``time_ns``;
        ``bottleneck``; ``backlog_packets``; ``backlog_bytes``.

    Raises
    ------
    ValueError
        If an engine returns a table with other columns.

    Examples
    --------
    >>> summarised.queue_summary.counts.query("event == 'drop'")  # doctest: +SKIP
    """

    occupancy: pd.DataFrame = field(repr=False)
    waits: pd.DataFrame = field(repr=False)
    counts: pd.DataFrame = field(repr=False)
    samples: pd.DataFrame = field(repr=False)

    def __post_init__(self) -> None:
        for name, columns in SUMMARY_TABLES.items():
            given = self.__dict__[name]
            names = given.names() if hasattr(given, "frame") else given
            self._hold(name, with_queue(columns, names))

    def packets(self, event: str, bottleneck: int, queue: str | None = None) -> int:
        """Return the number of packets with an event at a bottleneck or in one of its queues."""
        events, counts = self.columns_of("counts", bottleneck, queue, "event", "packets")
        return int(counts[events == CATEGORIES["event"].index(event)].sum())

    def rows(self, table: str, bottleneck: int, queue: str | None = None) -> pd.DataFrame:
        """Return the rows of a table about a bottleneck, or about one of its queues."""
        frame: pd.DataFrame = getattr(self, table)
        return frame[self._is_of(table, bottleneck, queue)]

    def columns_of(
        self, table: str, bottleneck: int, queue: str | None, *names: str
    ) -> tuple[npt.NDArray[Any], ...]:
        """Return columns of these rows; of categories, the codes."""
        chosen = self._is_of(table, bottleneck, queue)
        return tuple(column[chosen] for column in self.columns(table, *names))

    def _is_of(self, table: str, bottleneck: int, queue: str | None) -> npt.NDArray[np.bool_]:
        stored = self.stored(table)
        chosen: npt.NDArray[np.bool_] = stored.column("bottleneck") == bottleneck
        if "queue" in stored.names():
            code = -1 if queue is None else CATEGORIES["queue"].index(queue)
            chosen &= stored.column("queue") == code
        return chosen

    def _framed(self, name: str, frame: pd.DataFrame) -> pd.DataFrame:
        columns = with_queue(SUMMARY_TABLES[name], frame)
        return normalised(f"queue_summary.{name}", frame, columns)
