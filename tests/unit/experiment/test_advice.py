# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any

import pytest

from ccbench import Bottleneck, Change, Flow, NetworkPath, Scenario
from ccbench.experiment.advice import advice


def of_link(
    *, mbps: float = 12, qdisc: str = "dualpi2", changes: tuple[Change, ...] = (), **options: Any
) -> tuple[str, ...]:
    """Return the advice about a link with this queue."""
    link = Bottleneck(
        bandwidth_mbps=mbps,
        queue_packets=100,
        qdisc=qdisc,
        qdisc_options=tuple(options.items()),
    )
    scenario = Scenario(
        flows=(Flow(),),
        path=NetworkPath(bottlenecks=(link,), rtt_ms=20, changes=changes),
        duration_s=9,
    )
    return advice(scenario)


class TestThresholds:
    def test_default(self) -> None:
        """DualPI2's default step is too short where a packet takes as long; the remedy is named."""
        (line,) = of_link()
        assert line.startswith("bottlenecks[0].qdisc_options.step_ms is 1 by default")
        assert "a packet takes 1 ms at 12 Mbit/s" in line
        assert line.endswith("set step_ms = 2")

    @pytest.mark.parametrize(
        "remedy",
        [{"step_ms": 2}, {"step_packets": 2}, {"min_qlen_step": 2}, {"mbps": 20}],
        ids=lambda remedy: next(iter(remedy)),
    )
    def test_remedies(self, remedy: dict[str, Any]) -> None:
        """A longer step, one in packets, an exemption of short queues or a faster link helps."""
        assert of_link(**remedy) == ()

    @pytest.mark.parametrize("qdisc", ["codel", "fq_codel", "fq"])
    def test_marks(self, qdisc: str) -> None:
        """Any threshold above which every packet is marked needs the time of a packet."""
        (line,) = of_link(qdisc=qdisc, mbps=1, ce_threshold_ms=5)
        assert "ce_threshold_ms is 5, but a packet takes 12 ms at 1 Mbit/s" in line
        assert line.endswith("set ce_threshold_ms = 24")
        assert (
            of_link(qdisc=qdisc, mbps=1, ce_threshold_ms=24) == of_link(qdisc=qdisc, mbps=1) == ()
        )

    def test_slower_later(self) -> None:
        """A link that becomes slow during the run is judged by its lowest rate."""
        changes = (Change(at_s=2, bandwidth_mbps=6), Change(at_s=4, bandwidth_mbps=100))
        (line,) = of_link(mbps=100, changes=changes)
        assert "a packet takes 2 ms at 6 Mbit/s" in line

    @pytest.mark.parametrize("qdisc", ["codel", "pie", "fq_pie", "cake"])
    def test_tolerant(self, qdisc: str) -> None:
        """Targets of queues that tolerate full packets above them need no advice."""
        assert of_link(qdisc=qdisc, mbps=1, target_ms=1) == ()
