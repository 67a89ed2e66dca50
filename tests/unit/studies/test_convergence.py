# SPDX-License-Identifier: Apache-2.0
"""The studies about convergence on runs whose outcome is known. No virtual kernel takes part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from ccbench.studies import Findings, Study, get
from tests.unit.conftest import run_with_rates

if TYPE_CHECKING:
    from ccbench import Run, Scenario


def _study(name: str) -> Study:
    study = get(name)
    assert isinstance(study, Study)
    return study


def _conclude(study: Study, runs: list[Run]) -> Findings:
    return study.conclude(pd.DataFrame([row for run in runs for row in study.measure(run)]))


def _ours(findings: Findings) -> list[float]:
    return [comparison.ours for comparison in findings.comparisons]


class TestWare55:
    def test_swings_of_known_size(self) -> None:
        """Flows that swing by 40 and 60 % of their means are that far from them, and converge."""
        study = _study("ware-5.5")
        swing = (-1) ** np.arange(90)
        runs = [
            run_with_rates(scenario, rates)
            for scenario, rates in zip(
                study.scenarios(quick=True),
                (
                    np.column_stack([40 * (1 + 0.6 * swing), 60 * (1 - 0.4 * swing)]),
                    np.full(8, 6.0),
                ),
                strict=True,
            )
        ]
        findings = _conclude(study, runs)
        bbr, cubic, fixed, fair, converged, unsettled = _ours(findings)
        assert [bbr, cubic] == pytest.approx([40, 60], abs=2)
        assert (fixed, fair, converged, unsettled) == (0, 0, 100, 0)


class TestWare510:
    @staticmethod
    def _run(scenario: Scenario) -> Run:
        """Give CUBIC everything alone, a fifth of it for 200 s against BBR, and then a half."""
        rng = np.random.default_rng(scenario.flow_count)
        seconds = np.arange(300)
        if scenario.flow_count == 1:
            return run_with_rates(scenario, np.full(1, 100.0))
        cubic = np.where(seconds < 200, 20 + 15 * (-1) ** seconds, 50 + rng.normal(0, 0.1, 300))
        return run_with_rates(scenario, np.column_stack([cubic, 100 - cubic]))

    def test_late_convergence(self) -> None:
        """What comes before convergence is in the harm of the whole run, and not in the other."""
        study = _study("ware-5.10")
        pair = [s for s in study.scenarios(quick=False) if s.flow_count <= 2][:2]
        findings = _conclude(study, [self._run(scenario) for scenario in pair])
        (row,) = findings.table.to_dict("records")
        assert 200 <= row["converged_s"] <= 240
        expected = 1 - (2 / 3 * 20 + 1 / 3 * 50) / 100 - 0.5
        assert row["harm_whole"] == pytest.approx(expected, abs=0.001)
        assert row["harm_converged"] == pytest.approx(0, abs=0.01)
        assert row["difference_percent"] == pytest.approx(20, abs=1)
        assert findings.comparisons[0].ours == row["difference_percent"]

    def test_solo_runs_are_shared(self) -> None:
        """Experiments that differ in BBR's flows only have one solo run."""
        scenarios = _study("ware-5.10").scenarios(quick=False)
        solos = [scenario for scenario in scenarios if len(scenario.flows) == 1]
        assert (len(solos), len(scenarios)) == (5 * 5, 5 * 5 + 5 * 5 * 5)

    def test_nothing_converges(self) -> None:
        """Without an experiment that converges there are no differences, and none agrees."""
        study = _study("ware-5.10")
        pair = [s for s in study.scenarios(quick=False) if s.flow_count <= 2][:2]
        growing = 90 * np.exp((np.arange(300) - 299) / 25)
        runs = [
            run_with_rates(pair[0], np.full(1, 100.0)),
            run_with_rates(pair[1], np.column_stack([growing, 100 - growing])),
        ]
        findings = _conclude(study, runs)
        assert findings.table.empty
        assert all(math.isnan(ours) for ours in _ours(findings))


class TestWare58And59:
    @pytest.mark.parametrize("name", ["ware-5.8", "ware-5.9"])
    def test_steady_flows(self, name: str) -> None:
        """Where nothing ever changes, all agree on the throughput to a percent."""
        study = _study(name)
        rng = np.random.default_rng(4)
        runs = [
            run_with_rates(scenario, rng.normal(10, 0.5, size=(600, scenario.flow_count)))
            for scenario in study.scenarios(quick=True)
        ]
        findings = _conclude(study, runs)
        assert findings.table["label_difference_percent"].max() < 2
        assert len(findings.figure.axes) >= 1
