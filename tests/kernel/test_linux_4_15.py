# SPDX-License-Identifier: Apache-2.0
"""BBR of Linux 4.15 keeps a shorter queue without segmentation offload than that of later kernels.

Later kernels keep three bursts of two segments each in flight beyond the path's capacity, and it
keeps three of one segment.
"""

from __future__ import annotations

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from tests.kernel.conftest import run

pytestmark = pytest.mark.kernel


def queue_packets(cca: str, bandwidth_mbps: float, *, offload: bool) -> float:
    """Return the mean queue over 40 s, after 10 s."""
    result = run(
        Scenario(
            flows=(Flow(cca=cca, segmentation_offload=offload),),
            path=NetworkPath(
                bottlenecks=(Bottleneck(bandwidth_mbps=bandwidth_mbps, queue_packets=128),),
                rtt_ms=85,
            ),
            duration_s=50,
        )
    )
    events = result.queue_events()
    times_s = events["time_ns"].to_numpy() / 1e9
    backlog = events["backlog_packets"].to_numpy()[:-1]
    is_late = times_s[:-1] > 10
    return float(np.average(backlog[is_late], weights=np.diff(times_s)[is_late]))


@pytest.mark.parametrize("bandwidth_mbps", [5, 10])
def test_without_offload(bandwidth_mbps: float) -> None:
    """Three bursts of one segment instead of two are three packets less."""
    now, then = (queue_packets(cca, bandwidth_mbps, offload=False) for cca in ("bbr", "bbr_4_15"))
    assert 3 == pytest.approx(now - then, abs=1)


def test_with_offload() -> None:
    """With offload the algorithm has not changed."""
    now, then = (queue_packets(cca, 5, offload=True) for cca in ("bbr", "bbr_4_15"))
    assert now == pytest.approx(then, abs=0.5)
