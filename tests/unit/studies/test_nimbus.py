# SPDX-License-Identifier: Apache-2.0
"""The pure parts of the studies of Nimbus. No virtual kernel takes part."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import pytest

from ccbench import studies
from ccbench.elasticity.pulse import burst_bytes
from ccbench.scenario import Flow
from ccbench.studies import nimbus_5, nimbus_7, nimbus_14, nimbus_d4, nimbus_rtts
from ccbench.studies.nimbus_7 import phased
from ccbench.studies.nimbus_comparisons import worst_case
from ccbench.studies.nimbus_fair_share import fair_shares_mbps
from ccbench.studies.nimbus_measures import accuracy_percent, mode_accuracy_percent
from ccbench.studies.nimbus_testbed import CATEGORIES, category_of, cross_traffic, pulser, shared
from ccbench.traffic import FlowMix

if TYPE_CHECKING:
    from ccbench.run import Run
    from ccbench.studies import Study

_NAMES = [name for name in studies.names() if name.startswith("nimbus-")]


class TestFairShares:
    def test_conservation(self) -> None:
        """What flows do not send is the backlogged flow's: together they have the whole link."""
        arrivals = FlowMix(sizes="pareto", load_mbps=30, stop_s=50, seed=3).arrivals()
        share = fair_shares_mbps(arrivals, 1.0, 60.0, 96.0)
        sent = sum(size for _, size in arrivals) * 8e-6
        assert share.sum() + sent == pytest.approx(60 * 96)

    def test_shares(self) -> None:
        """With n flows that never end, the backlogged flow has a part of 1 / (n + 1)."""
        arrivals = [(10.0 * i, 1e12) for i in range(1, 4)]
        share = fair_shares_mbps(arrivals, 10.0, 40.0, 96.0)
        assert [96, 48, 32, 24] == pytest.approx(list(share))

    def test_nobody(self) -> None:
        """Alone, the backlogged flow has the link."""
        assert [96.0] * 3 == pytest.approx(list(fair_shares_mbps([], 1.0, 3.5, 96.0)))


class TestCrossTraffic:
    @pytest.mark.parametrize("category", CATEGORIES)
    def test_categories(self, category: str) -> None:
        """A scenario tells of which category its cross traffic is."""
        scenario = shared(Flow(), *cross_traffic(category), duration_s=9, seed=1, name="")
        assert category == category_of(scenario)

    def test_equal_mix(self) -> None:
        """In a mix of several flows, Poisson traffic has as much as fair shares give the flows."""
        scenario = nimbus_rtts.scenario("mix", (20, 40, 60), 1, 30.0)
        poisson = scenario.flows[-1].rate_mbps or 0.0
        assert poisson == pytest.approx(3 * (96 - poisson) / 4)
        # However near the others are, the sender's round trip is 50 ms, and the queue 2 of its BDP.
        assert [50.0, 20.0, 40.0, 60.0] == [
            scenario.rtt_ms + flow.extra_rtt_ms for flow in scenario.flows[:4]
        ]
        assert 800 == scenario.bottlenecks[0].queue_packets

    @pytest.mark.parametrize("part", [0.25, 0.5, 0.75])
    def test_elastic_part(self, part: float) -> None:
        """With fair shares, CUBIC is the stated part of the cross traffic."""
        poisson = nimbus_5.poisson_mbps(part)
        share = (96 - poisson) / 2
        assert part == pytest.approx(share / (share + poisson))

    def test_pulser(self) -> None:
        """Pulses add nothing on average, and burst as much as the paper's."""
        base, *bursts = pulser(48, 20)
        assert len(bursts) == 100
        assert base.rate_mbps is not None
        first = bursts[0]
        assert first.rate_mbps is not None
        assert first.stop_s is not None
        total = base.rate_mbps * 20 + sum(
            (flow.rate_mbps or 0) * ((flow.stop_s or 0) - flow.start_s) for flow in bursts
        )
        assert total / 20 == pytest.approx(48)
        up_mbps = base.rate_mbps + first.rate_mbps - 48
        assert up_mbps * 1e6 / 8 * (first.stop_s - first.start_s) == pytest.approx(burst_bytes(96))

    def test_schedule(self) -> None:
        """Each phase's flows end where those of the next begin, as many as it says."""
        phases = nimbus_7.phases(20.0)
        flows = phased(phases, 180.0)
        assert {flow.stop_s for flow in flows} == {20.0 * i for i in range(1, 10)}
        assert sum(flow.count for flow in flows if flow.cca) == 11
        # 27.5 Mbit/s are 10 % below the fair share.
        elastic = [phase.fair_share_mbps() for phase in phases if phase.is_elastic]
        assert np.mean(elastic) * 0.9 == pytest.approx(27.5, abs=0.05)

    def test_bursts(self) -> None:
        """A link that aggregates carries four times the bottleneck's rate, all of it at once."""
        for period_ms in (2, 32):
            link = nimbus_14.aggregating(period_ms)
            assert link.mean_mbps == pytest.approx(4 * 96, rel=0.01)
            assert link.trace is not None
            assert set(link.trace.opportunities_ms) == {period_ms}

    def test_halves_of_figure_14(self) -> None:
        """The aggregating link comes after a fixed bottleneck, and after one that varies."""
        links = [s.bottlenecks for s in nimbus_14.STUDY.scenarios(quick=False)]
        behind = [first.trace is not None for first, *second in links if second]
        assert behind.count(True) == behind.count(False) == 5 * 2 * 5

    def test_two_bottlenecks(self) -> None:
        """Each link has cross traffic that crosses it alone, and the second is the slower one."""
        scenario = nimbus_d4.scenario("nimbus", ("inelastic", "elastic"), 1, 60.0)
        ends = scenario.flow_table()[["first_bottleneck", "last_bottleneck"]]
        assert [[0, 1], [0, 0], [1, 1]] == ends.to_numpy().tolist()
        assert [192, 96] == [link.mean_mbps for link in scenario.bottlenecks]
        assert [1600, 800] == [link.queue_packets for link in scenario.bottlenecks]
        assert 96 == scenario.flows[1].rate_mbps

    def test_random_walk(self) -> None:
        """Links of other seeds vary otherwise, within their limits, a step each second."""
        one, other = (np.array(nimbus_14.random_walk(seed, 120).rates_mbps(1.0)) for seed in (1, 2))
        assert not np.array_equal(one, other)
        assert np.abs(np.diff(one)).max() <= 20 + 0.02
        assert one.min() >= 24 - 0.02


class TestAccuracy:
    def test_percent(self) -> None:
        """Accuracy is the part of the windows in which the verdict is the truth, once settled."""
        seen = pd.DataFrame(
            {"is_elastic": [True, True, False, False], "elastic_share": [0.0, 0.5, 0.5, 0.0]},
            index=[5.0, 10.0, 11.0, 12.0],
        )
        assert accuracy_percent(seen) == pytest.approx(100 * 2 / 3)

    def test_worst_case(self) -> None:
        """The worst case is that of the lowest mean, with all its seeds and its name."""
        rows = pd.DataFrame(
            {
                "rtt_ms": [10, 10, 20, 20],
                "seed": [1, 2, 1, 2],
                "accuracy_percent": [99.0, 1.0, 60.0, 60.0],
            }
        )
        worst = worst_case(rows, ["rtt_ms"])
        assert (worst.name, worst.tolist()) == ("10", [99.0, 1.0])

    @pytest.mark.parametrize(
        ("category", "expected"), [("elastic", 25.0), ("mix", 25.0), ("inelastic", 75.0)]
    )
    def test_by_mode(self, category: str, expected: float) -> None:
        """Without packets, the mode is judged by what the scenario says of the cross traffic."""
        own = Flow(cca="nimbus")
        scenario = shared(own, *cross_traffic(category), duration_s=20, seed=1, name="")
        # Competitive until 12.5 s; what comes before 10 s does not count.
        times = np.arange(201) / 10
        told = pd.DataFrame({"mode": (times > 12.5).astype(int)}, index=times).drop(index=10.0)
        run = cast("Run", SimpleNamespace(scenario=scenario, cca_info=lambda _: told))
        assert mode_accuracy_percent(run) == pytest.approx(expected)


class TestStudies:
    @pytest.mark.parametrize("name", _NAMES)
    def test_quick(self, name: str) -> None:
        """Quick versions are short, full ones have five seeds or more; names tell runs apart."""
        study: Study = studies.get(name)  # type: ignore[assignment]
        quick, full = (study.scenarios(quick=quick) for quick in (True, False))
        assert sum(scenario.duration_s for scenario in quick) < 1_000
        assert {scenario.seed for scenario in full} >= {1, 2, 3, 4, 5}
        assert len({scenario.name for scenario in full}) == len(full)

    @pytest.mark.parametrize("name", ["nimbus-7", "nimbus-13"])
    def test_settings(self, name: str) -> None:
        """Only scenarios with NimbusCC have its settings, which other kernels do not know."""
        study: Study = studies.get(name)  # type: ignore[assignment]
        for scenario in study.scenarios(quick=True):
            has = any(flow.cca.startswith("nimbus") for flow in scenario.flows)
            assert has == any("tcp_nimbus" in name for name, _ in scenario.sysctls)

    def test_published_numbers_agree(self) -> None:
        """Table 1's own numbers agree with Table 1."""
        rows = []
        for cca, (elastic, inelastic, delay) in nimbus_7._PUBLISHED.items():
            rows += [
                {
                    "cca": cca,
                    "seed": 1,
                    "time_s": time_s,
                    "is_elastic": is_elastic,
                    "share_mbps": 40.0,
                    "mbps": 40 * (1 + off[0] / 100),
                    "waited_ms": delay[0] * 1000.0,
                    "packets": 1000,
                }
                for time_s, is_elastic, off in ((1.0, True, elastic), (2.0, False, inelastic))
            ]
        findings = nimbus_7.STUDY.conclude(pd.DataFrame(rows))
        assert all(comparison.agrees for comparison in findings.comparisons)
        assert len(findings.comparisons) == 3 * len(nimbus_7._PUBLISHED)
