# SPDX-License-Identifier: Apache-2.0
"""Delays of packets, round-trip times, and the time that packets wait in a queue."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ccbench.metrics._metric import Metric, Part
from ccbench.metrics._statistics import STATISTICS, Statistic

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.run.run import Run

__all__ = ["ENTRIES", "of_queues"]


def of_queues(run: Run, value: Callable[[int, str | None], float]) -> pd.Series[float]:
    """Return a value of each bottleneck's queue, and of the queues within it if it has several.

    The name of a value is that of the queue within it, after the number of the bottleneck if there
    are several.

    Parameters
    ----------
    run : Run
    value : callable
        Returns the value for the number of a bottleneck and the name of a queue within it, or None.
    """
    links = run.scenario.path.links
    values = {}
    for number, link in enumerate(links):
        place = str(number) if len(links) > 1 else ""
        for queue in (None, *link.queues):
            name = " ".join(filter(None, (place, queue)))
            values[name] = value(number, queue)
    return pd.Series(values)


def _of_packets(column: str, statistic: Statistic, part: Part) -> pd.Series[float]:
    return statistic.of_groups(part.delivered.groupby("flow")[column])


def _jitter(part: Part) -> pd.Series[float]:
    flow = part.delivered["flow"]
    change = part.delivered.groupby(flow)["one_way_ms"].diff().abs()
    return change.groupby(flow).mean()


def _srtt(statistic: Statistic, part: Part) -> pd.Series[float]:
    return statistic.of_groups(part.samples.groupby("flow")["srtt_us"]) / 1e3


def _sojourn(statistic: Statistic, part: Part) -> pd.Series[float]:
    if (share := statistic.share) is None:
        return of_queues(part.run, part.run.queueing_delay_ms)
    return of_queues(part.run, lambda *queue: part.sojourn_ms(*queue)[share])


ENTRIES = (
    *(
        Metric(
            name=f"one_way_delay{s.suffix}",
            quantity=f"{s.words}one-way delay",
            definition=f"{s.words}one-way delay of a flow's data packets: queueing, transmission "
            "and base delay",
            unit="ms",
            of=partial(_of_packets, "one_way_ms", s),
            queue_log=True,
        )
        for s in STATISTICS
    ),
    *(
        Metric(
            name=f"queueing_delay{s.suffix}",
            quantity=f"{s.words}queueing delay",
            definition=f"{s.words}time that a flow's data packets wait in all queues together",
            unit="ms",
            of=partial(_of_packets, "queueing_ms", s),
            queue_log=True,
        )
        for s in STATISTICS
    ),
    Metric(
        name="jitter",
        quantity="jitter",
        definition="mean absolute difference between the one-way delays of a flow's consecutive "
        "packets (RFC 3393)",
        unit="ms",
        of=_jitter,
        queue_log=True,
    ),
    *(
        Metric(
            name=f"srtt{s.suffix}",
            quantity=f"{s.words}smoothed RTT",
            definition=f"{s.words}smoothed round-trip time of Linux's sender, at the samples",
            unit="ms",
            of=partial(_srtt, s),
        )
        for s in STATISTICS
    ),
    *(
        Metric(
            name=f"sojourn_time{s.suffix}",
            quantity=f"{s.words}sojourn time",
            definition=f"{s.words}time in a bottleneck's queue of the packets that leave it for "
            "the link, in the whole run",
            unit="ms",
            scope="queue",
            of=partial(_sojourn, s),
            queue_log=False if s.share is None else "summary",
        )
        for s in STATISTICS
    ),
)
