# SPDX-License-Identifier: Apache-2.0
"""Losses, congestion marks and retransmissions of flows, and queues that drop and mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ccbench.metrics._metric import Metric, Part
from ccbench.metrics.delays import of_queues
from ccbench.run import queue_analysis

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENTRIES"]


def _share_of_sent(fate: str) -> Callable[[Part], pd.Series[float]]:
    def of(part: Part) -> pd.Series[float]:
        counts = part.fates.astype("float64")
        return counts[fate].div(counts["sent"].where(counts["sent"] > 0))

    return of


def _sent(part: Part) -> pd.Series[float]:
    return part.fates["sent"].astype("float64")


def _retransmits(part: Part) -> pd.Series[float]:
    return pd.Series(part.growth("retransmits"))


def _events(event: str) -> Callable[[Part], pd.Series[float]]:
    def of(part: Part) -> pd.Series[float]:
        def share(bottleneck: int, queue: str | None) -> float:
            record = queue_analysis.record(part.run, bottleneck, queue)
            came = record.packets("enqueue")
            return record.packets(event) / came if came else float("nan")

        return of_queues(part.run, share)

    return of


ENTRIES = (
    Metric(
        name="loss_rate",
        quantity="loss rate",
        definition="share of a flow's packets that queues dropped or that were lost at random",
        of=_share_of_sent("lost"),
        is_fraction=True,
        queue_log=True,
    ),
    Metric(
        name="mark_rate",
        quantity="mark rate",
        definition="share of a flow's packets that queues marked (ECN), counted at each queue",
        of=_share_of_sent("marked"),
        is_fraction=True,
        less_is_better=None,
        queue_log=True,
    ),
    Metric(
        name="sent",
        quantity="sent packets",
        definition="data packets of a flow that arrived at its first bottleneck",
        unit="packets",
        of=_sent,
        statistic=lambda values: float(values.sum(skipna=False)),
        less_is_better=None,
        queue_log=True,
    ),
    Metric(
        name="retransmits",
        quantity="retransmitted packets",
        definition="packets that a flow's sender sent again",
        unit="packets",
        of=_retransmits,
        statistic=lambda values: float(values.sum(skipna=False)),
    ),
    *(
        Metric(
            name=f"queue_{event}_rate",
            quantity=f"{event} rate of the queue",
            definition=f"share of the packets that arrived at a bottleneck's queue that it {past}, "
            "in the whole run",
            scope="queue",
            of=_events(event),
            is_fraction=True,
            less_is_better=True if event == "drop" else None,
            queue_log="summary",
        )
        for event, past in (("drop", "dropped"), ("mark", "marked (ECN)"))
    ),
)
