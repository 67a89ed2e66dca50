# SPDX-License-Identifier: Apache-2.0
"""Losses in bursts, given losses, policers, duplicates and reordering, against theory."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Run, Scenario
from ccbench.base.errors import InputError
from ccbench.base.estimate import Estimate
from ccbench.experiment.impairments import BurstLoss, Jitter, Policer, Reordering
from ccbench.experiment.loss_trace import LossTrace
from ccbench.run.packets import delivered, fates
from tests.kernel.conftest import run

pytestmark = pytest.mark.kernel

#: Packets of 500 bytes at a fifth of the rate of the link, without queueing.
CBR = Flow(kind="cbr", rate_mbps=4, packet_bytes=500)


def over(*flows: Flow, duration_s: float = 20, **settings: Any) -> Scenario:
    """Return a scenario over an impaired link of 20 Mbit/s and 40 ms."""
    link = Bottleneck(**{"bandwidth_mbps": 20, "queue_packets": 100, **settings})
    return Scenario(
        flows=flows or (CBR,),
        path=NetworkPath(bottlenecks=(link,), rtt_ms=40),
        duration_s=duration_s,
    )


def lost(result: Run, bottleneck: int = 0) -> npt.NDArray[np.bool_]:
    """Return for each packet that arrives whether it is lost before the queue."""
    events = result.queue_events(bottleneck)["event"]
    return (events[events.isin(["enqueue", "loss"])] == "loss").to_numpy()


def runs(is_lost: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the lengths of the runs of losses."""
    changes = np.diff(np.r_[0, is_lost.astype(int), 0])
    return np.flatnonzero(changes == -1) - np.flatnonzero(changes == 1)


class TestBursts:
    def test_length(self) -> None:
        """Runs of losses have the geometric distribution of the time in the bad state."""
        is_lost = lost(run(over(burst_loss=BurstLoss.of(0.05, 4), duration_s=100)))
        lengths = runs(is_lost)
        # The state has a sojourn of mean 4 and standard deviation sqrt(12).
        assert lengths.mean() == pytest.approx(4, abs=4 * math.sqrt(12 / len(lengths)))
        assert (lengths == 1).mean() == pytest.approx(
            0.25, abs=4 * math.sqrt(0.25 * 0.75 / len(lengths))
        )
        # The number of runs is near Poisson.
        expected = 0.05 / 4 * len(is_lost)
        assert len(lengths) == pytest.approx(expected, abs=4 * math.sqrt(expected))

    def test_probabilities_of_states(self) -> None:
        """Each state loses packets with its own probability; the mean is that of the chain."""
        loss = BurstLoss(to_bad=0.01, to_good=0.05, loss_bad=0.5, loss_good=0.01)
        is_lost = lost(run(over(burst_loss=loss, duration_s=100)))
        # Sojourns of 20 and 100 packets make the variance at most 40 times that of independence.
        noise = math.sqrt(40 * loss.mean * (1 - loss.mean) / len(is_lost))
        assert is_lost.mean() == pytest.approx(loss.mean, abs=4 * noise)
        lag = np.corrcoef(is_lost[1:], is_lost[:-1])[0, 1]
        assert lag > 0.2  # independent losses: 0

    def test_seeds(self) -> None:
        """Seeds and bottlenecks have independent losses."""
        link = Bottleneck(
            bandwidth_mbps=20, queue_packets=100, burst_loss=BurstLoss(to_bad=0.5, to_good=0.5)
        )
        scenario = replace(over(), path=replace(over().path, bottlenecks=(link, link)))
        one, other = run(scenario), run(replace(scenario, seed=2))
        series = [lost(one)[:2000], lost(one, 1)[:2000], lost(other)[:2000], lost(other, 1)[:2000]]
        for i, first in enumerate(series):
            for second in series[:i]:
                assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(2000)

    def test_square_root_law(self) -> None:
        """With bursts within a window, Reno's rate follows from the rate of bursts, not packets.

        Reno reduces its window once per round trip (RFC 5681), so that losses in runs of r packets
        give sqrt(r) times the rate of the same share of independent losses (Mathis 1997).
        """
        share, run_packets = 0.008, 4
        flows = tuple(Flow(cca="reno", acks="every") for _ in range(5))

        def rate(**loss: Any) -> float:
            scenario = over(
                *flows, bandwidth_mbps=1000, queue_packets=10_000, duration_s=120, **loss
            )
            return float(run(scenario).summary()["throughput_mbps"].mean())

        gain = rate(burst_loss=BurstLoss.of(share, run_packets)) / rate(loss=share)
        assert gain == pytest.approx(math.sqrt(run_packets), rel=0.25)


class TestCompletionTimes:
    def test_coverage(self) -> None:
        """Of 60 medians of six completion times with 1 % loss, 90 % of the intervals hold.

        Most transfers lose nothing, and those that lose their last packet take several times as
        long: intervals of means contain the mean of all in about 40 %. Transfers do not overlap.
        """
        arrivals = tuple((0.5 + i, 15_000) for i in range(360))
        transfers = Flow(cca="cubic", kind="bytes", arrivals=arrivals)
        scenario = over(transfers, duration_s=362, loss=0.01)
        times_s = run(replace(scenario, queue_log=False)).completion_times()["fct_s"]
        assert times_s.notna().all()
        assert times_s.max() > 3 * times_s.median()
        samples = times_s.to_numpy().reshape(60, 6)
        intervals = [Estimate(sample, of="median").interval for sample in samples]
        held = sum(low <= times_s.median() <= high for low, high in intervals)
        assert held >= 0.9 * len(samples)


class TestBurstsOverTime:
    #: A packet per millisecond.
    PROBES = Flow(kind="cbr", rate_mbps=0.8, packet_bytes=100)

    @pytest.mark.parametrize(("good_ms", "bad_ms"), [(400, 60), (50, 200)])
    def test_times(self, good_ms: float, bad_ms: float) -> None:
        """The times in both states are exponential with their means, whatever the packets."""
        loss = BurstLoss(good_ms=good_ms, bad_ms=bad_ms)
        is_lost = lost(run(over(self.PROBES, burst_loss=loss, duration_s=1000)))
        assert len(is_lost) == pytest.approx(1e6, abs=1)
        for own, mean_ms in ((is_lost, bad_ms), (~is_lost, good_ms)):
            lengths_ms = runs(own)
            assert lengths_ms.mean() == pytest.approx(mean_ms, rel=4 / math.sqrt(len(lengths_ms)))
            # Of times that the packets sample, the fraction of a millisecond is unknown.
            tail = np.mean(lengths_ms > mean_ms)
            deviation = math.sqrt(0.25 / len(lengths_ms))
            assert tail == pytest.approx(math.exp(-1), abs=4 * deviation + 1 / mean_ms)
        assert is_lost.mean() == pytest.approx(loss.mean, rel=0.1)

    def test_packets(self) -> None:
        """Flows of different rates meet the same states at the same times, and starve in them."""
        loss = BurstLoss(good_ms=200, bad_ms=100)
        fast, slow = (
            lost(run(over(replace(self.PROBES, rate_mbps=mbps), burst_loss=loss)))
            for mbps in (0.8, 0.08)
        )
        assert fast[::10].tolist() == slow.tolist()

    def test_probabilities_of_states(self) -> None:
        """Each state loses packets with its own probability."""
        loss = BurstLoss(good_ms=100, bad_ms=100, loss_bad=0.5, loss_good=0.1)
        is_lost = lost(run(over(self.PROBES, burst_loss=loss, duration_s=200)))
        # 200 periods, whose mean share of bad time deviates by less than 4 %.
        assert is_lost.mean() == pytest.approx(loss.mean, abs=4 * 0.04 * 0.4)
        bad = lost(
            run(
                over(self.PROBES, burst_loss=replace(loss, loss_bad=1, loss_good=0), duration_s=200)
            )
        )
        for state, share in ((bad, 0.5), (~bad, 0.1)):
            noise = math.sqrt(share * (1 - share) / state.sum())
            assert is_lost[state].mean() == pytest.approx(share, abs=4 * noise)


class TestLossTrace:
    def test_times(self) -> None:
        """Exactly the packets within the lossy times are lost, periodically."""
        trace = LossTrace(points=((0, 0), (1, 1), (1.05, 0), (3, 1), (3.5, 0), (4, 1)))
        probes = Flow(kind="cbr", rate_mbps=0.8, packet_bytes=100)
        result = run(over(probes, loss_trace=trace, duration_s=20))
        log = result.queue_events()
        log = log[log["event"].isin(["enqueue", "loss"])]
        within_s = log["time_ns"].to_numpy() / 1e9 % 4
        expected = ((within_s >= 1) & (within_s < 1.05)) | ((within_s >= 3) & (within_s < 3.5))
        assert (log["event"] == "loss").tolist() == expected.tolist()
        assert expected.mean() == pytest.approx(trace.mean, abs=1e-3)

    def test_share(self) -> None:
        """Between them, losses are independent with the recorded share."""
        trace = LossTrace(points=((0, 0.05), (2, 0.3), (4, 0)))
        is_lost = lost(run(over(loss_trace=trace, duration_s=40)))
        first = np.arange(len(is_lost)) // 2000 % 2 == 0  # 1000 packets a second
        for half, share in ((first, 0.05), (~first, 0.3)):
            noise = math.sqrt(share * (1 - share) / half.sum())
            assert is_lost[half].mean() == pytest.approx(share, abs=4 * noise)
            lengths = runs(is_lost & half)
            assert lengths.mean() == pytest.approx(
                1 / (1 - share), abs=4 * math.sqrt(share / len(lengths)) / (1 - share)
            )


class TestJitter:
    #: Packets that are too far apart to overtake each other.
    PROBES = Flow(kind="cbr", rate_mbps=0.008, packet_bytes=100)

    @staticmethod
    def over(*flows: Flow, duration_s: float, **jitter: Any) -> Scenario:
        """Return a scenario with a jittery link before another one."""
        first = Bottleneck(bandwidth_mbps=20, queue_packets=100, jitter=Jitter(**jitter))
        second = Bottleneck(bandwidth_mbps=1000, queue_packets=1000)
        return Scenario(
            flows=flows,
            path=NetworkPath(bottlenecks=(first, second), rtt_ms=40),
            duration_s=duration_s,
        )

    def delays_ms(self, **jitter: Any) -> npt.NDArray[np.float64]:
        """Return the additional delays of 20,000 packets."""
        result = run(self.over(self.PROBES, duration_s=2000, **jitter))
        left, came = (
            log.loc[log["event"] == event, "time_ns"].to_numpy()
            for log, event in (
                (result.queue_events(0), "dequeue"),
                (result.queue_events(1), "enqueue"),
            )
        )
        assert len(came) >= 19_999  # the last ones are under way
        delays_ms: npt.NDArray[np.float64] = (came - left[: came.size]) / 1e6 - 100 * 8 / 20e3
        return delays_ms

    @staticmethod
    def check(delays_ms: npt.NDArray[np.float64], shares: npt.NDArray[np.float64]) -> None:
        """Check by Kolmogorov and Smirnov that the shares below the delays are uniform."""
        count = len(delays_ms)
        steps = np.sort(shares)
        distance = np.abs(steps - (np.arange(count) + 0.5) / count).max()
        assert distance < 2.2 / math.sqrt(count)  # p = 0.0001

    @pytest.mark.parametrize("correlation", [0, 0.25])
    @pytest.mark.parametrize("distribution", ["uniform", "normal", "pareto"])
    def test_distribution(self, distribution: str, correlation: float) -> None:
        """Delays have the named distribution, with its mean and variation; also if correlated."""
        delays_ms = self.delays_ms(
            delay_ms=20, jitter_ms=4, distribution=distribution, correlation=correlation
        )
        z = (delays_ms - 20) / 4
        if distribution == "uniform":
            shares = (z + 1) / 2
            assert np.all((shares >= 0) & (shares <= 1))
        elif distribution == "normal":
            shares = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in z])
        else:
            # From 1 on, with shape 3: mean 3/2, variance 3/4.
            shares = 1 - (1.5 + z * math.sqrt(0.75)) ** -3.0
            assert np.all(shares >= 0)
        # Of correlated values, fewer are independent.
        thinned = shares[:: 4 if correlation else 1]
        self.check(thinned, thinned)

    @pytest.mark.parametrize("correlation", [0, 0.5, 0.9])
    def test_correlation(self, correlation: float) -> None:
        """Correlations of normal delays are those of a process of first order."""
        delays_ms = self.delays_ms(
            delay_ms=30, jitter_ms=4, distribution="normal", correlation=correlation
        )
        assert delays_ms.std() == pytest.approx(4, rel=0.05)
        for lag in (1, 2, 5):
            actual = np.corrcoef(delays_ms[lag:], delays_ms[:-lag])[0, 1]
            assert actual == pytest.approx(correlation**lag, abs=4 / math.sqrt(len(delays_ms)))

    def test_recorded(self) -> None:
        """Each recorded delay occurs in its share of the packets, and no other delay does."""
        recorded = (1.0, 1.0, 1.0, 7.5, 40.0, 40.0, 0.0, 63.25)
        delays_ms = self.delays_ms(delays_ms=recorded)
        values, counts = np.unique(delays_ms.round(6), return_counts=True)
        assert values.tolist() == sorted(set(recorded))
        shares = np.array([recorded.count(value) / len(recorded) for value in values])
        expected = shares * len(delays_ms)
        # Chi-square with 4 degrees of freedom exceeds 23.5 with a probability of 0.0001.
        assert np.sum((counts - expected) ** 2 / expected) < 23.5

    def test_negative(self) -> None:
        """Where the distribution is below 0, packets are not delayed."""
        delays_ms = self.delays_ms(delay_ms=0, jitter_ms=4, distribution="normal")
        assert np.mean(delays_ms == 0) == pytest.approx(0.5, abs=0.015)

    def test_reordering(self) -> None:
        """Packets arrive in the order of their times: of two uniform delays, by their difference.

        Packets that leave d apart change places with probability (1 - d / w)^2 / 2, where w is the
        width of the distribution.
        """
        # In each period of 100 ms, a packet of either flow, 2 ms apart.
        flows = self.PROBES, replace(self.PROBES, start_s=0.002)
        result = run(self.over(*flows, duration_s=2000, delay_ms=20, jitter_ms=5))
        log = result.queue_events(1)
        came = log.loc[log["event"] == "enqueue", "flow"].to_numpy()
        pairs = came[: came.size // 2 * 2].reshape(-1, 2)
        share = 0.5 * (1 - 2 / 10) ** 2
        deviation = math.sqrt(share * (1 - share) / len(pairs))
        assert (pairs[:, 0] == 1).mean() == pytest.approx(share, abs=4 * deviation)

    def test_both_directions(self) -> None:
        """Data and ACKs of a bulk flow are reordered; the data arrive all the same."""
        link = Bottleneck(
            bandwidth_mbps=20, queue_packets=100, jitter=Jitter(delay_ms=5, jitter_ms=3)
        )
        flow = Flow(kind="bytes", size_bytes=5_000_000)
        scenario = Scenario(
            flows=(flow,),
            path=NetworkPath(bottlenecks=(link,), reverse_bottlenecks=(link,), rtt_ms=40),
            duration_s=30,
        )
        assert run(scenario).completion_times()["fct_s"].notna().all()

    def test_seeds(self) -> None:
        """Seeds and links have independent jitter."""
        scenario = self.over(self.PROBES, duration_s=200, delay_ms=20, jitter_ms=5)
        link = scenario.path.bottlenecks[0]
        scenario = replace(
            scenario,
            path=replace(scenario.path, bottlenecks=(link, link, scenario.path.bottlenecks[1])),
        )

        def delays(result: Run) -> list[npt.NDArray[np.float64]]:
            logs = [result.queue_events(i) for i in range(3)]
            came = [log.loc[log["event"] == "enqueue", "time_ns"].to_numpy() for log in logs]
            return [after[:1990] - before[:1990] for before, after in pairwise(came)]

        series = [*delays(run(scenario)), *delays(run(replace(scenario, seed=2)))]
        for i, first in enumerate(series):
            for second in series[:i]:
                assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(1990)


class TestGivenPackets:
    def test_numbers(self) -> None:
        """Exactly the given packets are lost, counted from 1, before the queue."""
        numbers = (1, 2, 10, 4000)
        is_lost = lost(run(over(loss_packets=numbers)))
        assert tuple((np.flatnonzero(is_lost) + 1).tolist()) == numbers

    @pytest.mark.parametrize("queue_log", [True, "summary"])
    def test_counted(self, queue_log: bool | str) -> None:  # noqa: FBT001 - a setting
        """Losses of a bottleneck are counted apart from drops, from a log and from a summary."""
        scenario = replace(over(loss_packets=(5, 6, 9)), queue_log=queue_log)
        assert run(scenario).bottleneck_summary()["losses"].tolist() == [3]

    def test_uncounted(self) -> None:
        """Without a record of the queues, the number of losses is unknown rather than 0."""
        scenario = replace(over(loss_packets=(5, 6, 9)), queue_log=False)
        assert run(scenario).bottleneck_summary()["losses"].isna().all()

    def test_way_back(self) -> None:
        """Given ACKs are lost on the reverse path, and the data are not retransmitted."""
        back = Bottleneck(bandwidth_mbps=20, queue_packets=100, loss_packets=(30, 31, 32))
        scenario = replace(
            over(Flow(acks="every"), duration_s=3),
            path=replace(over(Flow(acks="every"), duration_s=3).path, reverse_bottlenecks=(back,)),
        )
        result = run(scenario)
        assert np.flatnonzero(lost(result, 1)).tolist() == [29, 30, 31]
        assert fates(result)["lost"].iloc[0] == result.summary()["drops"].iloc[0]

    def test_recovery(self) -> None:
        """A flow that loses one packet retransmits one packet."""
        flow = Flow(kind="bytes", size_bytes=300_000)
        summary = run(over(flow, loss_packets=(50,))).summary()
        assert summary["retransmits"].iloc[0] == 1


class TestPolicer:
    @pytest.mark.parametrize("burst_bytes", [1500, 100_000])
    def test_rate(self, burst_bytes: int) -> None:
        """In any interval, at most the burst and the tokens of the interval pass."""
        policer = Policer(rate_mbps=3, burst_bytes=burst_bytes)
        result = run(over(policer=policer))
        log = result.queue_events()
        passed = log[log["event"] == "enqueue"]
        times_s, size = passed["time_ns"].to_numpy() / 1e9, passed["bytes"].to_numpy()
        # The bucket's level, from the other side: the excess over the rate since its minimum.
        excess = np.cumsum(size) - times_s * 3e6 / 8
        before = np.minimum.accumulate(excess - size)
        assert (excess - before).max() <= burst_bytes + 1
        assert size.sum() * 8e-6 == pytest.approx(3 * 20 + burst_bytes * 8e-6, rel=1e-3)
        assert set(log["event"]) == {"enqueue", "dequeue", "loss"}

    def test_below_the_rate(self) -> None:
        """Traffic below the rate passes."""
        assert not lost(run(over(policer=Policer(rate_mbps=4.01, burst_bytes=1500)))).any()

    def test_tcp(self) -> None:
        """TCP stays below the rate, and far below it with a small bucket (Flach 2016)."""
        rates = []
        for burst_bytes in (8_000, 500_000):
            policer = Policer(rate_mbps=5, burst_bytes=burst_bytes)
            result = run(over(Flow(cca="cubic"), policer=policer, duration_s=60))
            rates.append(result.throughput(1.0).iloc[10:].to_numpy().mean())
        assert max(rates) <= 5 + 500_000 * 8e-6 / 50
        assert rates[0] < 0.8 * rates[1]


class TestDuplicates:
    def test_share(self) -> None:
        """The given share of the packets arrives twice at one instant, and all are delivered."""
        result = run(over(duplicates=0.1))
        log = result.queue_events()
        arrivals = log[log["event"] == "enqueue"]
        twice = np.diff(arrivals["time_ns"]) == 0
        sent = len(arrivals) - twice.sum()
        assert twice.sum() / sent == pytest.approx(0.1, abs=4 * math.sqrt(0.09 / sent))
        delivered = result.completions["delivered_bytes"].iloc[0]
        assert delivered == pytest.approx(len(arrivals) * (500 - 28), abs=2 * 472)

    def test_tcp(self) -> None:
        """TCP delivers data once, and retransmits nothing because of duplicates."""
        flow = Flow(kind="bytes", size_bytes=1_000_000)
        result = run(over(flow, duplicates=0.1))
        assert result.completions["delivered_bytes"].iloc[0] == 1_000_000
        assert result.summary()["retransmits"].iloc[0] == 0


class TestReordering:
    #: BBR is paced and never fills the queue of this path, so that nothing is lost.
    FLOW = Flow(cca="bbr", segmentation_offload=False)

    def retransmits(self, reordering: Reordering | None) -> tuple[float, float]:
        """Return the share of retransmitted packets, and the goodput in Mbit/s."""
        scenario = over(self.FLOW, queue_packets=1000, reordering=reordering, duration_s=30)
        result = run(scenario)
        assert result.summary()["drops"].iloc[0] == 0
        summary = result.summary().iloc[0]
        sent = fates(result)["sent"].iloc[0]
        return summary["retransmits"] / sent, summary["goodput_mbps"]

    def test_within_the_window(self) -> None:
        """Packets that are late by less than RACK's window are not retransmitted (RFC 8985).

        The window is a quarter of the shortest RTT of 40 ms, once reordering has been seen.
        """
        late, _ = self.retransmits(Reordering(share=0.01, delay_ms=5))
        assert late < 2e-4

    def test_beyond_the_window(self) -> None:
        """Packets that are late by more than the RTT are retransmitted, each of them."""
        late, _ = self.retransmits(Reordering(share=0.01, delay_ms=150))
        assert late == pytest.approx(0.01, rel=0.25)

    @pytest.mark.parametrize("packets", [1, 3, 10])
    def test_overtaken(self, packets: int) -> None:
        """A late packet arrives just after this number of later packets of its flow."""
        flow = Flow(kind="cbr", rate_mbps=4, packet_bytes=500)
        late = over(flow, reordering=Reordering(share=0.01, packets=packets), duration_s=5)
        result, plain = run(late), run(over(flow, duration_s=5))
        # The path's counter of departed bytes lags by the packets that are held.
        samples = [r.samples("throughput_bytes")[0].to_numpy() for r in (result, plain)]
        held = (samples[1] - samples[0]) / 500
        assert set(held) <= set(range(4 * packets))
        assert held.max() >= 1
        assert held[-1] <= packets

    def test_between_bottlenecks(self) -> None:
        """Delays of packets that are reordered between two queues are refused, not guessed."""
        late = over(reordering=Reordering(share=0.1, packets=3), duration_s=1)
        result = run(replace(late, path=replace(late.path, bottlenecks=late.path.bottlenecks * 2)))
        with pytest.raises(InputError, match="between bottlenecks 0 and 1"):
            delivered(result)
        assert len(delivered(run(late)))

    def test_end_of_flow(self) -> None:
        """A late packet without successors arrives after a second, and the flow completes."""
        flow = Flow(kind="bytes", size_bytes=100_000)
        scenario = over(flow, reordering=Reordering(share=0.3, packets=1000), duration_s=20)
        result = run(scenario)
        assert result.completions["delivered_bytes"].iloc[0] == 100_000
        assert result.flows["throughput_bytes"].iloc[-1] >= 100_000
