# SPDX-License-Identifier: Apache-2.0
"""Analysis of the waiting times of single packets, in all queues or in one queue of a qdisc.

Each public function implements the method of :class:`~ccbench.run.run.Run` that documents it;
:func:`by_queue` implements ``l4s_summary``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.run import packets, queue_analysis, queue_events

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ccbench.run.record import RunRecord

__all__ = ["by_queue", "queueing_delay_percentiles_ms"]

_COLUMNS = (
    "carried_packets",
    "marks",
    "drops",
    "mean_queue_packets",
    "queueing_delay_ms",
    "queueing_delay_p50_ms",
    "queueing_delay_p99_ms",
)


def queueing_delay_percentiles_ms(
    run: RunRecord, percentiles: Sequence[float], bottleneck: int, queue: str | None = None
) -> pd.Series[float]:
    """Return percentiles of the waiting times of packets."""
    import pandas as pd  # noqa: PLC0415 - not needed for a summary

    allowed = validation.Range(0, 100)
    shares = [
        validation.number(f"percentiles[{i}]", value, allowed, example=99)
        for i, value in enumerate(percentiles)
    ]
    queue_events.check_bottleneck(run, bottleneck, queue)
    if run.queue_summary is None:
        waited_ns = np.sort(packets.waits_ns(run, bottleneck, queue))
        so_far = np.arange(1, waited_ns.size + 1)
    else:
        to_ns, packets_of = run.queue_summary.columns_of(
            "waits", bottleneck, queue, "to_ns", "packets"
        )
        waited_ns, so_far = to_ns - 1, packets_of.cumsum()
    index = pd.Index(shares, name="percentile", dtype="float64")
    if not waited_ns.size:
        return pd.Series(math.nan, index)
    # The shortest time that at least this share of the packets did not exceed.
    rank = np.searchsorted(so_far, np.array(shares) / 100 * so_far[-1])
    return pd.Series(waited_ns[rank] / 1e6, index)


def by_queue(run: RunRecord) -> pd.DataFrame:
    """Return packets, length and delay of both queues of each qdisc for L4S."""
    import pandas as pd  # noqa: PLC0415 - likewise

    rows = {}
    for bottleneck, link in enumerate(run.scenario.path.links):
        for queue in link.queues if run.scenario.queue_log else ():
            record = queue_analysis.record(run, bottleneck, queue)
            lengths, time_ns = record.time_ns_by_packets()
            counts = [record.packets(event) for event in ("dequeue", "mark", "drop")]
            mean_packets = float((time_ns * lengths).sum() / time_ns.sum())
            mean_ms = queue_analysis.queueing_delay_ms(run, bottleneck, queue)
            delays = queueing_delay_percentiles_ms(run, (50, 99), bottleneck, queue)
            rows[bottleneck, queue] = [*counts, mean_packets, mean_ms, *delays]
    index = pd.MultiIndex.from_tuples(list(rows), names=["bottleneck", "queue"])
    return pd.DataFrame([*rows.values()], index=index, columns=[*_COLUMNS])
