# SPDX-License-Identifier: Apache-2.0
"""Runs from the records of engines in real time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.emulate.realtime import files
from ccbench.emulate.realtime.records import to_run
from ccbench.run.tables import COMPLETION_COLUMNS, FLOW_COLUMNS, QUEUE_COLUMNS, dtypes

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000


@pytest.mark.parametrize("queue_log", [True, False])
def test_links(tmp_path: Path, *, queue_log: bool) -> None:
    """A link carries at most its capacity, and all waits count, with and without a log.

    Eleven full packets of 1 ms start in 10 ms, each 2 ms after its arrival.
    """
    link = Bottleneck(bandwidth_mbps=12, queue_packets=9)
    scenario = Scenario(
        flows=(Flow(),), path=NetworkPath(bottlenecks=(link,), rtt_ms=1), duration_s=0.01
    )
    samples = np.empty(
        0, [(name, "f8") for name in FLOW_COLUMNS if name != "state"] + [("state", "i1")]
    )
    np.save(tmp_path / files.SAMPLES, samples)
    np.save(
        tmp_path / files.COMPLETIONS, np.zeros(1, [(name, "i8") for name in COMPLETION_COLUMNS])
    )
    arrived = np.linspace(0, 8, 11)
    events = pd.DataFrame(
        {
            **dict.fromkeys(QUEUE_COLUMNS, 0),
            "time_ns": np.rint(np.concatenate([arrived, arrived + 2]) * MS),
            "event": ["enqueue"] * 11 + ["dequeue"] * 11,
            "bytes": 1500,
        }
    ).sort_values("time_ns", kind="stable", ignore_index=True)
    run = to_run(
        replace(scenario, queue_log=queue_log),
        tmp_path,
        events.astype(dtypes(QUEUE_COLUMNS)),
        {"engine": "test"},
    )
    assert run.utilisation() == 1
    assert run.links["left_packets"].tolist() == [11]
    assert run.queueing_delay_ms() == 2
    assert run.queue.empty != queue_log
