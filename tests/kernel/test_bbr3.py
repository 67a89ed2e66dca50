# SPDX-License-Identifier: Apache-2.0
"""BBRv3 behaves as draft-ietf-ccwg-bbr implies.

``tests/kernel/bbr3`` shows that the draft's test cases catch faults of the module.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Bottleneck, Change, Flow, Noise, Run, Scenario
from ccbench.base.errors import EngineError
from ccbench.emulate.kernel.source.home import sources_dir
from ccbench.experiment.scenario import MSS_BYTES
from ccbench.metrics import jain_index
from ccbench.studies.bbr3.case import PAYLOAD, PAYLOAD_BYTES
from ccbench.studies.bbr3.state import PROBE_BW, state_of
from tests.kernel.conftest import dumbbell, events, run, run_with

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = pytest.mark.kernel

#: Paths: Mbit/s, RTT in ms, and the rounds between probes of the bandwidth. These are as many as
#: packets that fill the path, at most 63, or as fit into the mean wait of 2.5 s.
PATHS = [(10, 40, 33), (100, 20, 63), (50, 100, 25)]

#: Rounds of a probe of the bandwidth and of draining its queue: UP sends 0.25 BDP per round too
#: much for four rounds, and DOWN, at 0.9 times 0.99, 0.11 BDP too little for nine.
PROBE_ROUNDS = 14

#: Parameters of the module with their ranges.
RANGES = [
    (name, int(low), int(high))
    for name, low, high in re.findall(
        r"SETTING\((\w+), \d+, (\d+), (\d+),",
        (sources_dir() / "tcp_bbr3" / "settings.c").read_text(encoding="utf-8"),
    )
]


def bbr3(**settings: Any) -> Flow:
    """Return a flow with BBRv3."""
    return Flow(cca="bbr3", **settings)


def alone(mbps: float, rtt_ms: float, cca: str = "bbr3", **settings: Any) -> Scenario:
    """Return a flow on a path with a queue of three bandwidth-delay products."""
    bdp_packets = mbps * rtt_ms / 12
    given = {"duration_s": 30, "queue_packets": round(3 * bdp_packets), **settings}
    return dumbbell(Flow(cca=cca), bandwidth_mbps=mbps, rtt_ms=rtt_ms, **given)


def with_parameters(scenario: Scenario, **values: int) -> Scenario:
    """Return a scenario with parameters of the module."""
    parameters = tuple((f"tcp_bbr3.{name}", str(value)) for name, value in values.items())
    return replace(scenario, path=replace(scenario.path, module_parameters=parameters))


def share(result: Run) -> float:
    """Return the used share of the link, after Startup."""
    rate_mbps = result.scenario.path.bottlenecks[0].bandwidth_mbps
    assert rate_mbps is not None
    return float(result.throughput(1.0).loc[5.0:].sum(axis=1).mean() / rate_mbps)


def late(result: Run) -> pd.DataFrame:
    """Return the state of the first flow, after Startup."""
    return state_of(result).samples.loc[5.0:]


def waits_s(result: Run) -> list[float]:
    """Return the times from the begin of DOWN to that of REFILL."""
    waits, begin_s = [], None
    for span in state_of(result).spans:
        if span.phase == "refill" and begin_s is not None:
            waits.append(span.start_s - begin_s)
        if span.phase != "cruise":
            begin_s = span.start_s if span.phase == "down" else None
    return waits


@pytest.mark.parametrize(("mbps", "rtt_ms", "wait_rounds"), PATHS)
class TestAlone:
    def test_rate(self, mbps: float, rtt_ms: float, wait_rounds: int) -> None:
        """A flow alone uses 95 % of the link: all but ProbeRTT and the pacing margin."""
        assert wait_rounds > 0
        assert share(run(alone(mbps, rtt_ms))) > 0.95

    def test_bandwidth(self, mbps: float, rtt_ms: float, wait_rounds: int) -> None:
        """The estimate of the bandwidth is the link's rate of payload, within 2 %."""
        assert wait_rounds > 0
        estimates = late(run(alone(mbps, rtt_ms)))["max_bw_mbps"] / (mbps * PAYLOAD)
        assert estimates.between(0.98, 1.02).all()

    def test_queue(self, mbps: float, rtt_ms: float, wait_rounds: int) -> None:
        """Between probes the queue is empty; a probe and its end queue half a BDP on average."""
        result = run(alone(mbps, rtt_ms))
        expected_bdp = 0.5 * PROBE_ROUNDS / (PROBE_ROUNDS + wait_rounds)
        assert result.queueing_delay_ms() / rtt_ms < 1.25 * expected_bdp
        burst_ms, packet_ms = 1.0, 12 / mbps
        assert result.queueing_delay_percentiles_ms([50]).iloc[0] < burst_ms + packet_ms


class TestProbeRtt:
    def test_cost(self) -> None:
        """ProbeRTT costs half of the rate for 200 ms and up to two round trips every 5 s: 2 %."""
        usual = alone(20, 40, duration_s=60)
        rare = with_parameters(usual, probe_rtt_interval_ms=600_000)
        cost = share(run(rare)) - share(run(usual))
        assert "probe_rtt" not in set(late(run(rare))["phase"])
        assert 0.5 * 0.2 / 5.2 < cost < 0.5 * (0.2 + 2 * 0.04) / 5.2

    def test_time(self) -> None:
        """A flow spends at least 94 % of the time in ProbeBW (draft: roughly 96 %)."""
        assert late(run(alone(20, 40, duration_s=60)))["phase"].isin(PROBE_BW).mean() > 0.94


class TestFairness:
    def test_late_flow(self) -> None:
        """A flow that starts 15 s late keeps far below its half for the first minute (PAM 2024)."""
        noise = Noise(forward_jitter_ms=0.7, reverse_jitter_ms=0.7, start_spread_ms=20)
        shares = []
        for seed in range(1, 5):
            flows = (bbr3(), bbr3(start_s=15))
            order = flows if seed % 2 else flows[::-1]
            scenario = dumbbell(
                *order,
                bandwidth_mbps=100,
                rtt_ms=100,
                queue_packets=round(100 * 100 / 12),
                duration_s=60,
                noise=noise,
                seed=seed,
                queue_log=False,
            )
            mean = run(scenario).throughput(1.0).loc[30.0:].mean()
            shares.append(mean.iloc[order.index(flows[1])] / mean.sum())
        assert np.mean(shares) < 0.35

    @pytest.mark.parametrize("seed", range(1, 5))
    @pytest.mark.parametrize(("mbps", "rtt_ms"), [(20, 40), (50, 20)])
    def test_two_flows(self, mbps: float, rtt_ms: float, seed: int) -> None:
        """Two flows share the link, though one starts 3 s later."""
        noise = Noise(forward_jitter_ms=0.7, reverse_jitter_ms=0.7, start_spread_ms=100)
        scenario = alone(mbps, rtt_ms, duration_s=60, noise=noise, seed=seed, queue_log=False)
        result = run(replace(scenario, flows=(bbr3(), bbr3(start_s=3))))
        assert jain_index(result.throughput(1.0).loc[30.0:].mean().to_numpy()) > 0.97


class TestLoss:
    def test_random_loss(self) -> None:
        """With 1 % random loss, below LossThresh, a flow has ten times the rate of CUBIC.

        It does not keep the whole rate: each round with a loss in CRUISE lowers bw_shortterm to the
        delivered rate, which is 1 % below it, until the next probe.
        """
        assert share(run(alone(50, 40, loss=0.01))) > 0.75
        assert share(run(alone(50, 40, "cubic", loss=0.01))) < 0.075

    def test_bandwidth_survives(self) -> None:
        """Random loss does not change the estimate of the bandwidth, but the short-term bound."""
        samples = late(run(alone(50, 40, loss=0.01)))
        assert samples["max_bw_mbps"].median() == pytest.approx(50 * PAYLOAD, rel=0.02)
        cruise = samples[samples["phase"] == "cruise"]
        assert (cruise["bw_shortterm_mbps"].dropna() <= cruise["max_bw_mbps"].max()).all()
        assert cruise["bw_shortterm_mbps"].notna().mean() > 0.9

    def test_heavy_loss(self) -> None:
        """With 5 % loss, above LossThresh, inflight_longterm bounds the flow."""
        result = run(alone(50, 40, loss=0.05))
        assert late(result)["inflight_longterm"].notna().all()
        assert share(result) < share(run(alone(50, 40, loss=0.01))) / 2

    def test_tail_loss(self) -> None:
        """A loss that a tail loss probe repairs begins a round of losses, though none is marked."""
        slow = Change(at_s=3, flow=0, app_rate_mbps=0.02)
        lossy = Change(at_s=3.5, loss=0.1)
        scenario = alone(10, 40, duration_s=60, changes=(slow, lossy), sample_interval_ms=5)
        samples = late(run(scenario))
        repaired = samples["retransmits"].diff() > 0
        unmarked = samples[repaired & (samples["tcp_state"] == "open")]
        assert len(unmarked) > 3
        for time_s in unmarked.index:
            after = samples.loc[time_s : time_s + 1]
            probe_lost = after["tcp_state"].eq("loss").any()
            assert probe_lost or after["is_loss_in_round"].astype(bool).any()

    @pytest.mark.parametrize("sack", [0, 1])
    def test_timeouts(self, sack: int) -> None:
        """Timeouts, whose rounds last seconds, do not end Startup: a flow recovers in 15 RTTs.

        The first window of ten packets and five retransmissions of one are lost.
        """
        lossy = Bottleneck(bandwidth_mbps=10, queue_packets=100, loss_packets=tuple(range(3, 18)))
        sysctls = (("net.ipv4.tcp_sack", str(sack)),)
        scenario = replace(
            alone(10, 40, sysctls=sysctls),
            path=replace(alone(10, 40, sysctls=sysctls).path, bottlenecks=(lossy,)),
        )
        rows = run(scenario).flows
        begin_ns = rows.loc[rows["delivered_bytes"] > 0, "time_ns"].min()
        assert begin_ns > 3e9
        recovered = rows[rows["time_ns"] <= begin_ns + 15 * 40e6]
        assert recovered["delivered_bytes"].max() > 100 * MSS_BYTES


class TestWindow:
    def test_short_path(self) -> None:
        """On a short path the window is three bursts of 1 ms, and not fewer packets."""
        scenario = alone(34, 0.5, duration_s=2, queue_packets=100, sample_interval_ms=1)
        samples = state_of(run(scenario)).samples
        cruise = samples[samples["phase"] == "cruise"].iloc[-1]
        burst_packets = cruise["pacing_mbps"] * 1e6 / 8 / 1e3 / PAYLOAD_BYTES
        assert 2.5 < burst_packets < 3
        assert cruise["cwnd"] == math.ceil(3 * burst_packets)

    def test_pauses(self) -> None:
        """Pauses of the application are not aggregation, and do not open the window."""
        stop = Change(at_s=4, every_s=0.7, flow=0, app_rate_mbps=0)
        go = Change(at_s=4.3, every_s=0.7, flow=0, app_rate_mbps=100_000)
        little = {"net.ipv4.tcp_notsent_lowat": 60_000}
        scenario = alone(
            50, 40, duration_s=13, changes=(stop, go), sysctls=little, sample_interval_ms=5
        )
        samples = late(run(scenario))
        assert samples["idle_restart"].astype(bool).any()
        bdp_packets = 50 * 40 / 12
        assert samples["extra_acked"].max() < bdp_packets / 10
        assert samples["cwnd"].max() < 2.5 * bdp_packets


class TestMarks:
    @pytest.mark.parametrize("ecn", [True, "accecn"])
    def test_marks(self, *, ecn: bool | str) -> None:
        """A queue that marks above 5 ms is half as long as one that does not, without losses."""
        marking = Bottleneck(
            bandwidth_mbps=50,
            queue_packets=1000,
            qdisc="codel",
            qdisc_options=(("ecn", True), ("ce_threshold_ms", 5)),
        )
        unmarked = alone(50, 40, queue_packets=1000)
        kernel = "accecn" if ecn == "accecn" else "bbr3"
        marked = run_with(
            kernel, replace(unmarked, path=replace(unmarked.path, ecn=ecn, bottlenecks=(marking,)))
        )
        assert len(events(marked, "mark")) > 0
        assert events(marked, "drop").empty
        assert late(marked)["inflight_longterm"].notna().any()
        assert marked.queueing_delay_ms() < run_with(kernel, unmarked).queueing_delay_ms() / 2
        assert share(marked) > 0.9


class TestRandomness:
    def test_waits(self) -> None:
        """Probes of the bandwidth are 2 to 3 s apart, uniformly."""
        waits = np.array(
            [
                wait_s
                for seed in range(1, 6)
                for wait_s in waits_s(
                    run(
                        with_parameters(
                            alone(20, 100, duration_s=60, seed=seed, sample_interval_ms=10),
                            probe_rtt_interval_ms=600_000,
                            min_rtt_filter_ms=600_000,
                        )
                    )
                )
            ]
        )
        assert len(waits) > 50
        assert 2 <= waits.min() < 2.2
        assert 2.8 < waits.max() < 3.1
        assert waits.mean() == pytest.approx(2.5, abs=0.15)

    def test_rounds(self) -> None:
        """On a short path, probes are 62 or 63 rounds apart."""
        waits = np.array(waits_s(run(alone(100, 10, sample_interval_ms=1))))
        assert len(waits) > 10
        assert 0.62 <= waits.min()
        assert waits.max() < 0.75
        assert len(set(waits.round(2))) > 1

    def test_seeds(self, engine: KernelEngine) -> None:
        """A run is the same to the byte with the same seed, and another with another seed."""
        scenario = alone(20, 100, duration_s=15)
        first, same = (engine.run(scenario).flows for _ in range(2))
        assert first.equals(same)
        assert not first.equals(engine.run(replace(scenario, seed=2)).flows)


class TestInfo:
    def test_phases(self) -> None:
        """The reported phases are those of the draft's state machine, in its order."""
        spans = state_of(run(alone(10, 40, sample_interval_ms=2))).spans
        assert [span.phase for span in spans[:2]] == ["startup", "drain"]
        following = {
            "startup": {"drain"},
            "drain": {"down", "cruise"},
            "down": {"cruise", "refill", "probe_rtt"},
            "cruise": {"refill", "probe_rtt"},
            "refill": {"up", "probe_rtt"},
            "up": {"down", "probe_rtt"},
            "probe_rtt": {"cruise"},
        }
        for span, after in pairwise(spans):
            assert after.phase in following[span.phase]

    def test_values(self) -> None:
        """Without losses there are no bounds, and the pipe is full from Startup's end on."""
        samples = state_of(run(alone(10, 40))).samples
        assert samples["full_bw_reached"].eq(samples["phase"] != "startup").all()
        bounds = samples[["bw_shortterm_mbps", "inflight_shortterm", "inflight_longterm"]]
        assert bounds.isna().all(axis=None)
        assert (samples["extra_acked"] <= samples["cwnd"].cummax()).all()
        assert not samples["idle_restart"].any()


class TestParameters:
    def test_all(self, engine: KernelEngine) -> None:
        """The values at both ends of all ranges are accepted, and data arrive."""
        assert len(RANGES) == 18
        for i in (1, 2):
            limits = {limits[0]: limits[i] for limits in RANGES}
            scenario = with_parameters(alone(10, 40, duration_s=3), **limits)
            assert engine.run(scenario).completions["delivered_bytes"].iloc[0] > 0

    @pytest.mark.parametrize(("name", "low", "high"), RANGES)
    def test_refused(self, engine: KernelEngine, name: str, low: int, high: int) -> None:
        """A value below or above its range ends the run with the name of the parameter."""
        for value in (low - 1, high + 1):
            with pytest.raises(EngineError, match=rf"{name}.*refused|refused.*{name}"):
                engine.run(with_parameters(alone(10, 40, duration_s=0.1), **{name: value}))

    def test_silence(self) -> None:
        """The lowest gains do not silence a flow on a slow path for longer than its queue lasts."""
        slow = alone(0.064, 100, duration_s=60, queue_packets=50)
        low = {"drain_pacing_gain_percent": 1, "down_pacing_gain_percent": 1}
        result = run(with_parameters(slow, **low))
        sent_ns = events(result, "enqueue")["time_ns"]
        assert "drain" in set(state_of(result).samples["phase"])
        assert sent_ns.diff().max() < 4e9

    @pytest.mark.parametrize("seed", range(1, 21))
    def test_random(self, engine: KernelEngine, seed: int) -> None:
        """Random values of all parameters neither crash the module nor stop a flow."""
        draw = np.random.default_rng(seed)
        values = {
            name: int(draw.choice([low, high, np.exp(draw.uniform(np.log(low + 1), np.log(high)))]))
            for name, low, high in RANGES
        }
        loss = float(draw.choice([0, 0.02, 0.2]))
        scenario = alone(10, 40, duration_s=5, loss=loss, seed=seed, queue_log="summary")
        result = engine.run(with_parameters(scenario, **values))
        rows = result.flows["delivered_bytes"]
        assert rows.iloc[-1] > rows.iloc[len(rows) // 2]
