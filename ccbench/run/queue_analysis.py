# SPDX-License-Identifier: Apache-2.0
"""Analysis of the bottlenecks of a run: their queues and links.

Each public function implements the method of :class:`~ccbench.run.run.Run` that documents it and
has the same name; :func:`events` implements ``queue_events``, :func:`summary`
``bottleneck_summary``, and :func:`statistics` ``qdisc_statistics``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.experiment import dynamics
from ccbench.run import intervals
from ccbench.run.queue_record import EventRecord, SummaryRecord
from ccbench.run.tables import BACKLOG_STEPS, STATISTICS_COLUMNS

if TYPE_CHECKING:
    from ccbench.run.queue_record import QueueRecord
    from ccbench.run.record import RunRecord

__all__ = [
    "carried_bytes",
    "check_bottleneck",
    "events",
    "mean_wait_ms",
    "occupancy",
    "occupancy_distribution",
    "queueing_delay_ms",
    "record",
    "statistics",
    "summary",
    "utilisation",
]


def events(run: RunRecord, bottleneck: int, queue: str | None = None) -> pd.DataFrame:
    """Return the rows of ``queue`` that belong to a bottleneck, or to one of its queues."""
    check_bottleneck(run, bottleneck, queue)
    if run.scenario.queue_log is not True:
        raise InputError(
            f"queue_log is {run.scenario.queue_log!r}, so this run has no events of its queues: "
            "run with queue_log = true"
        )
    rows = run.queue
    if len(run.scenario.links) > 1:  # avoids a copy of millions of rows
        rows = rows[rows["bottleneck"] == bottleneck]
    if queue is None:
        return rows
    rows = rows[rows["queue"] == queue]
    step = BACKLOG_STEPS[rows["event"].cat.codes]
    return rows.assign(
        backlog_packets=np.cumsum(step).astype(np.uint32),
        backlog_bytes=np.cumsum(step * rows["bytes"].to_numpy(np.int64)).astype(np.uint32),
    )


def occupancy_distribution(
    run: RunRecord, bottleneck: int, queue: str | None = None
) -> pd.Series[float]:
    """Return the share of the time at each queue length."""
    time_ns = record(run, bottleneck, queue).time_ns_by_packets()
    shares: pd.Series[float] = time_ns / intervals.duration_ns(run.scenario)
    return shares.rename_axis("packets").rename("share")


def occupancy(
    run: RunRecord, interval_s: float, bottleneck: int, queue: str | None
) -> pd.Series[int]:
    """Return the queue occupancy over time."""
    interval_ns = intervals.interval_ns(interval_s)
    grid = np.arange(intervals.duration_ns(run.scenario) // interval_ns + 1) * interval_ns
    own = record(run, bottleneck, queue)
    if run.queue_summary is not None:
        intervals.check_multiple(interval_ns, run.scenario)
    backlog = own.backlog_at(grid)
    return pd.Series(backlog, index=intervals.time_index(grid), name="occupancy_packets")


def carried_bytes(run: RunRecord, bottleneck: int) -> int:
    """Return the IP bytes that a link carried over the whole run."""
    check_bottleneck(run, bottleneck)
    table = run.scenario.flow_table()
    first, last = table["first_bottleneck"], table["last_bottleneck"]
    some_continue = ((first <= bottleneck) & (bottleneck < last)).any()
    is_reverse = bottleneck >= len(run.scenario.bottlenecks)
    carries_acks = any(flow.is_reverse != is_reverse for flow in run.scenario.flows)
    if some_continue or carries_acks or run.scenario.noise.background_share:
        return record(run, bottleneck).carried_bytes()
    leaves_here = table.index[last == bottleneck]
    reached = run.flows.groupby("flow")["throughput_bytes"].last()
    return int(reached.reindex(leaves_here, fill_value=0).sum())


def utilisation(run: RunRecord, bottleneck: int) -> float:
    """Return the utilisation of a link over the whole run."""
    carried = carried_bytes(run, bottleneck)
    capacity = dynamics.capacity_bytes(run.actual_scenario, bottleneck, run.scenario.duration_s)
    return carried / capacity if capacity else math.nan


def queueing_delay_ms(run: RunRecord, bottleneck: int, queue: str | None = None) -> float:
    """Return the mean waiting time of a packet in a queue, by Little's law."""
    return mean_wait_ms(record(run, bottleneck, queue))


def mean_wait_ms(own: QueueRecord) -> float:
    """Return the mean waiting time of the packets of a queue's record in milliseconds."""
    left = own.packets("dequeue")
    return own.waited_ns() / left / 1e6 if left else math.nan


def statistics(run: RunRecord, bottleneck: int) -> pd.DataFrame:
    """Return the statistics that a bottleneck's qdisc reports over time."""
    check_bottleneck(run, bottleneck)
    reported = run.provenance.get("qdisc_statistics", ())
    names = reported[bottleneck] if reported else ()
    rows = run.qdiscs[run.qdiscs["bottleneck"] == bottleneck]
    columns = zip(names, STATISTICS_COLUMNS, strict=False)
    return pd.DataFrame(
        {name: rows[column].to_numpy() for name, column in columns},
        index=intervals.time_index(rows["time_ns"]),
    )


def summary(run: RunRecord) -> pd.DataFrame:
    """Return rate, queue, utilisation, delay and losses of each bottleneck."""
    links = run.scenario.links
    is_recorded = bool(run.scenario.queue_log)
    rows = [
        {
            "bandwidth_mbps": link.mean_mbps,
            "qdisc": link.qdisc,
            "queue_packets": link.queue_packets,
            "utilisation": _utilisation_or_nan(run, i),
            "mean_queue_packets": _mean_occupancy(run, i) if is_recorded else math.nan,
            "queueing_delay_ms": queueing_delay_ms(run, i) if is_recorded else math.nan,
            "losses": record(run, i).packets("loss") if is_recorded else math.nan,
        }
        for i, link in enumerate(links)
    ]
    return pd.DataFrame(rows, index=pd.RangeIndex(len(links), name="bottleneck"))


def record(run: RunRecord, bottleneck: int, queue: str | None = None) -> QueueRecord:
    """Return the record of a queue, in the form that the run has."""
    if run.queue_summary is None:
        return EventRecord(events(run, bottleneck, queue), intervals.duration_ns(run.scenario))
    check_bottleneck(run, bottleneck, queue)
    return SummaryRecord(run.queue_summary, bottleneck, queue)


def _utilisation_or_nan(run: RunRecord, bottleneck: int) -> float:
    try:
        return utilisation(run, bottleneck)
    except InputError:  # requires a queue log
        return math.nan


def _mean_occupancy(run: RunRecord, bottleneck: int) -> float:
    shares = occupancy_distribution(run, bottleneck)
    return float((shares * shares.index).sum())


def check_bottleneck(run: RunRecord, bottleneck: int, queue: str | None = None) -> None:
    """Raise an InputError if the scenario has no such bottleneck, or the qdisc no such queue."""
    last = len(run.scenario.links) - 1
    validation.whole("bottleneck", bottleneck, validation.Range(0, last), example=0)
    link = run.scenario.links[bottleneck]
    if queue is not None and not link.queues:
        raise InputError(
            f"queue = {queue!r}: the qdisc {link.qdisc} of bottleneck {bottleneck} has no queue "
            "for L4S: leave queue out"
        )
    if queue is not None:
        validation.one_of("queue", queue, link.queues)
