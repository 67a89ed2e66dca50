# SPDX-License-Identifier: Apache-2.0
"""Noise of a scenario, on the virtual kernel."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ccbench import Bottleneck, Flow, NetworkPath, Run, Scenario
from ccbench.experiment.noise import NO_NOISE, Noise
from ccbench.run import packets
from ccbench.run.tables import NO_FLOW
from tests.kernel.conftest import dumbbell, run

pytestmark = pytest.mark.kernel

#: Packets at half the rate of the link never wait, so that times at the queue show only noise.
_SPARSE = Flow(kind="cbr", rate_mbps=5)
_GAP_NS = 2_400_000


def arrivals_ns(result: Run, flow: int = 0) -> np.ndarray:
    """Return the arrival times of a flow's packets at the queue."""
    events = result.queue
    return events.loc[
        (events["event"] == "enqueue") & (events["flow"] == flow), "time_ns"
    ].to_numpy()


class TestJitter:
    """Jitter of packets' times."""

    @pytest.mark.parametrize("kind", ["forward_jitter_ms", "sender_jitter_ms"])
    def test_distribution(self, kind: str) -> None:
        """Before the queue, packets are late by a time that is uniform from 0 to the jitter."""
        result = run(dumbbell(_SPARSE, duration_s=10, noise=Noise(**{kind: 2.0})))
        times = arrivals_ns(result)
        late_ms = (times - np.arange(len(times)) * _GAP_NS) / 1e6
        assert stats.kstest(late_ms, stats.uniform(0, 2).cdf).pvalue > 1e-3

    @pytest.mark.parametrize("kind", ["forward_jitter_ms", "sender_jitter_ms"])
    def test_order(self, kind: str) -> None:
        """Packets of a flow do not overtake each other, even with jitter of many gaps."""
        result = run(dumbbell(Flow(cca="reno"), duration_s=3, noise=Noise(**{kind: 30.0})))
        # Reordered packets would be retransmitted.
        assert result.summary()["retransmits"].sum() <= result.summary()["drops"].sum()

    def test_senders(self) -> None:
        """Sender jitter is independent for each flow, path jitter keeps the order of packets.

        Two flows send at the same instants. The first packet is random with sender jitter, and
        always the same with path jitter.
        """
        firsts = {}
        for kind in ("sender_jitter_ms", "forward_jitter_ms"):
            flows = (Flow(kind="cbr", rate_mbps=2), Flow(kind="cbr", rate_mbps=2))
            result = run(dumbbell(*flows, duration_s=5, noise=Noise(**{kind: 1.0})))
            first, second = arrivals_ns(result, 0), arrivals_ns(result, 1)
            count = min(len(first), len(second))
            firsts[kind] = np.mean(first[:count] <= second[:count])
        assert 0.4 < firsts["sender_jitter_ms"] < 0.6
        assert firsts["forward_jitter_ms"] == 1

    def test_reverse(self) -> None:
        """Jitter of ACKs adds its mean to the round trip of lone packets."""
        flow = Flow(cca="reno", kind="rate", rate_mbps=0.1)
        exact, noisy = (
            run(dumbbell(flow, duration_s=20, noise=noise))
            for noise in (NO_NOISE, Noise(reverse_jitter_ms=10.0))
        )
        added_ms = [result.flows["srtt_us"].iloc[50:].mean() / 1e3 for result in (exact, noisy)]
        assert 3.5 < added_ms[1] - added_ms[0] < 6.5


class TestStartSpread:
    """Flows that start at random."""

    def test_first_packets(self) -> None:
        """Flows' first packets are late by times that are uniform from 0 to the spread."""
        flow = Flow(kind="cbr", rate_mbps=0.05, count=50)
        scenario = dumbbell(flow, duration_s=3, noise=Noise(start_spread_ms=500.0))
        result = run(scenario)
        firsts_s = np.array([arrivals_ns(result, i)[0] for i in range(50)]) / 1e9
        assert stats.kstest(firsts_s, stats.uniform(0, 0.5).cdf).pvalue > 1e-3
        assert np.allclose(firsts_s, scenario.flow_table()["start_s"], atol=1e-4)


class TestBackground:
    """Background traffic."""

    def test_rate(self) -> None:
        """At each bottleneck it offers its share of the rate as a Poisson process."""
        links = (
            Bottleneck(bandwidth_mbps=10, queue_packets=100),
            Bottleneck(bandwidth_mbps=40, queue_packets=100),
        )
        result = run(
            Scenario(
                flows=(Flow(kind="cbr", rate_mbps=1),),
                path=NetworkPath(bottlenecks=links, rtt_ms=20, noise=Noise(background_share=0.2)),
                duration_s=20,
            )
        )
        background = result.queue[
            (result.queue["flow"] == NO_FLOW) & (result.queue["event"] == "enqueue")
        ]
        for i, link in enumerate(links):
            times_ns = background.loc[background["bottleneck"] == i, "time_ns"].to_numpy()
            gap_ns = link.packet_ms * 1e6 / 0.2
            gaps = np.diff(times_ns, prepend=0)
            assert stats.kstest(gaps / gap_ns, "expon").pvalue > 1e-3

    def test_conservation(self) -> None:
        """Background traffic leaves the path after its bottleneck, and no flow counts it."""
        noise = Noise(background_share=0.3)
        flow = Flow(kind="cbr", rate_mbps=9)
        result = run(dumbbell(flow, duration_s=5, noise=noise, queue_packets=5))
        counts = pd.crosstab(result.queue["event"], result.queue["flow"] == NO_FLOW)
        waiting = result.queue["backlog_packets"].iloc[-1]
        left = counts.loc["enqueue"] - counts.loc["dequeue"] - counts.loc["drop"]
        assert left.sum() == waiting
        assert counts.loc["drop"].sum() > 0
        assert result.summary()["drops"].sum() == counts.loc["drop", False]
        lost = packets.fates(result)["lost"].sum()
        assert lost == counts.loc["drop", False]

    def test_summary(self) -> None:
        """The summary of a queue has the counts of the log."""
        noise = Noise(background_share=0.3)
        logged, summarised = (
            run(dumbbell(Flow(cca="reno"), duration_s=3, noise=noise, queue_log=log))
            for log in (True, "summary")
        )
        assert summarised.queue_summary is not None
        counts = summarised.queue_summary.counts
        of_log = logged.queue.groupby(["flow", "event"], observed=True).size()
        assert counts.set_index(["flow", "event"])["packets"].to_dict() == of_log.to_dict()


class TestNone:
    """Scenarios without noise."""

    def test_seed(self) -> None:
        """Without noise two Reno flows do the same with any seed; with any noise they differ."""
        kinds = (
            *(Noise(**{f"{kind}_jitter_ms": 0.5}) for kind in ("forward", "reverse", "sender")),
            Noise(start_spread_ms=20),
            Noise(background_share=0.01),
        )
        for noise in (NO_NOISE, *kinds):
            first, second = (
                run(dumbbell(Flow(cca="reno", count=2), duration_s=5, noise=noise, seed=seed))
                for seed in (1, 2)
            )
            assert first.queue.equals(second.queue) == (not noise)
