# SPDX-License-Identifier: Apache-2.0
"""Analysis of the bottlenecks of a run: their queues and links.

Each public function implements the method of :class:`~ccbench.run.run.Run` that documents it and
has the same name; :func:`summary` implements ``bottleneck_summary``, and :func:`statistics`
``qdisc_statistics``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base.errors import InputError
from ccbench.experiment import dynamics
from ccbench.run import intervals
from ccbench.run.queue_events import check_bottleneck
from ccbench.run.queue_record import EventRecord, SummaryRecord
from ccbench.run.tables import STATISTICS_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from ccbench.run.queue_record import QueueRecord
    from ccbench.run.record import RunRecord

__all__ = [
    "carried_bytes",
    "occupancy",
    "occupancy_distribution",
    "queueing_delay_ms",
    "record",
    "statistics",
    "summary",
    "summary_rows",
    "utilisation",
]


def occupancy_distribution(
    run: RunRecord, bottleneck: int, queue: str | None = None
) -> pd.Series[float]:
    """Return the share of the time at each queue length."""
    import pandas as pd  # noqa: PLC0415 - not needed for a summary

    packets, time_ns = record(run, bottleneck, queue).time_ns_by_packets()
    shares = time_ns / intervals.duration_ns(run.scenario)
    return pd.Series(shares, pd.Index(packets, name="packets"), name="share")


def occupancy(
    run: RunRecord, interval_s: float, bottleneck: int, queue: str | None
) -> pd.Series[int]:
    """Return the queue occupancy over time."""
    import pandas as pd  # noqa: PLC0415 - likewise

    interval_ns = intervals.interval_ns(interval_s)
    grid = np.arange(intervals.duration_ns(run.scenario) // interval_ns + 1) * interval_ns
    own = record(run, bottleneck, queue)
    if run.queue_summary is not None:
        intervals.check_multiple(interval_ns, run.scenario)
    backlog = own.backlog_at(grid)
    return pd.Series(backlog, index=intervals.time_index(grid), name="occupancy_packets")


def carried_bytes(run: RunRecord, bottleneck: int) -> int:
    """Return the IP bytes of the packets whose transmission on a link ended during the run."""
    return _total(run, "carried_bytes", bottleneck)


def utilisation(run: RunRecord, bottleneck: int) -> float:
    """Return the utilisation of a link over the whole run."""
    carried = carried_bytes(run, bottleneck)
    capacity = dynamics.capacity_bytes(run.actual_scenario, bottleneck, run.scenario.duration_s)
    return carried / capacity if capacity else math.nan


def queueing_delay_ms(run: RunRecord, bottleneck: int, queue: str | None = None) -> float:
    """Return the mean waiting time of the packets that left a queue for the link."""
    left, waited_ns = (
        _total(run, name, bottleneck, queue) for name in ("left_packets", "waited_ns")
    )
    return waited_ns / left / 1e6 if left else math.nan


def statistics(run: RunRecord, bottleneck: int) -> pd.DataFrame:
    """Return the statistics that a bottleneck's qdisc reports over time."""
    import pandas as pd  # noqa: PLC0415 - likewise

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
    import pandas as pd  # noqa: PLC0415 - likewise

    rows = summary_rows(run)
    return pd.DataFrame(rows, index=pd.RangeIndex(len(rows), name="bottleneck"))


def summary_rows(run: RunRecord) -> list[dict[str, Any]]:
    """Return the rows of :func:`summary`."""
    unlimited = run.provenance.get("unlimited_qdiscs", ())
    return [
        {
            "bandwidth_mbps": link.mean_mbps,
            "qdisc": link.qdisc,
            "queue_packets": math.inf if link.qdisc in unlimited else link.queue_packets,
            "utilisation": _or_nan(utilisation, run, i),
            "mean_queue_packets": _or_nan(_mean_occupancy, run, i),
            "queueing_delay_ms": _or_nan(queueing_delay_ms, run, i),
            "losses": _or_nan(_losses, run, i),
        }
        for i, link in enumerate(run.scenario.path.links)
    ]


def record(run: RunRecord, bottleneck: int, queue: str | None = None) -> QueueRecord:
    """Return the record of a queue, in the form that the run has."""
    if run.queue_summary is None:
        return EventRecord(run, bottleneck, queue)
    check_bottleneck(run, bottleneck, queue)
    return SummaryRecord(run.queue_summary, bottleneck, queue)


def _total(run: RunRecord, name: str, bottleneck: int, queue: str | None = None) -> int:
    """Return a total of a link over the run, or of one of its qdisc's queues."""
    check_bottleneck(run, bottleneck, queue)
    if not len(run.stored("links")):
        raise InputError(
            f"the engine {run.provenance.get('engine')} does not count what links carry: "
            "choose another engine"
        )
    numbers, totals, l4s_totals = run.columns(
        "links", "bottleneck", name, f"l4s_{name}" if queue else name
    )
    (row,) = np.flatnonzero(numbers == bottleneck)
    total = int(totals[row])
    if queue is None:
        return total
    of_l4s = int(l4s_totals[row])
    return of_l4s if queue == "l4s" else total - of_l4s


def _or_nan(value: Callable[[RunRecord, int], float], run: RunRecord, bottleneck: int) -> float:
    try:
        return value(run, bottleneck)
    except InputError:  # requires a record that the run does not have
        return math.nan


def _losses(run: RunRecord, bottleneck: int) -> int:
    return record(run, bottleneck).packets("loss")


def _mean_occupancy(run: RunRecord, bottleneck: int) -> float:
    packets, time_ns = record(run, bottleneck).time_ns_by_packets()
    return float((time_ns / intervals.duration_ns(run.scenario) * packets).sum())
