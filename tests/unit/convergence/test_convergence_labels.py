# SPDX-License-Identifier: Apache-2.0
"""The labelling rule on series of known convergence, and the evaluation against labels."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from ccbench.base.errors import InputError
from ccbench.convergence.evaluation import METHODS, evaluate, summarise
from ccbench.convergence.labels import (
    COUNTS,
    NETWORKS,
    PAIRS,
    STARTS_S,
    LabelledRun,
    label,
    labelled_run,
    labelled_scenarios,
)
from ccbench.convergence.rivals import skipping
from tests.unit.conftest import run_with_rates

FloatArray = npt.NDArray[np.floating[Any]]

SECONDS = np.arange(1.0, 601.0)


def _throughput(*flows: FloatArray) -> pd.DataFrame:
    table = pd.DataFrame(np.column_stack(flows))
    return table.set_axis(pd.Index(np.arange(1.0, len(table) + 1), name="time_s"))


def _excess(time_s: float, start: float, decay_s: float) -> float:
    """Return the mean of ``start exp(-t / decay_s)`` over the 30 s from `time_s` on."""
    return start * decay_s / 30 * math.exp(-time_s / decay_s) * (1 - math.exp(-30 / decay_s))


class TestLabel:
    @pytest.mark.parametrize("decay_s", [5.0, 15.0, 25.0])
    def test_decay(self, decay_s: float) -> None:
        """A transient ends when the mean of a block is within 1 % of the link."""
        flow = 50 + 40 * np.exp(-SECONDS / decay_s)
        label_s = float(label(_throughput(flow))[0])
        assert _excess(label_s - 2, 40, decay_s) > 0.5 > _excess(label_s + 2, 40, decay_s)

    @pytest.mark.parametrize("decay_s", [5.0, 15.0, 25.0])
    def test_decay_to_swings(self, decay_s: float) -> None:
        """With swings, a transient ends when it is within the variation of the swings."""
        # Block means swing by +-1.29 Mbit/s, so 4 standard deviations are 4 x 1.29 / sqrt(2).
        swing = 10 * abs(math.sin(math.pi * 30 / 12)) / (30 * math.sin(math.pi / 12))
        allowed = 4 * swing / math.sqrt(2)
        flow = 50 + 10 * np.sin(2 * np.pi * SECONDS / 12) + 40 * np.exp(-SECONDS / decay_s)
        label_s = float(label(_throughput(flow))[0])
        assert _excess(label_s - 2, 40, decay_s) > allowed - swing
        assert _excess(label_s + 2, 40, decay_s) < allowed + swing

    @pytest.mark.parametrize("amplitude", [1.0, 45.0])
    @pytest.mark.parametrize("period_s", [7, 10, 30, 40])
    def test_steady_swings(self, period_s: int, amplitude: float) -> None:
        """Steady swings of any width have converged at once."""
        swings = amplitude * np.sin(2 * np.pi * SECONDS / period_s)
        assert label(_throughput(50 + swings, 50 - swings)).tolist() == [0, 0]

    def test_steady_noise(self) -> None:
        """Few steady series are mislabelled: 2 % as not converged, 5 % as converged late."""
        noise = 20 + 5 * np.random.default_rng(8).normal(size=(100, 600))
        labels_s = label(_throughput(*noise))
        assert labels_s.isna().sum() <= 5
        assert (labels_s == 0).sum() >= 90

    @pytest.mark.parametrize(("start_s", "expected"), [(30, 30), (90, 90), (120, 120), (130, None)])
    def test_late_flow(self, start_s: int, expected: float | None) -> None:
        """No flow converges before the last flow enters, and none if that is after 120 s."""
        late = np.where(SECONDS > start_s, 10.0, 0.0)
        labels_s = label(_throughput(20 - late, late))
        assert [None if math.isnan(time_s) else time_s for time_s in labels_s] == [expected] * 2

    def test_small_late_flow(self) -> None:
        """A flow present from the start waits for the last one, too."""
        late = np.where(SECONDS > 80, 0.01, 0.0)
        assert label(_throughput(np.full(600, 10.0), late)).tolist() == [80, 80]

    def test_drift(self) -> None:
        """A series that still drifts at the end, however slowly, has not converged."""
        assert label(_throughput(50 + 0.05 * SECONDS)).isna().all()

    def test_settles_after_120_s(self) -> None:
        """A change after 120 s means no convergence in time, even if the flow settles."""
        assert label(_throughput(np.where(SECONDS <= 140, 30.0, 50.0))).isna().all()

    def test_units(self) -> None:
        """Units and lengths of the intervals do not change the labels."""
        flow = 50 + 40 * np.exp(-SECONDS / 15)
        label_s = label(_throughput(flow))[0]
        assert label(_throughput(1000 * flow))[0] == label_s
        halves = pd.DataFrame({0: np.repeat(flow, 2)}, index=np.arange(1, 1201) / 2)
        assert label(halves)[0] == pytest.approx(label_s, abs=0.5)

    def test_too_short(self) -> None:
        """A run too short for a steady state is an error."""
        with pytest.raises(InputError, match=r"^throughput is '400 s long'"):
            label(_throughput(np.ones(400)))


class TestLabelledScenarios:
    def test_enough_and_all_different(self) -> None:
        """There are at least 60 scenarios, with every pair in every network."""
        scenarios = labelled_scenarios()
        assert len(set(scenarios)) == len(PAIRS) * len(NETWORKS) >= 60
        assert {scenario.duration_s for scenario in scenarios} == {600}
        assert not any(scenario.queue_log for scenario in scenarios)

    def test_combinations(self) -> None:
        """Each network has every start and every number of flows."""
        met = {
            (scenario.path.bottlenecks[0], scenario.path.rtt_ms, scenario.flows[1].start_s)
            for scenario in labelled_scenarios()
        }
        assert len(met) == len(list(product(NETWORKS, set(STARTS_S))))
        counts = {
            (scenario.path.bottlenecks[0], scenario.path.rtt_ms, scenario.flow_count)
            for scenario in labelled_scenarios()
        }
        assert len(counts) == len(NETWORKS) * len(COUNTS)


class TestLabelledRun:
    def test_input_of_methods(self) -> None:
        """Methods see 180 s; the labels come from all 600."""
        late = np.where(SECONDS > 60, 5.0, 0.0)
        scenario = labelled_scenarios()[0]
        run = labelled_run(run_with_rates(scenario, np.column_stack([10 - late, late])))
        assert run.throughput.index[-1] == 180
        assert run.labels_s.tolist() == [60, 60]
        assert run.steady_mbps.tolist() == pytest.approx([5, 5])


def _labelled(throughput: pd.DataFrame) -> LabelledRun:
    return LabelledRun(
        scenario=labelled_scenarios()[0],
        throughput=throughput.iloc[:180],
        labels_s=label(throughput),
        steady_mbps=throughput.iloc[300:].mean(),
    )


class TestEvaluate:
    def test_differences(self) -> None:
        """A method that begins 30 s before the label has a quarter of another rate in its mean."""
        late = np.where(SECONDS > 90, 5.0, 0.0)
        run = _labelled(_throughput(20 - late, late))
        table = evaluate(run, {"skip 1 min": skipping})
        assert table["from_s"].tolist() == [60, 60]
        assert table["label_mbps"].tolist() == [15, 5]
        assert table["mean_mbps"].tolist() == [16.25, 3.75]
        expected = pytest.approx([100 * 1.25 / 15, 25])
        assert table["label_difference_percent"].tolist() == expected
        assert table["steady_difference_percent"].tolist() == expected

    def test_not_converged(self) -> None:
        """Without a time in the label there is no difference; the first minute is skipped."""
        run = _labelled(_throughput(np.where(SECONDS <= 140, 30.0, 50.0)))
        table = evaluate(run, {"never": lambda shown: skipping(shown) * math.nan})
        assert table["from_s"].tolist() == [60]
        assert table["label_difference_percent"].isna().all()
        # Of the 120 s after that minute, 80 have 30 Mbit/s and 40 have the steady 50.
        mean_mbps = (80 * 30 + 40 * 50) / 120
        expected = pytest.approx([100 * (50 - mean_mbps) / 50])
        assert table["steady_difference_percent"].tolist() == expected

    def test_methods(self) -> None:
        """Every method evaluates every flow."""
        table = evaluate(_labelled(_throughput(np.full(600, 3.0), np.full(600, 5.0))))
        assert table["method"].unique().tolist() == list(METHODS)
        assert len(table) == 2 * len(METHODS)


class TestSummarise:
    def test_agreement(self) -> None:
        """Agreement counts converged flows as well as refused ones."""
        late = _labelled(_throughput(np.where(SECONDS <= 140, 30.0, 50.0)))
        steady = _labelled(_throughput(np.full(600, 3.0)))
        never = {"never": lambda shown: skipping(shown) * math.nan, "always": skipping}
        summary = summarise(pd.concat([evaluate(run, never) for run in (late, steady, steady)]))
        assert summary.index.tolist() == ["never", "always"]
        assert summary["agreement"].tolist() == pytest.approx([100 / 3, 200 / 3])
        assert summary["found"].tolist() == [0, 100]
        assert summary["refused"].tolist() == [100, 0]
        assert summary["within_10"].tolist() == [100, 100]
