# SPDX-License-Identifier: Apache-2.0
"""Completion times of transfers, and the data that arrive in a given time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ccbench.metrics._metric import Metric, Part, mean, quantile
from ccbench.metrics._statistics import STATISTICS

__all__ = ["DOWNLOAD_S", "ENTRIES", "downloaded"]

#: Download time of a short flow in seconds, as in HarmGen (ACM SIGCOMM 2026).
DOWNLOAD_S = 10.0


def downloaded(seconds: float) -> Metric:
    """Return the metric of the data received a given time after the start of a flow, in MB.

    NaN for a flow that neither runs for this time nor completes.

    Examples
    --------
    >>> downloaded(10).unit
    'MB'
    """

    def of(part: Part) -> pd.Series[float]:
        done = part.run.completions
        until_s = done["start_ns"].to_numpy() / 1e9 + seconds
        is_recorded = (until_s <= part.run.scenario.duration_s) | (done["end_ns"].to_numpy() >= 0)
        received_mb = part.total_at("delivered_bytes", until_s) / 1e6
        return pd.Series(np.where(is_recorded, received_mb, np.nan))

    return Metric(
        name="downloaded",
        quantity="downloaded data",
        definition=f"payload received in the first {seconds:g} s of a flow (HarmGen, 2026)",
        unit="MB",
        of=of,
        less_is_better=False,
    )


def _fct(part: Part) -> pd.Series[float]:
    return part.completion_times["fct_s"]


def _fct_at_least(part: Part) -> pd.Series[float]:
    times = part.completion_times
    return times["fct_s"].fillna(part.run.scenario.duration_s - times["start_s"])


ENTRIES = (
    *(
        Metric(
            name=f"fct{s.suffix}",
            quantity=f"{s.words}flow completion time",
            definition=f"{s.words}time from the start of a transfer of given size until the "
            "receiver has every byte",
            unit="s",
            of=_fct,
            kinds=("bytes",),
            at_least=_fct_at_least,
            statistic=mean if s.share is None else quantile(s.share),
        )
        for s in STATISTICS
    ),
    downloaded(DOWNLOAD_S),
)
