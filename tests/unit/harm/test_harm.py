# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.experiment.noise import NO_NOISE, Noise
from ccbench.experiment.path import NetworkPath, typical_path
from ccbench.experiment.scenario import Bottleneck, Flow
from ccbench.harm import (
    Experiment,
    OrderEffect,
    compare_flows,
    expected_harm,
    harm,
    long_flows,
    measure,
    relative_harm,
    sides,
)
from ccbench.metrics import jain_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.run.run import Run

    MakeRun = Callable[..., Run]


class TestHarm:
    @pytest.mark.parametrize(
        ("solo", "competing", "less_is_better", "expected"),
        [(15, 10, False, 0.33), (40, 50, True, 0.2), (10, 15, True, 0.33)],
    )
    def test_worked_examples(
        self, solo: float, competing: float, expected: float, *, less_is_better: bool
    ) -> None:
        """The thesis's examples of throughput, latency and jitter are met (section 4.3.1)."""
        result = harm(solo, competing, less_is_better=less_is_better)
        assert round(result, 2) == expected

    @pytest.mark.parametrize("less_is_better", [False, True])
    def test_no_change_is_no_harm(self, *, less_is_better: bool) -> None:
        """Equal performance is a harm of 0 in both directions."""
        assert harm(7.0, 7.0, less_is_better=less_is_better) == 0

    def test_extremes(self) -> None:
        """Starvation and unbounded delay are a harm of 1; a gain is negative harm."""
        assert harm(10, 0) == 1
        assert harm(10, 1e12, less_is_better=True) == pytest.approx(1)
        assert harm(10, 15) < 0
        assert harm(10, 5, less_is_better=True) < 0
        assert harm(10, 0, less_is_better=True) == -math.inf

    def test_scale_does_not_matter(self) -> None:
        """Harm has no unit: other units of the metric give the same harm."""
        assert harm(30, 12) == pytest.approx(harm(30e6, 12e6))

    def test_no_losses_in_either_run_is_no_harm(self) -> None:
        """A less-is-better metric may be 0 in both runs."""
        assert harm(0.0, 0.0, less_is_better=True) == 0

    @pytest.mark.parametrize(
        ("solo", "competing", "less_is_better"),
        [
            (0, 1, False),
            (0, 0, False),
            (math.nan, 1, False),
            (1, math.nan, False),
            (math.inf, 1, False),
            (-1, 1, False),
            (1, -1, False),
        ],
    )
    def test_failed_measurements(
        self, solo: float, competing: float, *, less_is_better: bool
    ) -> None:
        """A failed measurement is an error that names the value, never a harm."""
        with pytest.raises(InputError, match=r"^(solo|competing) is .*; it must be .*: check"):
            harm(solo, competing, less_is_better=less_is_better)


class TestRelativeHarm:
    @pytest.mark.parametrize(("n_alpha", "n_beta"), [(1, 1), (2, 1), (5, 1), (3, 4)])
    def test_equal_sharing_is_zero(self, n_alpha: int, n_beta: int) -> None:
        """If all flows share equally there is no relative harm, whatever their number."""
        share = 100 * n_beta / (n_alpha + n_beta)
        result = relative_harm(100, share, n_alpha=n_alpha, n_beta=n_beta)
        assert result == pytest.approx(0, abs=1e-12)

    def test_worked_example(self) -> None:
        """From 30 Mbit/s to 10 against 2 flows is as fair as from 30 to 15 against 1 (5.3.1)."""
        assert relative_harm(30, 15, n_alpha=1, n_beta=1) == pytest.approx(
            relative_harm(30, 10, n_alpha=2, n_beta=1)
        )

    def test_three_against_one(self) -> None:
        """Equal fairness, opposite harm: Jain's index does not show who is unfair (Figure 5.1)."""
        greedy_beta, greedy_alphas = [50.0, *[50 / 3] * 3], [0.0, *[100 / 3] * 3]
        assert jain_index(greedy_beta) == pytest.approx(jain_index(greedy_alphas))
        assert relative_harm(100, greedy_beta[0], n_alpha=3, n_beta=1) == pytest.approx(-0.25)
        assert relative_harm(100, greedy_alphas[0], n_alpha=3, n_beta=1) == pytest.approx(0.25)

    def test_starvation_is_the_maximum(self) -> None:
        """Starved, beta loses its fair share: relative harm is n_beta / n."""
        assert relative_harm(100, 0, n_alpha=1, n_beta=4) == pytest.approx(4 / 5)

    @pytest.mark.parametrize(("n_alpha", "n_beta"), [(0, 1), (1, 0)])
    def test_flows_on_both_sides(self, n_alpha: int, n_beta: int) -> None:
        """Without flows on one side there is no expected harm."""
        with pytest.raises(InputError, match=r"^n_(alpha|beta) is 0; it must be at least 1"):
            expected_harm(n_alpha=n_alpha, n_beta=n_beta)


class TestJainIndex:
    def test_worked_example(self) -> None:
        """10 and 90 have an index of 0.61 (the thesis's example)."""
        assert round(jain_index([10, 90]), 2) == 0.61

    @pytest.mark.parametrize("n", [1, 2, 7])
    def test_bounds(self, n: int) -> None:
        """Equal shares have an index of 1, a single receiver of n has 1/n."""
        assert jain_index([3.0] * n) == pytest.approx(1)
        assert jain_index([3.0] + [0.0] * (n - 1)) == pytest.approx(1 / n)

    def test_scale_does_not_matter(self) -> None:
        """Other units give the same index, even where squares would overflow a float."""
        assert jain_index([1e200, 9e200]) == pytest.approx(jain_index([1, 9]))

    @pytest.mark.parametrize("x", [[], [0.0, 0.0], [1.0, math.nan], [1.0, -1.0]])
    def test_failed_measurements(self, x: list[float]) -> None:
        """A failed measurement has no index."""
        with pytest.raises(InputError, match=r"^x is .*; it must be"):
            jain_index(x)


def _experiment(**changes: Any) -> Experiment:
    own = {"alpha": "bbr", "beta": "cubic", "alpha_flows": 2, "beta_flows": 3}
    link = {"bandwidth_mbps": 100, "rtt_ms": 40, "queue_bdp": 1}
    noise = changes.pop("noise", NO_NOISE)
    own_names = {*own, "duration_s", "seed"}
    link |= {name: value for name, value in changes.items() if name not in own_names}
    own |= {name: value for name, value in changes.items() if name in own_names}
    settings: dict[str, Any] = {**own, "path": replace(typical_path(**link), noise=noise)}
    return long_flows(**settings)


class TestExperiment:
    def test_beta_keeps_its_flow_numbers(self) -> None:
        """If all flows start together, beta comes first in both runs: the numbers agree."""
        experiment = _experiment()
        assert list(experiment.solo.flow_table()["cca"]) == ["cubic"] * 3
        assert list(experiment.competing.flow_table()["cca"]) == ["cubic"] * 3 + ["bbr"] * 2

    def test_solo_run_does_not_depend_on_alpha(self) -> None:
        """The solo run does not depend on the competitors, so it is run once."""
        first, second = _experiment(), _experiment(alpha="reno", alpha_flows=5)
        assert first.solo.key() == second.solo.key()
        assert first.competing.key() != second.competing.key()

    def test_network_is_the_same(self) -> None:
        """Solo and competing scenario differ only in flows and name."""
        experiment = _experiment()
        competing = replace(experiment.competing, flows=experiment.solo.flows)
        assert competing == experiment.solo

    def test_queue(self) -> None:
        """Both runs have the requested queue."""
        experiment = _experiment(qdisc="codel", qdisc_options=[("target_ms", 50)])
        for scenario in (experiment.solo, experiment.competing):
            assert "codel" == scenario.path.bottlenecks[0].qdisc
            assert (("target_ms", 50),) == scenario.path.bottlenecks[0].qdisc_options

    def test_all_flows_last(self) -> None:
        """All flows start at once and send until the end."""
        table = _experiment(duration_s=50).competing.flow_table()
        assert (table["start_s"] == 0).all()
        assert (table["stop_s"] == 50).all()

    def test_no_queue_log(self) -> None:
        """Packet events are recorded only on request: harm does not need them."""
        assert not _experiment().competing.queue_log

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"alpha": "B BR"}, r"^alpha: cca is 'B BR'"),
            ({"beta": "B BR"}, r"^beta: cca is 'B BR'"),
            ({"beta": ""}, r"^beta is ''; it must be the name of a CCA"),
            ({"beta_flows": 0}, r"^beta: count is 0"),
            ({"bandwidth_mbps": -1}, r"^bandwidth_mbps is -1"),
            ({"rtt_ms": 0}, r"^rtt_ms is 0"),
            ({"queue_bdp": None}, r"queue_bdp is missing"),
        ],
    )
    def test_bad_input(self, change: dict[str, Any], message: str) -> None:
        """A bad setting is reported at once, not when the experiment is run."""
        with pytest.raises(InputError, match=message):
            _experiment(**change)

    def test_alpha_is_needed(self) -> None:
        """An experiment without alpha flows is refused."""
        link = Bottleneck(bandwidth_mbps=10, queue_packets=10)
        path = NetworkPath(bottlenecks=(link,), rtt_ms=40)
        with pytest.raises(InputError, match=r"^alpha is \(\)"):
            Experiment(alpha=(), beta=(Flow(),), path=path)

    def test_different_bottlenecks(self) -> None:
        """Flows that share no bottleneck are refused, but not those that share one of theirs."""
        links = (Bottleneck(bandwidth_mbps=10, queue_bdp=1),) * 2
        long, second = Flow(), Flow(first_bottleneck=1)
        path = NetworkPath(bottlenecks=links, rtt_ms=40)
        first: Any = {"path": path, "beta": (Flow(last_bottleneck=0),)}
        assert Experiment(alpha=(long,), **first).competing.flow_count == 2
        with pytest.raises(InputError, match="no bottleneck is on the path"):
            Experiment(alpha=(second,), **first)


#: Noise with which flows start in random order.
_SPREAD = Noise(start_spread_ms=20)


class TestOrder:
    """The order of alpha and beta in the competing run."""

    def test_half_of_the_seeds(self) -> None:
        """With spread starts, the seed decides which side has the lower numbers, evenly."""
        pairs = [_experiment(noise=_SPREAD, seed=seed) for seed in range(400)]
        first = sum(pair.competing.flows[0].cca == "bbr" for pair in pairs)
        assert abs(first - 200) < 4 * 10  # four standard deviations; the seeds are fixed

    def test_fixed_without_spread(self) -> None:
        """If flows start together, beta is first for every seed."""
        for seed in range(20):
            flows = _experiment(noise=Noise(reverse_jitter_ms=1), seed=seed).competing.flows
            assert ["cubic", "bbr"] == [flow.cca for flow in flows]

    @pytest.mark.parametrize("seed", range(6))
    def test_measured_alike(self, make_run: MakeRun, seed: int) -> None:
        """Harm does not depend on which side has the lower numbers."""
        pair = _experiment(noise=_SPREAD, seed=seed)
        rates = {"cubic": [10.0, 20.0, 30.0], "bbr": [5.0, 35.0]}
        both = [mbps for flow in pair.competing.flows for mbps in rates[flow.cca]]
        solo, competing = make_run(pair.solo, [30, 30, 30]), make_run(pair.competing, both)
        result = measure(solo, competing)
        assert (60, 40) == pytest.approx((result.competing_mbps, result.alpha_mbps))
        harms = compare_flows(solo, competing)["harm"]["throughput"]
        # Rates count from the start of each flow, which the noise moves by milliseconds.
        assert [2 / 3, 1 / 3, 0] == pytest.approx(harms.tolist(), abs=1e-3)
        assert [0, 1, 2] == harms.index.tolist()
        flows = sides(pair.solo, pair.competing)
        assert flows.beta == slice(*((2, 5) if pair.competing.flows[0].cca == "bbr" else (0, 3)))

    def test_alpha_equals_beta(self, make_run: MakeRun) -> None:
        """Of two equal groups each is beta for some seeds, so that roles are exchangeable."""
        harms = set()
        for seed in range(8):
            pair = _experiment(alpha="cubic", alpha_flows=3, noise=_SPREAD, seed=seed)
            competing = make_run(pair.competing, [10, 10, 10, 20, 20, 20])
            harms.add(round(measure(make_run(pair.solo, [30, 30, 30]), competing).relative, 6))
        assert {round(1 - 30 / 90 - 0.5, 6), round(1 - 60 / 90 - 0.5, 6)} == harms

    def test_own_order(self, make_run: MakeRun) -> None:
        """Runs of scenarios of one's own may have beta first or last, whatever the seed."""
        pair = _experiment(noise=_SPREAD)
        solo = make_run(pair.solo, [30, 30, 30])
        for flows, mbps in (
            (pair.beta + pair.alpha, [10, 10, 10, 30, 40]),
            (pair.alpha + pair.beta, [30, 40, 10, 10, 10]),
        ):
            competing = make_run(replace(pair.competing, flows=flows), mbps)
            assert 30 == pytest.approx(measure(solo, competing).competing_mbps)

    def test_effect(self) -> None:
        """The order explains all of the variance between constants, and none between equals."""
        assert 1 == pytest.approx(OrderEffect((0.1, 0.1), (-0.1, -0.1)).explained)
        assert 0 == OrderEffect((0.1, -0.1), (0.1, -0.1)).explained
        assert math.isnan(OrderEffect((0.1, 0.2, 0.3), (0.1,)).explained)

    def test_balanced(self) -> None:
        """The harm of both orders equally often mirrors itself if the roles are exchanged.

        The median does not, if one order happens to be more frequent.
        """
        rare, frequent = (0.30, 0.31), (0.08, 0.07, 0.09, 0.08)
        order = OrderEffect(rare, frequent)
        exchanged = OrderEffect(tuple(-x for x in frequent), tuple(-x for x in rare))
        assert order.balanced == pytest.approx(0.1925)
        assert order.balanced == pytest.approx(-exchanged.balanced)
        assert math.isnan(OrderEffect(rare, ()).balanced)


class TestMeasure:
    def test_parts(self, make_run: MakeRun) -> None:
        """Every part follows from the flows' rates."""
        experiment = _experiment()
        solo = make_run(experiment.solo, [30, 30, 30])
        competing = make_run(experiment.competing, [10, 10, 10, 30, 40])
        result = measure(solo, competing)
        assert result.solo_mbps == pytest.approx(90)
        assert result.competing_mbps == pytest.approx(30)
        assert result.alpha_mbps == pytest.approx(70)
        assert result.absolute == pytest.approx(60 / 90)
        assert result.expected == pytest.approx(2 / 5)
        assert result.relative == pytest.approx(60 / 90 - 2 / 5)
        assert result.jain == pytest.approx(jain_index([10, 10, 10, 30, 40]))
        assert (result.n_alpha, result.n_beta) == (2, 3)

    def test_measured_from_convergence_to_the_end(self, make_run: MakeRun) -> None:
        """Rates before convergence do not count, neither solo nor competing."""
        experiment = _experiment(alpha_flows=1, beta_flows=1)
        rates = np.tile([20.0, 80.0], (180, 1))
        rates[:50] = np.random.default_rng(1).uniform(0, 50, (50, 2))
        alone = np.full((180, 1), 90.0)
        alone[:50] = 1.0
        result = measure(make_run(experiment.solo, alone), make_run(experiment.competing, rates))
        assert result.converged_at_s is not None
        assert 50 <= result.converged_at_s == result.from_s <= 120
        assert result.to_s == 180
        assert result.solo_mbps == pytest.approx(90)
        assert result.competing_mbps == pytest.approx(20)

    def test_without_convergence_the_first_minute_is_skipped(self, make_run: MakeRun) -> None:
        """If the flows never settle, harm is measured from 60 s to the end."""
        experiment = _experiment(alpha_flows=1, beta_flows=1)
        seconds_left = np.arange(180)[::-1]  # swings that double every 10 s until the last
        beta = 50 + 45 * np.where(seconds_left % 2, 1, -1) * 0.5 ** (seconds_left / 10)
        rates = np.column_stack([beta, 100 - beta])
        result = measure(make_run(experiment.solo, [95]), make_run(experiment.competing, rates))
        assert result.converged_at_s is None
        assert (result.from_s, result.to_s) == (60, 180)
        assert result.competing_mbps == pytest.approx(beta[60:].mean())

    def test_short_run_counts_its_second_half(self, make_run: MakeRun) -> None:
        """A run of 30 s is shorter than the skipped minute: its last 15 s are measured."""
        experiment = _experiment(duration_s=30, alpha_flows=1, beta_flows=1)
        rates = np.repeat([[10.0, 10.0], [20.0, 60.0]], 15, axis=0)
        result = measure(make_run(experiment.solo, [80]), make_run(experiment.competing, rates))
        assert (result.from_s, result.to_s) == (15, 30)
        assert result.competing_mbps == pytest.approx(20)

    def test_trend(self, make_run: MakeRun) -> None:
        """A share that drifts over the measured part is reported beside the harm."""
        experiment = _experiment(alpha_flows=1, beta_flows=1)
        solo = make_run(experiment.solo, [100])
        drift = np.linspace(20, 60, 180)
        drifting = make_run(experiment.competing, np.column_stack([drift, 100 - drift]))
        assert measure(solo, drifting).has_trend
        assert not measure(solo, make_run(experiment.competing, [40, 60])).has_trend

    def test_starvation_is_harm(self, make_run: MakeRun) -> None:
        """A beta that gets nothing while alpha gets everything is harmed by 1."""
        experiment = _experiment()
        solo = make_run(experiment.solo, [30, 30, 30])
        result = measure(solo, make_run(experiment.competing, [0, 0, 0, 50, 50]))
        assert result.absolute == 1

    def test_empty_solo_run(self, make_run: MakeRun) -> None:
        """A solo run without data is a failed measurement."""
        experiment = _experiment()
        competing = make_run(experiment.competing, [10, 10, 10, 30, 40])
        with pytest.raises(InputError, match="throughput of the beta flows: solo is 0"):
            measure(make_run(experiment.solo, [0, 0, 0]), competing)

    def test_empty_competing_run(self, make_run: MakeRun) -> None:
        """A competing run without any throughput is a failed measurement, not a harm of 1."""
        experiment = _experiment()
        solo = make_run(experiment.solo, [30, 30, 30])
        with pytest.raises(InputError, match="flows in competition: x is"):
            measure(solo, make_run(experiment.competing, [0] * 5))

    def test_flow_without_samples(self, make_run: MakeRun) -> None:
        """A flow that was never sampled is a failed measurement, not a starved flow."""
        experiment = _experiment()
        competing = make_run(experiment.competing, [10, 10, 10, 30, 40])
        competing = replace(competing, flows=competing.flows[competing.flows["flow"] != 1])
        with pytest.raises(InputError, match=r"competing run: samples of flow 1"):
            measure(make_run(experiment.solo, [30, 30, 30]), competing)

    def test_runs_of_different_networks(self, make_run: MakeRun) -> None:
        """Runs of different networks are not compared; the error names the difference."""
        solo = make_run(_experiment(rtt_ms=50, queue_bdp=None, queue_packets=9).solo, [30] * 3)
        competing = make_run(_experiment(queue_bdp=None, queue_packets=9).competing, [20] * 5)
        with pytest.raises(InputError, match=r"network and beta flows is 'rtt_ms'"):
            measure(solo, competing)

    def test_exchanged_runs(self, make_run: MakeRun) -> None:
        """Runs in the wrong order are detected."""
        experiment = _experiment()
        solo, competing = make_run(experiment.solo, 30), make_run(experiment.competing, 20)
        with pytest.raises(InputError, match=r"flow groups of the competing run is 1"):
            measure(competing, solo)

    def test_recording_may_differ(self, make_run: MakeRun) -> None:
        """A queue log in one run, or another seed, does not prevent a comparison."""
        experiment = _experiment()
        solo = make_run(replace(experiment.solo, queue_log=True, seed=5), [30, 30, 30])
        competing = make_run(experiment.competing, [10, 10, 10, 30, 40])
        assert measure(solo, competing).solo_mbps == pytest.approx(90)
