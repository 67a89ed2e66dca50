# SPDX-License-Identifier: Apache-2.0
"""The studies of RAPID on runs whose outcome is known. No virtual kernel takes part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from ccbench.queue_summary import QueueSummary
from ccbench.studies import Study, get
from ccbench.studies.rapid_links import PACKET_BYTES
from tests.unit.conftest import run_with_rates

if TYPE_CHECKING:
    from ccbench import Run, Scenario

#: Packets that wait all the time.
STANDING = 50


def with_standing_queue(scenario: Scenario) -> Run:
    """Make a run of a full link, in front of which so many packets wait all the time."""
    (link,) = scenario.bottlenecks
    flows = scenario.flow_count
    carried = round(link.mean_mbps * 1e6 / 8 * scenario.duration_s)
    packets = carried // PACKET_BYTES
    occupancy = {
        "bottleneck": [0],
        "packets": [STANDING],
        "time_ns": [round(scenario.duration_s * 1e9)],
        "arrivals": [packets],
    }
    counts = {
        "bottleneck": 0,
        "flow": 0,
        "event": ["enqueue", "dequeue"],
        "packets": packets,
        "bytes": carried,
    }
    nothing = pd.DataFrame({"bottleneck": [], "from_ns": [], "to_ns": [], "packets": []})
    samples = {"time_ns": [0], "bottleneck": 0, "backlog_packets": STANDING, "backlog_bytes": 0}
    summary = QueueSummary(
        occupancy=pd.DataFrame(occupancy),
        waits=nothing,
        counts=pd.DataFrame(counts),
        samples=pd.DataFrame(samples),
    )
    run = run_with_rates(replace(scenario, queue_log=False), [link.mean_mbps / flows] * flows)
    return replace(run, scenario=scenario, queue_summary=summary)


@pytest.mark.parametrize("name", ["rapid-acks", "rapid-buffers", "rapid-fairness", "rapid-others"])
def test_queueing_delay(name: str) -> None:
    """What packets wait is the time that those before them, of 1040 bytes, take on the link."""
    study = get(name)
    assert isinstance(study, Study)
    scenario = study.scenarios(quick=True)[0]
    rows = study.measure(with_standing_queue(scenario))
    packet_ms = PACKET_BYTES * 8e-3 / scenario.bottlenecks[0].mean_mbps
    assert rows
    for row in rows:
        assert row["queue_ms"] == pytest.approx(STANDING * packet_ms, rel=1e-3)
