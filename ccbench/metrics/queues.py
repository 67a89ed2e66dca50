# SPDX-License-Identifier: Apache-2.0
"""Lengths of queues."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ccbench.metrics._metric import Metric, Part
from ccbench.metrics._statistics import STATISTICS, Statistic
from ccbench.metrics.delays import of_queues

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ENTRIES"]


def _length(statistic: Statistic, part: Part) -> pd.Series[float]:
    def of(bottleneck: int, queue: str | None) -> float:
        shares = part.occupancy(bottleneck, queue)
        if statistic.share is None:
            return float((shares * shares.index).sum())
        # The least length that the queue did not exceed for this share of the time.
        reached = np.searchsorted(shares.cumsum().to_numpy(), statistic.share - 1e-12)
        return float(shares.index[min(int(reached), len(shares) - 1)])

    return of_queues(part.run, of)


ENTRIES = tuple(
    Metric(
        name=f"queue_length{s.suffix}",
        quantity=f"{s.words}queue length",
        definition=f"{s.words}number of packets in a bottleneck's queue, over the whole run",
        unit="packets",
        scope="queue",
        of=partial(_length, s),
        queue_log="summary",
    )
    for s in STATISTICS
)
